/* SPDX-License-Identifier: Apache-2.0 */
#include "read_files.h"

#include "little_endian.h"
#include "read_pieces.h"

#include <errno.h>

/* More than any buffer has, and few enough to be added without overflow. */
#define BYTES_MOST (UINT64_C(1) << 56)

static int64_t read_files_read_open(const sl_handle *file, const sl_files_read *read, uint64_t at,
                                    uint64_t bytes)
{
    const int64_t got = sl_read_all_of(file, read->buffer + at, bytes);
    if (read->drop_cache && got > 0) {
        sl_handle_advise(file, SL_ADVICE_NEVER, 0, 0);
    }
    return got;
}

/* Reads one file, to `at` if there is space for it. Returns its size, or -errno. */
static int64_t read_one(const sl_files_read *read, uint32_t number, uint64_t at, uint64_t capacity)
{
    char path[SL_PATH_BYTES];
    sl_handle file;
    sl_store_facts found;
    if (sl_objects_file_path(read->objects, read->object, number, path, sizeof(path)) !=
        SLUICE_OK) {
        return -ENAMETOOLONG;
    }
    const sl_open_how how = {.boundary = sl_objects_boundary(read->objects, read->object)};
    const int failed = sl_handle_open_how(&file, path, &how, &found);
    if (failed < 0) {
        return failed;
    }
    const uint64_t bytes = found.identity.bytes < BYTES_MOST ? found.identity.bytes : BYTES_MOST;
    const bool fits = read->buffer != NULL && at <= capacity && bytes <= capacity - at;
    const int64_t got = fits ? read_files_read_open(&file, read, at, bytes) : (int64_t)bytes;
    sl_handle_close(&file);
    return got < 0 ? got : (int64_t)bytes;
}

int64_t sl_read_files(const sl_files_read *read, sl_files_end *end)
{
    const uint64_t tail = (uint64_t)read->files * SL_OBJECT_SIZE_BYTES;
    const uint64_t capacity = read->length > tail ? read->length - tail : 0;
    uint64_t sizes[SL_OBJECT_FILES_MAX];
    uint64_t at = 0;
    for (uint32_t i = 0; i < read->files; i++) {
        const int64_t bytes = read_one(read, i, at, capacity);
        end->file = i;
        if (bytes < 0) {
            return bytes;
        }
        sizes[i] = (uint64_t)bytes;
        at += sizes[i];
    }
    end->bytes = at + tail;
    if (end->bytes > read->length) {
        return -EFBIG;
    }
    for (uint32_t i = 0; i < read->files; i++) {
        sl_store64(read->buffer + at + (size_t)i * SL_OBJECT_SIZE_BYTES, sizes[i]);
    }
    return (int64_t)end->bytes;
}
