/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar: samples of a columnar table: the byte ranges of each row, and its values. See
 * columnar.h.
 */
#include "columnar.h"

#include "memory.h"

static const sl_columnar *columnar_of(const sl_dataset *dataset)
{
    return (const sl_columnar *)(const void *)dataset;
}

/* ---- where a row is ---- */

static sl_columnar_row row_of_index(const sl_columnar *own, uint64_t index)
{
    const uint64_t number = own->order != NULL ? own->order[index] : index;
    const uint32_t file = sl_file_list_find(own->files, number);
    return (sl_columnar_row){number, number - own->files->files[file].first, file};
}

/* Returns the row; facts[0] and [1] are its two numbers. */
static sl_columnar_row row_of_sample(const sl_sample *sample)
{
    return (sl_columnar_row){sample->facts[0], sample->facts[1], sample->place.object};
}

/* Returns the number of bytes to read for a large column. */
static uint64_t columnar_read_bytes(const sl_columnar *own, sl_extent extent)
{
    return extent.bytes > 0 ? extent.bytes : own->reader->nothing_bytes;
}

static sl_piece columnar_piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    const sl_columnar *own = columnar_of(dataset);
    const sl_columnar_row row = row_of_sample(sample);
    const sl_extent extent = own->reader->extent(own, &row, number);
    return (sl_piece){extent.bytes > 0 ? extent.offset : 0,
                      (uint32_t)columnar_read_bytes(own, extent), 1, 0};
}

static sluice_status columnar_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                     sl_place *lookup, sl_refusal *why)
{
    const sl_columnar *own = columnar_of(dataset);
    const sl_columnar_row row = row_of_index(own, index);
    uint64_t bytes = 0;
    *sample = (sl_sample){.place = {.bytes = own->reader->nothing_bytes, .object = row.file},
                          .pieces = own->base.pieces,
                          .facts = {row.number, row.in_file}};
    for (uint32_t i = 0; i < own->plan.large_count; i++) {
        const sl_extent extent = own->reader->extent(own, &row, i);
        sample->place.offset = i == 0 ? extent.offset : sample->place.offset;
        bytes += columnar_read_bytes(own, extent);
    }
    if (bytes > SL_RECORD_BYTES_MAX) {
        *lookup = sample->place;
        *why = sl_refuse_unknown("the sample has more than 2^31 - 1 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    sample->place.bytes = bytes > 0 ? (uint32_t)bytes : own->reader->nothing_bytes;
    return SLUICE_OK;
}

static sluice_status columnar_locate_field(const sl_dataset *dataset, uint64_t index,
                                           uint32_t field, sl_place *place, sl_place *lookup,
                                           sl_refusal *why)
{
    sl_extent extent = {0, 0};
    const sl_columnar *own = columnar_of(dataset);
    const sl_columnar_row row = row_of_index(own, index);
    *place = *lookup = (sl_place){.bytes = own->reader->nothing_bytes, .object = row.file};
    if (own->plan.large_of[field] == SL_FIELD_NONE) {
        *why = sl_refuse_unknown(
            "windows are only available for columns of large values, which are not kept in memory",
            0);
        return SLUICE_UNSUPPORTED;
    }
    if (!own->reader->value_extent(own, &row, field, &extent)) {
        *why = sl_refuse_unknown("windows are only available for values that are stored in place, "
                                 "neither compressed nor encoded",
                                 0);
        return SLUICE_UNSUPPORTED;
    }
    if (extent.bytes >= UINT32_MAX) {
        *why = sl_refuse_unknown("the value has more than 2^32 - 2 bytes", 0);
        return SLUICE_UNSUPPORTED;
    }
    place->offset = extent.offset;
    place->bytes = (uint32_t)extent.bytes; /* an empty value has no elements, so no windows */
    return SLUICE_OK;
}

static bool columnar_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

/* ---- values ---- */

static sl_refusal columnar_refuse_field(const sl_columnar *own, uint32_t field, sl_refusal refusal)
{
    refusal.field = own->plan.fields.fields[field].name;
    return refusal;
}

/* Unpacks the fields of a large column, whose bytes begin at `at` of the sample's. */
static sl_refusal unpack_large(const sl_columnar *own, const sl_columnar_row *row, uint32_t large,
                               const sl_columnar_bytes *read, uint32_t at, sl_values *values)
{
    const sl_columnar_fields *plan = &own->plan;
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        sl_value *value = &values->of[i];
        if (plan->large_of[i] != large || !sl_values_want(values, i)) {
            continue;
        }
        sl_refusal why = own->reader->value(own, row, i, read, value);
        if (why.text == NULL && value->present) {
            why = sl_source_value(&plan->fields.fields[i], value);
        }
        value->offset += at;
        if (why.text != NULL) {
            why.offset += at;
            return columnar_refuse_field(own, i, why);
        }
    }
    return sl_accept();
}

static sl_refusal unpack_side(const sl_columnar *own, const sl_columnar_row *row, uint32_t field,
                              sl_value *value)
{
    const bool by_file = own->side_count > 1;
    const sl_refusal why =
        sl_side_columns_get(&own->side[by_file ? row->file : 0], own->plan.side_of[field],
                            by_file ? row->in_file : row->number, value);
    if (why.text != NULL) {
        return columnar_refuse_field(own, field, why);
    }
    const bool is_class = field != own->plan.label || !value->present || value->integer == -1 ||
                          (value->integer >= 0 && value->integer < own->base.info.classes);
    return is_class ? why : columnar_refuse_field(own, field, sl_refuse("label out of range", 0));
}

static sl_refusal columnar_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_bytes bytes, sl_values *values)
{
    const sl_columnar *own = columnar_of(dataset);
    const sl_columnar_row row = row_of_sample(sample);
    sl_refusal why = sl_accept();
    uint32_t at = 0;
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    for (uint32_t i = 0; why.text == NULL && i < own->plan.large_count; i++) {
        sl_columnar_bytes read = {
            own->reader->extent(own, &row, i), {bytes.data + at, 0}, &values->buffers};
        read.bytes.size = (size_t)columnar_read_bytes(own, read.extent);
        why = unpack_large(own, &row, i, &read, at, values);
        at += (uint32_t)read.bytes.size;
    }
    for (uint32_t i = 0; why.text == NULL && i < own->plan.fields.count; i++) {
        if (sl_values_want(values, i) && own->plan.large_of[i] == SL_FIELD_NONE) {
            why = unpack_side(own, &row, i, &values->of[i]);
        }
    }
    return why;
}

/* ---- the dataset ---- */

static const char *columnar_class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_columnar *own = columnar_of(dataset);
    if (own->class_names != NULL) {
        return label >= 0 && label < own->plan.classes ? own->class_names[label] : NULL;
    }
    return own->plan.classes > 0
               ? sl_features_class_name(&own->features, own->plan.label_column, label)
               : NULL;
}

static void columnar_close(sl_dataset *dataset)
{
    sl_columnar *own = (sl_columnar *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; i < own->side_count; i++) {
        sl_side_columns_close(&own->side[i]);
    }
    sl_free(own->side);
    sl_free(own->order);
    sl_features_close(&own->features);
    own->reader->close(own);
    sl_free(own);
}

const sl_dataset_ops sl_columnar_ops = {
    .locate = columnar_locate,
    .piece = columnar_piece,
    .unpack = columnar_unpack,
    .class_name = columnar_class_name,
    .close = columnar_close,
};

static const sl_tensor_ops columnar_tensors = {.locate_field = columnar_locate_field,
                                               .range = columnar_range};

void sl_columnar_describe(sl_columnar *table)
{
    sluice_dataset_info *info = &table->base.info;
    table->base.tensors = &columnar_tensors;
    table->base.fields = table->plan.fields.fields;
    table->base.pieces = table->plan.large_count > 1 ? table->plan.large_count : 0;
    info->fields = table->plan.fields.count;
    info->shards = table->files->count;
    info->classes = table->plan.classes;
}
