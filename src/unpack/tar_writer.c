/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_writer: writes members with ustar and pax headers. One owner.
 *
 * The same members give the same bytes.
 */
#include "tar_writer.h"

#include "error.h"
#include "file.h"
#include "memory.h"
#include "tar_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGE        "unpack"
#define BUFFER_BYTES ((size_t)1 << 20)

/* Offsets in a header. */
enum {
    NAME_BYTES = 100,
    MODE = 100,
    OWNER = 108,
    GROUP = 116,
    SIZE = 124,
    TIME = 136,
    CHECKSUM = 148,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_BYTES = 155,
    END_BLOCKS = 2
};

static const char magic[] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};

/*
 * Finds the slash that splits a name into prefix and rest; `*slash` NULL: it fits without. False:
 * none.
 */
static bool find_cut(const char *name, const char **slash)
{
    const size_t bytes = strlen(name);
    *slash = NULL;
    if (bytes <= NAME_BYTES) {
        return true;
    }
    for (const char *at = strchr(name, '/'); at != NULL; at = strchr(at + 1, '/')) {
        if (at - name <= PREFIX_BYTES && bytes - (size_t)(at - name) - 1 <= NAME_BYTES) {
            *slash = at;
            return true;
        }
    }
    return false;
}

/* Returns the size of the record "LENGTH path=NAME\n", including LENGTH itself. */
static size_t record_bytes(const char *name)
{
    const size_t rest = strlen(name) + strlen(" path=\n");
    size_t digits = 1;
    for (size_t limit = 10; rest + digits >= limit; limit *= 10) {
        digits++;
    }
    return rest + digits;
}

uint64_t sl_tar_member_bytes(const char *name, uint64_t bytes)
{
    const char *slash;
    const uint64_t extra =
        find_cut(name, &slash) ? 0 : SL_TAR_BLOCK + sl_tar_padded(record_bytes(name));
    return extra + SL_TAR_BLOCK + sl_tar_padded(bytes);
}

uint64_t sl_tar_archive_bytes(uint64_t members)
{
    return members + (uint64_t)END_BLOCKS * SL_TAR_BLOCK;
}

sluice_status sl_tar_writer_open(sl_tar_writer *writer, sluice_error *error)
{
    *writer = (sl_tar_writer){.fd = -1, .buffer = sl_malloc(BUFFER_BYTES)};
    return writer->buffer != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "writing archives");
}

void sl_tar_writer_close(sl_tar_writer *writer)
{
    sl_file_close(writer->fd);
    sl_free(writer->buffer);
    *writer = (sl_tar_writer){.fd = -1};
}

sluice_status sl_tar_writer_begin(sl_tar_writer *writer, int folder, const char *path,
                                  uint32_t number, sluice_error *error)
{
    char name[32];
    (void)snprintf(name, sizeof(name), SL_TAR_NAME_FORMAT, number);
    (void)snprintf(writer->path, sizeof(writer->path), "%s/%s", path, name);
    writer->bytes = 0;
    writer->samples = 0;
    writer->buffered = 0;
    writer->fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return writer->fd >= 0 ? SLUICE_OK
                           : sl_error_file(error, SLUICE_IO, STAGE, errno, writer->path, -1,
                                           "cannot create the file");
}

static sluice_status tar_writer_flush(sl_tar_writer *writer, sluice_error *error)
{
    const sluice_status status =
        sl_file_write(writer->fd, (sl_file_name){STAGE, writer->path}, writer->buffer,
                      writer->buffered, writer->bytes - writer->buffered, error);
    writer->buffered = 0;
    return status;
}

static sluice_status tar_writer_append(sl_tar_writer *writer, sl_bytes bytes, sluice_error *error)
{
    if (bytes.size > BUFFER_BYTES - writer->buffered) {
        const sluice_status status = tar_writer_flush(writer, error);
        if (status < 0) {
            return status;
        }
    }
    const uint64_t offset = writer->bytes;
    writer->bytes += bytes.size;
    if (bytes.size > BUFFER_BYTES) {
        return sl_file_write(writer->fd, (sl_file_name){STAGE, writer->path}, bytes.data,
                             bytes.size, offset, error);
    }
    if (bytes.size > 0) {
        memcpy(writer->buffer + writer->buffered, bytes.data, bytes.size);
        writer->buffered += bytes.size;
    }
    return SLUICE_OK;
}

static sluice_status append_zeros(sl_tar_writer *writer, uint64_t bytes, sluice_error *error)
{
    static const uint8_t zeros[END_BLOCKS * SL_TAR_BLOCK];
    return tar_writer_append(writer, (sl_bytes){zeros, (size_t)bytes}, error);
}

static sluice_status append_header(sl_tar_writer *writer, const char *name, char type,
                                   uint64_t bytes, sluice_error *error)
{
    uint8_t block[SL_TAR_BLOCK] = {0};
    char *header = (char *)block;
    const char *slash = NULL;
    uint32_t sum = 0;
    if (find_cut(name, &slash) && slash != NULL) {
        memcpy(header + PREFIX, name, (size_t)(slash - name));
        name = slash + 1;
    }
    memcpy(header, name, strnlen(name, NAME_BYTES));
    (void)snprintf(header + MODE, 8, "%07o", 0644U);
    (void)snprintf(header + OWNER, 8, "%07o", 0U);
    (void)snprintf(header + GROUP, 8, "%07o", 0U);
    (void)snprintf(header + SIZE, 12, "%011llo", (unsigned long long)bytes & 077777777777ULL);
    (void)snprintf(header + TIME, 12, "%011o", 0U);
    memset(header + CHECKSUM, ' ', 8);
    header[TYPE] = type;
    memcpy(header + MAGIC, magic, sizeof(magic));
    for (size_t i = 0; i < sizeof(block); i++) {
        sum += block[i];
    }
    (void)snprintf(header + CHECKSUM, 8, "%06o", sum & 0777777U);
    return tar_writer_append(writer, (sl_bytes){block, sizeof(block)}, error);
}

/* Appends the header of a name that does not fit into a ustar header. */
static sluice_status append_pax(sl_tar_writer *writer, const char *name, sluice_error *error)
{
    char record[SL_TAR_NAME_MAX + 32];
    const size_t bytes = record_bytes(name);
    (void)snprintf(record, sizeof(record), "%zu path=%s\n", bytes, name);
    sluice_status status = append_header(writer, "././@PaxHeader", 'x', bytes, error);
    if (status == SLUICE_OK) {
        status = tar_writer_append(writer, (sl_bytes){(const uint8_t *)record, bytes}, error);
    }
    return status == SLUICE_OK ? append_zeros(writer, sl_tar_padded(bytes) - bytes, error) : status;
}

sluice_status sl_tar_writer_add(sl_tar_writer *writer, const char *name, sl_bytes head,
                                sl_bytes bytes, sluice_error *error)
{
    const char *slash;
    const uint64_t size = (uint64_t)head.size + bytes.size;
    sluice_status status = find_cut(name, &slash) ? SLUICE_OK : append_pax(writer, name, error);
    if (status == SLUICE_OK) {
        status = append_header(writer, name, '0', size, error);
    }
    if (status == SLUICE_OK) {
        status = tar_writer_append(writer, head, error);
    }
    if (status == SLUICE_OK) {
        status = tar_writer_append(writer, bytes, error);
    }
    return status == SLUICE_OK ? append_zeros(writer, sl_tar_padded(size) - size, error) : status;
}

sluice_status sl_tar_writer_finish(sl_tar_writer *writer, sluice_error *error)
{
    sluice_status status = append_zeros(writer, (uint64_t)END_BLOCKS * SL_TAR_BLOCK, error);
    if (status == SLUICE_OK) {
        status = tar_writer_flush(writer, error);
    }
    if (status == SLUICE_OK && fsync(writer->fd) != 0) {
        status =
            sl_error_file(error, SLUICE_IO, STAGE, errno, writer->path, -1, "cannot sync the file");
    }
    sl_file_close(writer->fd);
    writer->fd = -1;
    return status;
}
