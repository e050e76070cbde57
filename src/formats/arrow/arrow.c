/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow files, above all those of Hugging Face's datasets: each row is a sample. What opening
 * (arrow_open.h) has not kept in memory is read with each sample, a column's value or those of a
 * list in one piece. Which rows there are may be said by a table of numbers (arrow_order.h).
 */
#include "arrow_open.h"
#include "memory.h"

#include <string.h>

#define STAGE "dataset"

static const sl_arrow *arrow_of(const sl_dataset *dataset)
{
    return (const sl_arrow *)(const void *)dataset;
}

/* ---- ops ---- */

static sl_extent reach_of(const sl_arrow *own, const sl_sample *sample, uint32_t large)
{
    const sl_arrow_rows *rows = &own->rows[sample->place.object];
    return sl_arrow_places_reach(&rows->large[large], sample->facts[0],
                                 own->wish.large[large].range);
}

/* What is read of a large column for a sample: a few of the file's first bytes where it has none.
 */
static sl_piece piece_of(const sl_arrow *own, const sl_sample *sample, uint32_t large)
{
    const sl_extent reach = reach_of(own, sample, large);
    return reach.bytes > 0 ? (sl_piece){reach.offset, (uint32_t)reach.bytes, 1, 0}
                           : (sl_piece){0, SL_ARROW_NOTHING_BYTES, 1, 0};
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    return piece_of(arrow_of(dataset), sample, number);
}

/* facts[0] is the row of its file; how many bytes it has, which place.bytes does not say. */
static uint64_t gather(const sl_arrow *own, uint64_t index, sl_sample *sample)
{
    uint64_t bytes = 0;
    const uint64_t row = own->order != NULL ? own->order[index] : index;
    const uint32_t file = sl_file_list_find(&own->paths.files, row);
    *sample = (sl_sample){.place = {.offset = 0, .bytes = SL_ARROW_NOTHING_BYTES, .object = file},
                          .pieces = own->base.pieces,
                          .facts = {row - own->paths.files.files[file].first}};
    for (uint32_t i = 0; i < own->wish.large_count; i++) {
        const sl_extent reach = reach_of(own, sample, i);
        sample->place.offset = i == 0 ? reach.offset : sample->place.offset;
        bytes += reach.bytes > 0 ? reach.bytes : (uint64_t)SL_ARROW_NOTHING_BYTES;
    }
    return bytes;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const uint64_t bytes = gather(arrow_of(dataset), index, sample);
    if (bytes > SL_RECORD_BYTES_MAX) {
        *lookup = sample->place;
        *why = sl_refuse_unknown("the sample has more than 2^31 - 1 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    sample->place.bytes = bytes > 0 ? (uint32_t)bytes : SL_ARROW_NOTHING_BYTES;
    return SLUICE_OK;
}

static sluice_status locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_place *place, sl_place *lookup, sl_refusal *why)
{
    sl_sample sample;
    const sl_arrow *own = arrow_of(dataset);
    const uint32_t large = own->wish.large_of[field];
    (void)gather(own, index, &sample);
    *place = *lookup = sample.place;
    if (large == SL_ARROW_NONE) {
        *why = sl_refuse_unknown(
            "windows can only be had of columns of large values, which are not kept in memory", 0);
        return SLUICE_UNSUPPORTED;
    }
    const sl_extent reach = reach_of(own, &sample, large);
    if (reach.bytes >= UINT32_MAX) {
        *why = sl_refuse_unknown("the value has more than 2^32 - 2 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    place->offset = reach.offset;
    place->bytes = (uint32_t)reach.bytes; /* of 0 there is no element, so no window */
    return SLUICE_OK;
}

static bool stretch(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

static sl_refusal refuse_field(const sl_arrow *own, uint32_t field, sl_refusal refusal)
{
    refusal.field = own->base.fields[field].name;
    return refusal;
}

/* A field of a large column, whose bytes of the sample begin at `offset` of the file. */
static sl_refusal unpack_large(const sl_arrow *own, uint32_t field, const sl_sample *sample,
                               sl_bytes bytes, sl_value *value)
{
    sl_arrow_lack lack;
    sl_extent found = {0, 0};
    const uint32_t large = own->wish.large_of[field];
    const sl_arrow_rows *rows = &own->rows[sample->place.object];
    *value = (sl_value){.present = sl_arrow_places_have(&rows->large[large], sample->facts[0],
                                                        own->wish.element[field], &found, &lack)};
    if (!value->present) {
        const char *why = sl_arrow_lack_text(lack);
        return why == NULL ? sl_accept() : refuse_field(own, field, sl_refuse_unknown(why, 0));
    }
    const uint64_t at = found.bytes > 0 ? found.offset - reach_of(own, sample, large).offset : 0;
    value->offset = (uint32_t)at;
    value->bytes = (sl_bytes){bytes.data + at, found.bytes};
    return sl_source_value(&own->base.fields[field], value);
}

static sl_refusal unpack_reads(const sl_arrow *own, const sl_sample *sample, sl_bytes bytes,
                               sl_values *values)
{
    uint32_t at = 0;
    for (uint32_t large = 0; large < own->wish.large_count; large++) {
        const uint32_t size = piece_of(own, sample, large).bytes;
        for (uint32_t i = 0; i < own->base.info.fields; i++) {
            if (own->wish.large_of[i] != large || !sl_values_want(values, i)) {
                continue;
            }
            sl_refusal refusal =
                unpack_large(own, i, sample, (sl_bytes){bytes.data + at, size}, &values->of[i]);
            values->of[i].offset += at;
            if (refusal.text != NULL) {
                refusal.offset += at;
                return refusal;
            }
        }
        at += size;
    }
    return sl_accept();
}

/* A field that is in memory. */
static sl_refusal unpack_side(const sl_arrow *own, uint32_t field, const sl_sample *sample,
                              sl_value *value)
{
    const sl_refusal refusal = sl_side_columns_get(&own->rows[sample->place.object].side,
                                                   own->wish.side[field], sample->facts[0], value);
    if (refusal.text != NULL) {
        return refuse_field(own, field, refusal);
    }
    const bool is_class = field != own->label || !value->present || value->integer == -1 ||
                          (value->integer >= 0 && value->integer < own->base.info.classes);
    return is_class ? refusal : refuse_field(own, field, sl_refuse("it is none of the classes", 0));
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const sl_arrow *own = arrow_of(dataset);
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is cut short", 0);
    }
    sl_refusal refusal = unpack_reads(own, sample, bytes, values);
    for (uint32_t i = 0; refusal.text == NULL && i < own->base.info.fields; i++) {
        if (sl_values_want(values, i) && own->wish.large_of[i] == SL_ARROW_NONE) {
            refusal = unpack_side(own, i, sample, &values->of[i]);
        }
    }
    return refusal;
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_arrow *own = arrow_of(dataset);
    return sl_features_class_name(&own->features, own->label_column, label);
}

static void close_arrow(sl_dataset *dataset)
{
    sl_arrow *own = (sl_arrow *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; own->rows != NULL && i < own->paths.files.count; i++) {
        sl_arrow_rows_close(&own->rows[i]);
    }
    sl_free(own->rows);
    sl_free(own->order);
    sl_features_close(&own->features);
    sl_arrow_paths_close(&own->paths);
    sl_free(own);
}

static const sl_dataset_ops arrow_ops = {
    .locate = locate,
    .piece = piece,
    .unpack = unpack,
    .class_name = class_name,
    .close = close_arrow,
};

static const sl_tensor_ops arrow_tensors = {.locate_field = locate_field, .stretch = stretch};

static sluice_status open_arrow(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    sl_arrow *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    own->base.ops = &arrow_ops;
    own->base.tensors = &arrow_tensors;
    own->label = SL_FIELD_NONE;
    atomic_init(&own->base.references, 1);
    const sluice_status status = sl_arrow_open(own, paths, count, options, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

SL_FORMAT(arrow) = {
    .name = "arrow",
    .files = "Arrow files",
    .takes_fields = true,
    .probe = sl_arrow_probe,
    .open = open_arrow,
};
