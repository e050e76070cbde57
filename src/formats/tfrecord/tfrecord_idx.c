/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes that DALI's tfrecord2idx wrote. */
#include "index_text.h"
#include "objects.h"
#include "store.h"
#include "tfrecord_index.h"

#include <stdio.h>
#include <string.h>

/* Records follow one another, without gaps, to the end of the file. */
bool sl_tfrecord_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes)
{
    sl_index_text left = {text, text + bytes};
    uint64_t end = 0;
    bool good = true;
    *index = (sl_file_index){.kind = SL_INDEX_TFRECORD, .file.bytes = file_bytes};
    while (good && left.at < left.end) {
        uint64_t offset;
        uint64_t size;
        good = sl_index_text_number(&left, &offset) && sl_index_text_number(&left, &size) &&
               sl_index_text_end_line(&left) && offset == end && size >= SL_TFRECORD_FRAME &&
               size <= file_bytes - offset && sl_file_index_add(index, offset, size);
        end = good ? offset + size : end;
    }
    if (good && end == file_bytes && index->samples > 0) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}

/* Whether there are heads of such records where some of them begin. */
static bool fits_file(const sl_file_index *index, const char *path)
{
    sl_handle file;
    if (sl_handle_open(&file, (sl_file_name){"dataset", path}, NULL, NULL) < 0) {
        return false;
    }
    bool good = true;
    for (uint64_t i = 0; good && i < 3; i++) {
        uint8_t head[SL_TFRECORD_HEAD];
        uint64_t length = 0;
        const uint64_t record = (index->samples - 1) * i / 2;
        const uint64_t end =
            record + 1 < index->samples ? index->offsets[record + 1] : index->file.bytes;
        good = sl_handle_read(&file, head, sizeof(head), index->offsets[record], NULL) >= 0 &&
               sl_tfrecord_head(head, &length) &&
               length == end - index->offsets[record] - SL_TFRECORD_FRAME;
    }
    sl_handle_close(&file);
    return good;
}

static bool load_from(sl_file_index *index, const char *path, const char *name)
{
    if (!sl_index_text_load(index, path, name, sl_tfrecord_idx_parse)) {
        return false;
    }
    if (fits_file(index, path)) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}

bool sl_tfrecord_idx_load(sl_file_index *index, const char *path)
{
    static const char *const folders[] = {"", "idx/", "idx_files/"};
    const char *base = sl_path_name(path);
    const char *dot = strrchr(base, '.');
    const int folder_bytes = (int)(base - path);
    const int whole = (int)strlen(base);
    const int lengths[2] = {whole, dot != NULL && dot > base ? (int)(dot - base) : whole};
    for (size_t i = 0; i < 6; i++) {
        char name[SL_PATH_BYTES];
        const int length = snprintf(name, sizeof(name), "%.*s%s%.*s.idx", folder_bytes, path,
                                    folders[i / 2], lengths[i % 2], base);
        if (length > 0 && (size_t)length < sizeof(name) && load_from(index, path, name)) {
            return true;
        }
    }
    return false;
}
