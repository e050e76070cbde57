/* SPDX-License-Identifier: Apache-2.0 */
#include "subset.h"

#include "error.h"
#include "memory.h"
#include "over.h"

#include <stdio.h>

#define STAGE "dataset"

typedef struct subset {
    sl_dataset base; /* the dataset itself */
    sl_dataset *of;
    sl_index_map map;
} subset;

static const subset *subset_of(const sl_dataset *dataset)
{
    return (const subset *)(const void *)dataset;
}

static sl_inner subset_sample(const sl_dataset *dataset, uint64_t index)
{
    const subset *own = subset_of(dataset);
    return (sl_inner){.of = own->of, .index = sl_index_map_at(&own->map, index)};
}

static sl_inner subset_object(const sl_dataset *dataset, uint32_t object)
{
    (void)object;
    return (sl_inner){.of = subset_of(dataset)->of};
}

static uint64_t subset_run(const sl_dataset *dataset, uint64_t index)
{
    return sl_index_map_run(&subset_of(dataset)->map, index);
}

static const sl_over subset_over = {.sample = subset_sample,
                                    .object = subset_object,
                                    .run = subset_run};

static void close_subset(sl_dataset *dataset)
{
    subset *own = (subset *)(void *)dataset;
    sl_dataset_close(own->of);
    sl_index_map_close(&own->map);
    sl_free(own);
}

static const sl_dataset_ops subset_ops = {
    .locate = sl_over_locate,
    .piece = sl_over_piece,
    .learn = sl_over_learn,
    .unpack = sl_over_unpack,
    .unpack_head = sl_over_unpack_head,
    .class_name = sl_over_class_name,
    .key = sl_over_key,
    .has_folder = sl_over_has_folder,
    .close = close_subset,
};

/* ---- opening ---- */

/* Converts the numbers in `map` to numbers of `inner`'s base. */
static bool subset_compose(sl_index_map *made, const sl_index_map *map, const sl_index_map *inner)
{
    sl_index_map_begin(made);
    for (uint64_t at = 0; at < map->count;) {
        const uint64_t first = sl_index_map_at(map, at);
        const uint64_t run = sl_index_map_run(map, at);
        for (uint64_t done = 0; done < run;) {
            const uint64_t rest = run - done;
            const uint64_t alike = sl_index_map_run(inner, first + done);
            const uint64_t count = alike < rest ? alike : rest;
            if (!sl_index_map_add(made, sl_index_map_at(inner, first + done), count)) {
                return false;
            }
            done += count;
        }
        at += run;
    }
    return true;
}

static void subset_describe(subset *own)
{
    const sl_dataset *of = own->of;
    own->base.unchecked = of->unchecked;
    own->base.head_bytes = of->head_bytes;
    if (of->sums_are_of_files) {
        sl_unchecked_add(&own->base.unchecked,
                         "checksums of whole files, since only some of their samples are read");
    }
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, "subset", sizeof("subset"));
    sl_checksum_add_u64(&stream, of->info.fingerprint);
    sl_checksum_add_u64(&stream, sl_index_map_sum(&own->map));
    own->base.info.fingerprint = sl_checksum_value(&stream);
    own->base.info.samples = own->map.count;
    /* an estimate: proportional, as if all samples had the same size */
    const double share = (double)own->map.count / (double)of->info.samples;
    const double bytes = (double)of->info.bytes * share;
    own->base.info.bytes = bytes < (double)INT64_MAX ? (uint64_t)bytes : (uint64_t)INT64_MAX;
    if (own->base.info.bytes == 0 && of->info.bytes > 0) {
        own->base.info.bytes = 1;
    }
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%llu of %llu samples of %.96s",
                   (unsigned long long)own->map.count, (unsigned long long)of->info.samples,
                   of->kind);
}

static sluice_status open_over(sl_dataset **dataset, sl_dataset *base, sl_index_map *map,
                               sluice_error *error)
{
    subset *own = sl_over_new(sizeof(*own), &subset_ops, &subset_over, base, error);
    if (own == NULL) {
        sl_index_map_close(map);
        return SLUICE_NOMEM;
    }
    own->base.tensors = base->tensors != NULL ? &sl_over_tensors : NULL;
    own->base.whole_objects = base->whole_objects;
    own->base.shares_pages = base->shares_pages;
    own->base.pieces = base->pieces;
    own->of = sl_dataset_ref(base);
    own->map = *map;
    sl_index_map_finish(&own->map);
    if (own->base.depth > SL_DATASET_DEPTH_MAX) {
        const uint32_t depth = own->base.depth;
        sl_dataset_close(&own->base);
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "%u datasets are nested: at most %u are allowed", depth,
                            SL_DATASET_DEPTH_MAX);
    }
    subset_describe(own);
    *dataset = &own->base;
    return SLUICE_OK;
}

/* Returns whether no sample precedes one listed before it. */
static bool ascends(const sl_index_map *map)
{
    uint64_t end = 0;
    for (uint64_t at = 0; at < map->count;) {
        const uint64_t first = sl_index_map_at(map, at);
        const uint64_t run = sl_index_map_run(map, at);
        if (at > 0 && first + 1 < end) {
            return false;
        }
        end = first + run;
        at += run;
    }
    return true;
}

sluice_status sl_subset_open(sl_dataset **dataset, sl_dataset *base, sl_index_map *map,
                             sluice_error *error)
{
    *dataset = NULL;
    if (base->mix != NULL) {
        sl_index_map_close(map);
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "a mix has its own order, which would be lost: choose from its datasets instead");
    }
    if (base->info.front_to_back != 0 && !ascends(map)) {
        sl_index_map_close(map);
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "some of its files are compressed and can only be read from front to back, but a "
            "subset may have another order: pack it first (sluice pack), and choose from that");
    }
    if (base->ops != &subset_ops) {
        return open_over(dataset, base, map, error);
    }
    sl_index_map made;
    const bool composed = subset_compose(&made, map, &subset_of(base)->map);
    sl_index_map_close(map);
    if (!composed) {
        sl_index_map_close(&made);
        return sl_no_memory(error, STAGE, "for a subset");
    }
    return open_over(dataset, subset_of(base)->of, &made, error);
}
