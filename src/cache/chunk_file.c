/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_file: names, tails and checksums of chunk files. */
#include "chunk_file.h"

#include "checksum.h"
#include "little_endian.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char chunk_magic[8] = "SLCHUNK";

enum {
    CHUNK_VERSION = 1,
    CHUNK_PAGE = 4096,
    VERIFY_BYTES = 256 << 10,
    AT_VERSION = 8,
    AT_ADDRESS = 12,
    AT_ETAG = 16,
    AT_CHUNK = 24,
    AT_BYTES = 32,
    AT_OBJECT = 40,
    AT_SUM = 48,
    AT_OWN_SUM = 56
};

/* ---- names ---- */

uint64_t sl_chunk_object_hash(const char *address, const char *etag, uint64_t object_bytes)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, address, strlen(address) + 1);
    sl_checksum_add(&stream, etag, strlen(etag) + 1);
    sl_checksum_add_u64(&stream, object_bytes);
    return sl_checksum_value(&stream);
}

void sl_chunk_name(sl_chunk_key key, const char *suffix, char name[SL_CHUNK_NAME_BYTES])
{
    (void)snprintf(name, SL_CHUNK_NAME_BYTES, "%016" PRIx64 "-%" PRIx64 "%s", key.object, key.chunk,
                   suffix);
}

static int chunk_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads up to `most` digits. Returns their number. */
static size_t read_digits(const char *text, size_t most, uint64_t *value)
{
    size_t count = 0;
    *value = 0;
    for (int digit; count < most && (digit = chunk_digit(text[count])) >= 0; count++) {
        *value = *value << 4 | (uint64_t)digit;
    }
    return count;
}

bool sl_chunk_read_name(const char *name, sl_chunk_key *key, bool *is_part)
{
    enum { DIGITS = 16 };
    if (read_digits(name, DIGITS, &key->object) != DIGITS || name[DIGITS] != '-') {
        return false;
    }
    const char *number = name + DIGITS + 1;
    const size_t count = read_digits(number, DIGITS, &key->chunk);
    const char *rest = number + count;
    *is_part = strcmp(rest, SL_CHUNK_PART) == 0;
    return count > 0 && (number[0] != '0' || count == 1) && (*is_part || rest[0] == '\0');
}

/* ---- sizes ---- */

uint64_t sl_chunk_bytes_of(uint64_t object_bytes, uint64_t chunk)
{
    const uint64_t chunks = object_bytes / SL_CHUNK_BYTES;
    if (chunk < chunks) {
        return SL_CHUNK_BYTES;
    }
    return chunk == chunks ? object_bytes % SL_CHUNK_BYTES : 0;
}

uint64_t sl_chunk_cost(uint64_t file_bytes)
{
    return file_bytes > UINT64_MAX - CHUNK_PAGE
               ? UINT64_MAX
               : (file_bytes + CHUNK_PAGE - 1) / CHUNK_PAGE * CHUNK_PAGE;
}

/* ---- tails ---- */

size_t sl_chunk_tail_encode(const sl_chunk_tail *tail, uint8_t *to)
{
    const size_t address = strlen(tail->address);
    const size_t etag = strlen(tail->etag);
    memcpy(to, tail->address, address);
    memcpy(to + address, tail->etag, etag);
    uint8_t *footer = to + address + etag;
    memset(footer, 0, SL_CHUNK_FOOTER);
    memcpy(footer, chunk_magic, sizeof(chunk_magic));
    sl_store32(footer + AT_VERSION, CHUNK_VERSION);
    sl_store32(footer + AT_ADDRESS, (uint32_t)address);
    sl_store32(footer + AT_ETAG, (uint32_t)etag);
    sl_store64(footer + AT_CHUNK, tail->chunk);
    sl_store64(footer + AT_BYTES, tail->bytes);
    sl_store64(footer + AT_OBJECT, tail->object_bytes);
    sl_store64(footer + AT_SUM, tail->sum);
    sl_store64(footer + AT_OWN_SUM, sl_checksum(to, address + etag + AT_OWN_SUM));
    return address + etag + SL_CHUNK_FOOTER;
}

/* Reads `bytes` at `offset`; false: the file ends before that (errno 0), or cannot be read. */
static bool chunk_read(int fd, void *to, size_t bytes, uint64_t offset)
{
    uint8_t *at = to;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd, at + done, bytes - done, (off_t)(offset + done));
        if (got == 0) {
            errno = 0;
            return false;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* A disk error in the chunk's own sectors means that the chunk is damaged. */
static sl_chunk_check not_read(void)
{
    return errno == 0 || errno == EIO ? SL_CHUNK_DAMAGED : SL_CHUNK_UNREAD;
}

static sl_chunk_check decode_tail(const uint8_t *end, size_t bytes, uint64_t file_bytes,
                                  sl_chunk_tail *tail)
{
    const uint8_t *footer = end - SL_CHUNK_FOOTER;
    const uint32_t address = sl_load32(footer + AT_ADDRESS);
    const uint32_t etag = sl_load32(footer + AT_ETAG);
    if (memcmp(footer, chunk_magic, sizeof(chunk_magic)) != 0 || address > SL_CHUNK_ADDRESS_MAX ||
        etag > SL_CHUNK_ETAG_MAX || (size_t)address + etag + SL_CHUNK_FOOTER > bytes) {
        return SL_CHUNK_DAMAGED;
    }
    const uint8_t *texts = footer - address - etag;
    if (sl_load64(footer + AT_OWN_SUM) != sl_checksum(texts, (size_t)address + etag + AT_OWN_SUM)) {
        return SL_CHUNK_DAMAGED;
    }
    if (sl_load32(footer + AT_VERSION) != CHUNK_VERSION) {
        return SL_CHUNK_FOREIGN;
    }
    memcpy(tail->address, texts, address);
    tail->address[address] = '\0';
    memcpy(tail->etag, texts + address, etag);
    tail->etag[etag] = '\0';
    tail->chunk = sl_load64(footer + AT_CHUNK);
    tail->bytes = sl_load64(footer + AT_BYTES);
    tail->object_bytes = sl_load64(footer + AT_OBJECT);
    tail->sum = sl_load64(footer + AT_SUM);
    tail->length = address + etag + SL_CHUNK_FOOTER;
    return tail->bytes == file_bytes - tail->length ? SL_CHUNK_GOOD : SL_CHUNK_DAMAGED;
}

sl_chunk_check sl_chunk_tail_read(int fd, uint64_t file_bytes, sl_chunk_tail *tail)
{
    uint8_t read[SL_CHUNK_TAIL_MAX];
    if (file_bytes < SL_CHUNK_FOOTER || file_bytes > SL_CHUNK_BYTES + SL_CHUNK_TAIL_MAX) {
        return SL_CHUNK_DAMAGED;
    }
    const size_t bytes = (size_t)sl_min_u64(file_bytes, sizeof(read));
    if (!chunk_read(fd, read, bytes, file_bytes - bytes)) {
        return not_read();
    }
    return decode_tail(read + bytes, bytes, file_bytes, tail);
}

sl_chunk_check sl_chunk_verify(int fd, const sl_chunk_tail *tail)
{
    sl_checksum_stream stream;
    const size_t most = (size_t)sl_min_u64(tail->bytes, VERIFY_BYTES);
    uint8_t *buffer = sl_malloc(most > 0 ? most : 1);
    if (buffer == NULL) {
        errno = ENOMEM;
        return SL_CHUNK_UNREAD;
    }
    sl_checksum_begin(&stream);
    sl_chunk_check check = SL_CHUNK_GOOD;
    for (uint64_t at = 0; check == SL_CHUNK_GOOD && at < tail->bytes; at += most) {
        const size_t bytes = (size_t)sl_min_u64(tail->bytes - at, most);
        if (sl_stop_requested()) {
            errno = ECANCELED;
            check = SL_CHUNK_UNREAD;
        } else if (!chunk_read(fd, buffer, bytes, at)) {
            check = not_read();
        } else {
            sl_checksum_add(&stream, buffer, bytes);
        }
    }
    sl_free(buffer);
    return check == SL_CHUNK_GOOD && sl_checksum_value(&stream) != tail->sum ? SL_CHUNK_DAMAGED
                                                                             : check;
}
