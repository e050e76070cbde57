/* SPDX-License-Identifier: Apache-2.0 */
#include "subset.h"

#include "error.h"
#include "memory.h"

#include <stdio.h>

#define STAGE "dataset"

typedef struct subset {
    sl_dataset base; /* as a dataset */
    sl_dataset *of;
    sl_index_map map;
} subset;

static const subset *subset_of(const sl_dataset *dataset)
{
    return (const subset *)(const void *)dataset;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const subset *own = subset_of(dataset);
    const uint64_t number = sl_index_map_at(&own->map, index);
    return sl_dataset_locate(own->of, number, sample, lookup, why); /* which sets the index */
}

static sl_refusal learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes)
{
    const sl_dataset *of = subset_of(dataset)->of;
    return of->ops->learn(of, lookup, bytes);
}

static sluice_status locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why)
{
    const subset *own = subset_of(dataset);
    const uint64_t number = sl_index_map_at(&own->map, index);
    return own->of->ops->locate_field(own->of, number, field, place, lookup, why);
}

static bool field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t *bytes)
{
    const subset *own = subset_of(dataset);
    return sl_dataset_field_bytes(own->of, sl_index_map_at(&own->map, index), field, bytes);
}

static bool form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                 sl_tensor_form *form)
{
    const subset *own = subset_of(dataset);
    return sl_dataset_form(own->of, sl_index_map_at(&own->map, index), field, bytes, form);
}

static sl_refusal check_head(const sl_dataset *dataset, uint64_t index, uint32_t field,
                             sl_bytes head)
{
    const subset *own = subset_of(dataset);
    return own->of->ops->check_head(own->of, sl_index_map_at(&own->map, index), field, head);
}

static bool stretch(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const subset *own = subset_of(dataset);
    const uint64_t run = sl_index_map_run(&own->map, index);
    const bool same = own->of->ops->stretch(own->of, sl_index_map_at(&own->map, index), count);
    *count = *count < run ? *count : run;
    return same || *count == 1;
}

static sl_sample base_sample(const subset *own, const sl_sample *sample)
{
    sl_sample of = *sample;
    of.index = sl_index_map_at(&own->map, sample->index);
    return of;
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    const subset *own = subset_of(dataset);
    const sl_sample of = base_sample(own, sample);
    return own->of->ops->piece(own->of, &of, number);
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const subset *own = subset_of(dataset);
    const sl_sample of = base_sample(own, sample);
    return sl_dataset_unpack_part(own->of, &of, bytes, values);
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    return sl_dataset_class_name(subset_of(dataset)->of, label);
}

static sluice_status key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes)
{
    const subset *own = subset_of(dataset);
    return sl_dataset_key(own->of, sl_index_map_at(&own->map, index), key, bytes, NULL);
}

static bool has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const sl_dataset *of = subset_of(dataset)->of;
    return of->ops->has_folder != NULL && of->ops->has_folder(of, device, inode);
}

static void close_subset(sl_dataset *dataset)
{
    subset *own = (subset *)(void *)dataset;
    sl_dataset_close(own->of);
    sl_index_map_close(&own->map);
    sl_free(own);
}

static const sl_dataset_ops subset_ops = {
    .locate = locate,
    .piece = piece,
    .learn = learn,
    .unpack = unpack,
    .class_name = class_name,
    .key = key,
    .has_folder = has_folder,
    .close = close_subset,
};

/* Where the base can tell where fields lie. */
static const sl_dataset_ops subset_field_ops = {
    .locate = locate,
    .piece = piece,
    .learn = learn,
    .locate_field = locate_field,
    .field_bytes = field_bytes,
    .form = form,
    .check_head = check_head,
    .stretch = stretch,
    .unpack = unpack,
    .class_name = class_name,
    .key = key,
    .has_folder = has_folder,
    .close = close_subset,
};

/* ---- opening ---- */

/* The numbers of `inner`'s base that `map` means. */
static bool compose(sl_index_map *made, const sl_index_map *map, const sl_index_map *inner)
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

static void describe(subset *own)
{
    const sl_dataset *of = own->of;
    own->base.unchecked = of->unchecked;
    if (of->sums_are_of_files) {
        sl_unchecked_add(&own->base.unchecked,
                         "checksums of whole files, of which only some samples are looked at");
    }
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, "subset", sizeof("subset"));
    sl_checksum_add_u64(&stream, of->info.fingerprint);
    sl_checksum_add_u64(&stream, sl_index_map_sum(&own->map));
    own->base.info.fingerprint = sl_checksum_value(&stream);
    own->base.info.samples = own->map.count;
    /* An estimate: their share, if they are as large as the others. */
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
    subset *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        sl_index_map_close(map);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a subset");
    }
    const bool tells = base->ops->locate_field != NULL && base->ops->stretch != NULL;
    own->base = (sl_dataset){.ops = tells ? &subset_field_ops : &subset_ops,
                             .references = 1,
                             .info = base->info,
                             .fields = base->fields,
                             .objects = base->objects,
                             .whole_objects = base->whole_objects,
                             .shares_pages = base->shares_pages,
                             .pieces = base->pieces,
                             .depth = base->depth + 1};
    own->of = sl_dataset_ref(base);
    own->map = *map;
    sl_index_map_finish(&own->map);
    if (own->base.depth > SL_DATASET_DEPTH_MAX) {
        const uint32_t depth = own->base.depth;
        sl_dataset_close(&own->base);
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "%u datasets are made of one another: at most %u can be", depth,
                            SL_DATASET_DEPTH_MAX);
    }
    describe(own);
    *dataset = &own->base;
    return SLUICE_OK;
}

/* Whether no sample comes before the one that it follows. */
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
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "a mix has an order of its own, which would be lost: choose from what "
                            "it is made of");
    }
    if (base->info.front_to_back != 0 && !ascends(map)) {
        sl_index_map_close(map);
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "some of its files are compressed and can only be read from front to "
                            "back, and the samples would come in another order: pack it first "
                            "(sluice pack), and choose from that");
    }
    if (base->ops != &subset_ops && base->ops != &subset_field_ops) {
        return open_over(dataset, base, map, error);
    }
    sl_index_map made;
    const bool composed = compose(&made, map, &subset_of(base)->map);
    sl_index_map_close(map);
    if (!composed) {
        sl_index_map_close(&made);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a subset");
    }
    return open_over(dataset, subset_of(base)->of, &made, error);
}
