/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_version2: shards of version 2, whose index only locates samples; records describe
 * themselves.
 */
#include "little_endian.h"
#include "shard_record.h"
#include "shards.h"

/* Locates a sample in a shard with samples of different sizes, by a lookup in an index block. */
static sluice_status locate_by_index(const sl_shards *shards, const sl_shard *shard, uint64_t local,
                                     sl_place *place, sl_place *lookup, sl_refusal *why)
{
    const uint64_t block = local / SL_BLOCK_SAMPLES;
    const size_t at = (size_t)(local % SL_BLOCK_SAMPLES) * SL_FENCE_BYTES;
    uint8_t fences[2 * SL_FENCE_BYTES];
    lookup->offset = shard->row.index_offset + block * SL_PAGE_BYTES;
    if (!sl_index_cache_get(shards->cache, sl_shards_tag(shard, block), at, fences,
                            sizeof(fences))) {
        return SLUICE_AGAIN;
    }
    *why = sl_fences_decode(fences, shard->row.data_bytes, &place->offset, &place->bytes);
    why->offset += (uint32_t)at;
    return why->text == NULL ? SLUICE_OK : why->status;
}

static sluice_status shards_version2_locate(const sl_dataset *dataset, uint64_t index,
                                            sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const uint32_t number = sl_shards_find(shards, index);
    const sl_shard *shard = &shards->shards[number];
    const uint64_t local = index - shard->row.first;
    const uint32_t bytes = shard->row.record_bytes;
    *lookup = (sl_place){.bytes = SL_PAGE_BYTES, .object = number};
    /* relaxed: only the flag is published; rows do not change */
    if (!atomic_load_explicit(&shard->trusted, memory_order_relaxed)) {
        lookup->once = true;
        return SLUICE_AGAIN;
    }
    *sample = (sl_sample){.place = {.offset = SL_SHARD_DATA_OFFSET + local * bytes,
                                    .bytes = bytes,
                                    .object = number}};
    return bytes != 0 ? SLUICE_OK
                      : locate_by_index(shards, shard, local, &sample->place, lookup, why);
}

static sluice_status shards_version2_locate_field(const sl_dataset *dataset, uint64_t index,
                                                  uint32_t field, sl_place *place, sl_place *lookup,
                                                  sl_refusal *why)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    sl_sample sample;
    if (field != schema->tail) {
        *lookup = (sl_place){.object = 0};
        *why = sl_refuse_unknown("windows need a tensor that is stored plain, with only numbers "
                                 "beside it: pack it again with zstd off",
                                 0);
        why->field = schema->fields[field].name;
        return SLUICE_UNSUPPORTED;
    }
    const sluice_status status = shards_version2_locate(dataset, index, &sample, lookup, why);
    if (status != SLUICE_OK) {
        return status;
    }
    if (sample.place.bytes < schema->head_bytes) {
        *lookup = sample.place;
        *why = sl_refuse("the sample is shorter than its header", 0);
        return SLUICE_CORRUPT;
    }
    *place = sample.place;
    place->offset += schema->head_bytes;
    place->bytes -= schema->head_bytes;
    return SLUICE_OK;
}

/*
 * Returns the size of a field, for samples of equal size: the manifest has it, and the reader
 * verifies the header.
 */
static bool field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t *bytes)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const uint32_t record_bytes = shards->shards[sl_shards_find(shards, index)].row.record_bytes;
    if (field != shards->schema.tail || record_bytes < shards->schema.head_bytes) {
        return false;
    }
    *bytes = record_bytes - shards->schema.head_bytes;
    return true;
}

static bool shards_version2_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const sl_shard_row *row = &shards->shards[sl_shards_find(shards, index)].row;
    *count = row->first + row->samples - index;
    return row->record_bytes != 0;
}

static sl_refusal shards_version2_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                         sl_bytes bytes, sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the size of the sample does not match its index", 0);
    }
    return sl_record_decode(&sl_shards_of(dataset)->schema, bytes, values);
}

static sl_refusal shards_version2_unpack_head(const sl_dataset *dataset, const sl_sample *sample,
                                              sl_bytes head, sl_values *values, uint64_t *sum)
{
    return sl_record_head_decode(&sl_shards_of(dataset)->schema, head, sample->place.bytes, values,
                                 sum);
}

static uint64_t shards_version2_sum(const sl_dataset *dataset, const sl_sample *sample,
                                    sl_bytes bytes)
{
    const sl_shard *shard = &sl_shards_of(dataset)->shards[sample->place.object];
    return sl_record_identity(sample->index - shard->row.first, sl_load64(bytes.data));
}

static sl_refusal shards_version2_check_sum(const sl_dataset *dataset, uint32_t object,
                                            uint64_t value, uint64_t count)
{
    const sl_shard_row *row = &sl_shards_of(dataset)->shards[object].row;
    if (count != row->samples || value == row->identity) {
        return sl_accept();
    }
    return sl_refuse("the samples are valid, but not those that the header describes", 96);
}

const sl_dataset_ops sl_shards_ops_2 = {
    .locate = shards_version2_locate,
    .learn = sl_shards_learn,
    .unpack = shards_version2_unpack,
    .unpack_head = shards_version2_unpack_head,
    .class_name = sl_shards_class_name,
    .close = sl_shards_close,
};

const sl_tensor_ops sl_shards_tensors_2 = {.locate_field = shards_version2_locate_field,
                                           .field_bytes = field_bytes,
                                           .range = shards_version2_range};

const sl_check_ops sl_shards_checks_2 = {.check_object = sl_shards_check,
                                         .sum = shards_version2_sum,
                                         .check_sum = shards_version2_check_sum,
                                         .first_of_object = sl_shards_first_of_object};
