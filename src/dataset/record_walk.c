/* SPDX-License-Identifier: Apache-2.0 */
#include "record_walk.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"

#include <string.h>

#define STAGE "dataset"

sluice_status sl_record_walk_refuse(const sl_record_walk *walk, uint64_t at, const char *why,
                                    sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, walk->handle.name.path, (int64_t)at, "%s",
                         why);
}

sluice_status sl_record_walk_read(sl_record_walk *walk, uint64_t at, size_t bytes,
                                  const uint8_t **head, sluice_error *error)
{
    const uint64_t left = walk->file.bytes - at;
    const uint64_t stride = at - walk->looked;
    if (left < bytes) {
        return sl_record_walk_refuse(walk, at, "the file is truncated", error);
    }
    walk->looked = at;
    /* for large records reads only the head, for small ones also the data around it */
    const size_t wanted = stride > SL_RECORD_WINDOW_BYTES / 4
                              ? bytes
                              : (size_t)sl_min_u64(SL_RECORD_WINDOW_BYTES, left);
    walk->bytes = 0;
    const sluice_status status = sl_handle_read(&walk->handle, walk->data, wanted, at, error);
    if (status < 0) {
        return status;
    }
    walk->at = at;
    walk->bytes = wanted;
    *head = walk->data;
    return SLUICE_OK;
}

/* ---- walking ---- */

/* Begins a walk. NULL: no memory. */
static sl_record_walk *record_walk_begin(const sl_open_file *file, sluice_error *error)
{
    sl_record_walk *walk = sl_malloc(sizeof(*walk));
    if (walk == NULL) {
        (void)sl_no_memory_file(error, STAGE, file->handle.name.path,
                                "for the heads of its records");
        return NULL;
    }
    memset(walk, 0, offsetof(sl_record_walk, data));
    walk->handle = file->handle;
    walk->file = file->identity;
    sl_handle_advise(&walk->handle, SL_ADVICE_RANDOM, 0, 0); /* payloads are not read */
    return walk;
}

static sluice_status record_walk_all(sl_file_index *index, sl_record_walk *walk,
                                     sl_record_step step, sluice_error *error)
{
    for (uint64_t at = 0; at < walk->file.bytes;) {
        const uint64_t begin = at;
        const sluice_status status = step(walk, &at, error);
        if (status < 0) {
            return status;
        }
        if (!sl_file_index_add(index, begin, at - begin)) {
            return sl_no_memory_file(error, STAGE, walk->handle.name.path, "for the file's index");
        }
    }
    return SLUICE_OK;
}

sluice_status sl_record_walk_file(sl_file_index *index, sl_index_kind kind,
                                  const sl_open_file *file, sl_record_step step,
                                  sluice_error *error)
{
    *index = (sl_file_index){.kind = kind};
    sl_record_walk *walk = record_walk_begin(file, error);
    if (walk == NULL) {
        return SLUICE_NOMEM;
    }
    index->file = walk->file;
    const sluice_status status = record_walk_all(index, walk, step, error);
    sl_free(walk);
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}

bool sl_record_walk_matches(const sl_file_index *index, const sl_open_file *file, uint32_t looks,
                            sl_record_step step)
{
    sl_record_walk *walk = record_walk_begin(file, NULL);
    if (walk == NULL) {
        return false;
    }
    bool good = walk->file.bytes == index->file.bytes;
    for (uint64_t i = 0; good && i < looks; i++) {
        const uint64_t number = (index->samples - 1) * i / (looks - 1);
        uint64_t at = index->offsets[number];
        good = step(walk, &at, NULL) == SLUICE_OK &&
               at == index->offsets[number] + index->bytes[number];
    }
    sl_free(walk);
    return good;
}
