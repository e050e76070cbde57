/* SPDX-License-Identifier: Apache-2.0 */
#include "file_list.h"

#include "error.h"
#include "memory.h"
#include "open_many.h"
#include "search.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { FILES_MAX = 1 << 24 };

sluice_status sl_file_list_add(sl_file_list *list, const char *path, sluice_error *error)
{
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity < 16 ? 16 : list->capacity + list->capacity / 2;
        sl_listed_file *files =
            capacity > FILES_MAX ? NULL : sl_realloc_array(list->files, capacity, sizeof(*files));
        if (files == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                                 "out of memory for %u files", capacity);
        }
        list->files = files;
        list->capacity = capacity;
    }
    char *copy = sl_strdup(path);
    if (copy == NULL) {
        return sl_no_memory_file(error, STAGE, path, "for a path");
    }
    list->files[list->count++] = (sl_listed_file){.path = copy};
    return SLUICE_OK;
}

void sl_file_list_close(sl_file_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        sl_free(list->files[i].path);
        sl_free(list->files[i].name);
        sl_free(list->files[i].source);
    }
    sl_free(list->files);
}

/* Files, and the boundary that must contain them. */
typedef struct named {
    const sl_listed_file *files;
    const sl_boundary *boundary;
    const char *by;
} named;

static sluice_status file_list_check_file(void *ctx, uint32_t number, sluice_error *error)
{
    const named *n = ctx;
    return sl_boundary_check(n->boundary, n->by, n->files[number].path, error);
}

sluice_status sl_file_list_check(const sl_file_list *list, uint32_t first,
                                 const sl_boundary *boundary, const char *named_by,
                                 sluice_error *error)
{
    if (boundary == NULL || list->count <= first) {
        return SLUICE_OK;
    }
    named n = {list->files + first, boundary, named_by};
    return sl_open_many(list->count - first, file_list_check_file, &n, error);
}

/* Files without a sample share their first number with the next one: the last of them has the
 * sample. */
uint32_t sl_file_list_find(const sl_file_list *list, uint64_t sample)
{
    return (uint32_t)sl_last_at_or_before(&list->files->first, sizeof(*list->files), list->count,
                                          sample);
}

static sluice_status file_list_path_of(void *ctx, uint32_t number, char *path, size_t bytes)
{
    const sl_file_list *list = ctx;
    const int length = snprintf(path, bytes, "%s", list->files[number].path);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static uint64_t file_list_bytes_of(void *ctx, uint32_t number)
{
    const sl_file_list *list = ctx;
    return list->files[number].file.bytes;
}

static const sl_file_identity *file_list_identity_of(void *ctx, uint32_t number)
{
    const sl_file_list *list = ctx;
    const sl_file_identity *file = &list->files[number].file;
    return file->changed_ns != 0 ? file : NULL;
}

static sl_packed file_list_packed_of(void *ctx, uint32_t number)
{
    const sl_file_list *list = ctx;
    const sl_listed_file *file = &list->files[number];
    return (sl_packed){.packing = file->packing,
                       .file = file->file,
                       .bytes = file->unpacked,
                       .is_summed = file->unpacked != 0};
}

sluice_status sl_file_list_objects(sl_file_list *list, sl_objects **objects, sluice_error *error)
{
    bool any = false;
    for (uint32_t i = 0; i < list->count; i++) {
        any = any || list->files[i].packing != SL_PACKING_NONE;
    }
    const sl_object_names names = {.ctx = list,
                                   .count = list->count,
                                   .path = file_list_path_of,
                                   .bytes = file_list_bytes_of,
                                   .identity = file_list_identity_of,
                                   .packed = any ? file_list_packed_of : NULL};
    return sl_objects_open(objects, &names, error);
}

void sl_file_list_sum(const sl_file_list *list, uint32_t file, sl_checksum_stream *stream)
{
    const sl_listed_file *of = &list->files[file];
    const char *path = of->name != NULL ? of->name : of->path;
    const char *name = sl_path_name(path);
    sl_checksum_add(stream, name, strlen(name) + 1);
    sl_checksum_add_u64(stream, of->unpacked != 0 ? of->unpacked : of->file.bytes);
}
