/* SPDX-License-Identifier: Apache-2.0 */
/* joined_objects: concatenates the objects of all parts. */
#include "error.h"
#include "joined_parts.h"
#include "memory.h"

#include <stdlib.h>

#define STAGE "dataset"

typedef sl_joined joined;
typedef sl_joined_part part;
typedef sl_joined_span span;

const span *sl_joined_span_of(const joined *own, uint32_t object)
{
    uint32_t low = 0;
    uint32_t high = own->span_count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (own->spans[middle].first <= object) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return &own->spans[low];
}

static sluice_status joined_objects_path_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_path(s->objects, object - s->first, path, bytes);
}

static uint64_t joined_objects_bytes_of(void *ctx, uint32_t object)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_bytes(s->objects, object - s->first);
}

static const sl_file_identity *joined_objects_identity_of(void *ctx, uint32_t object)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_identity(s->objects, object - s->first);
}

static const sl_boundary *joined_objects_boundary_of(void *ctx, uint32_t object)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_boundary(s->objects, object - s->first);
}

static sl_packed joined_objects_packed_of(void *ctx, uint32_t object)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_packed(s->objects, object - s->first);
}

static uint32_t joined_objects_files_of(void *ctx, uint32_t object)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_files(s->objects, object - s->first);
}

static sluice_status file_path_of(void *ctx, uint32_t object, uint32_t file, char *path,
                                  size_t bytes)
{
    const span *s = sl_joined_span_of(ctx, object);
    return sl_objects_file_path(s->objects, object - s->first, file, path, bytes);
}

static int compare_objects(const void *a, const void *b, void *ctx)
{
    const part *parts = ctx;
    const uint32_t one = *(const uint32_t *)a;
    const uint32_t other = *(const uint32_t *)b;
    const uintptr_t objects = (uintptr_t)parts[one].of->objects;
    const uintptr_t others = (uintptr_t)parts[other].of->objects;
    if (objects != others) {
        return objects < others ? -1 : 1;
    }
    return one < other ? -1 : 1;
}

/* Finds the first part with the same objects, and stores it as each part's span for now. */
static sluice_status find_first_parts(joined *own, sluice_error *error)
{
    uint32_t *order = sl_malloc(own->count * sizeof(*order));
    if (order == NULL) {
        return sl_no_memory(error, STAGE, "for joined datasets");
    }
    for (uint32_t i = 0; i < own->count; i++) {
        order[i] = i;
    }
    qsort_r(order, own->count, sizeof(*order), compare_objects, own->parts);
    for (uint32_t i = 0; i < own->count; i++) {
        part *p = &own->parts[order[i]];
        const part *before = i > 0 ? &own->parts[order[i - 1]] : NULL;
        p->span = before != NULL && before->of->objects == p->of->objects ? before->span : order[i];
    }
    sl_free(order);
    return SLUICE_OK;
}

/* Sets the span of a part's objects; creates one for their first part. */
static void set_span(joined *own, uint32_t number)
{
    part *p = &own->parts[number];
    if (p->span == number) {
        p->span = own->span_count++;
        own->spans[p->span] = (span){.objects = p->of->objects, .part = number};
        return;
    }
    p->span = own->parts[p->span].span;
    span *s = &own->spans[p->span];
    s->shared = true;
    s->part = own->parts[s->part].of->checks != NULL ? s->part : number;
}

sluice_status sl_joined_objects(joined *own, sluice_error *error)
{
    uint64_t count = 0;
    const sluice_status status = find_first_parts(own, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < own->count; i++) {
        set_span(own, i);
    }
    for (uint32_t i = 0; i < own->span_count; i++) {
        own->spans[i].first = (uint32_t)count;
        count += sl_objects_count(own->spans[i].objects);
        if (count > INT32_MAX) {
            return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                "the datasets have more than 2^31 files in total");
        }
    }
    if (own->span_count == 1) {
        own->base.objects = own->spans[0].objects; /* owned by its parts */
        return SLUICE_OK;
    }
    const bool any = own->base.info.front_to_back != 0;
    const sl_object_names names = {.ctx = own,
                                   .count = (uint32_t)count,
                                   .path = joined_objects_path_of,
                                   .bytes = joined_objects_bytes_of,
                                   .identity = joined_objects_identity_of,
                                   .packed = any ? joined_objects_packed_of : NULL,
                                   .boundary = joined_objects_boundary_of,
                                   .files = joined_objects_files_of,
                                   .file_path = file_path_of};
    own->owns_objects = true;
    return sl_objects_open(&own->base.objects, &names, error);
}
