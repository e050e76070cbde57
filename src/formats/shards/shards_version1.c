/* SPDX-License-Identifier: Apache-2.0 */
/* shards_version1: shards of version 1, whose index entries describe samples completely. */
#include "checksum.h"
#include "packed_value.h"
#include "shards.h"

#include <string.h>

/* The parts of an entry that unpack needs. */
enum { FACT_CHECKSUM, FACT_LABEL, FACT_IMAGE, FACT_SIZE };

typedef struct entry_facts {
    uint32_t image_bytes;
    uint8_t codec, image_zstd, key_zstd;
} entry_facts;

static void set_facts(sl_sample *sample, const sl_entry *entry)
{
    const entry_facts facts = {.image_bytes = entry->image.bytes,
                               .codec = entry->image.codec,
                               .image_zstd = entry->image.encoding == SL_BLOB_ZSTD,
                               .key_zstd = entry->key.encoding == SL_BLOB_ZSTD};
    _Static_assert(sizeof(facts) <= sizeof(sample->facts[0]), "the facts of an entry are a word");
    sample->facts[FACT_CHECKSUM] = entry->checksum;
    sample->facts[FACT_LABEL] = (uint64_t)entry->label;
    sample->facts[FACT_IMAGE] = 0;
    memcpy(&sample->facts[FACT_IMAGE], &facts, sizeof(facts));
    sample->facts[FACT_SIZE] = (uint64_t)entry->image.height << 32 | entry->image.width;
}

static const sl_value_packing *frame_if(bool framed)
{
    return framed ? &sl_value_packing_zstd : NULL;
}

static sluice_status shards_version1_locate(const sl_dataset *dataset, uint64_t index,
                                            sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const sl_shards *shards = sl_shards_of(dataset);
    const sl_schema *schema = &shards->schema;
    const uint32_t number = sl_shards_find(shards, index);
    const sl_shard *shard = &shards->shards[number];
    const uint64_t local = index - shard->row.first;
    const uint64_t block = local / schema->entries_per_block;
    const size_t at = (size_t)(local % schema->entries_per_block) * schema->entry_bytes;
    uint8_t bytes[SL_ENTRY_BYTES_MAX];
    sl_entry entry;
    *lookup = (sl_place){.bytes = SL_PAGE_BYTES, .object = number};
    /* relaxed: only the flag is published; rows do not change */
    if (!atomic_load_explicit(&shard->trusted, memory_order_relaxed)) {
        lookup->once = true;
        return SLUICE_AGAIN;
    }
    lookup->offset = shard->row.index_offset + block * SL_PAGE_BYTES;
    if (!sl_index_cache_get(shards->cache, sl_shards_tag(shard, block), at, bytes,
                            schema->entry_bytes)) {
        return SLUICE_AGAIN;
    }
    *why = sl_entry_decode(schema, &entry, bytes, shard->row.data_bytes);
    if (why->text != NULL) {
        why->offset += (uint32_t)at;
        return why->status;
    }
    *sample =
        (sl_sample){.place = {.offset = entry.offset, .bytes = entry.bytes, .object = number}};
    set_facts(sample, &entry);
    return SLUICE_OK;
}

static sl_refusal shards_version1_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                         sl_bytes bytes, sl_values *values)
{
    const sl_schema *schema = &sl_shards_of(dataset)->schema;
    entry_facts facts;
    memcpy(&facts, &sample->facts[FACT_IMAGE], sizeof(facts));
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the size of the sample does not match its index entry", 0);
    }
    if (sl_checksum(bytes.data, bytes.size) != sample->facts[FACT_CHECKSUM]) {
        return sl_refuse("the sample does not match its checksum", 0);
    }
    const int64_t label = (int64_t)sample->facts[FACT_LABEL];
    if (sl_values_want(values, schema->label) && !sl_schema_has_label(schema, label)) {
        sl_refusal why = sl_refuse("label out of range", 0);
        why.field = schema->fields[schema->label].name;
        return why;
    }
    const sl_bytes key = {bytes.data + facts.image_bytes, bytes.size - facts.image_bytes};
    if (!facts.key_zstd && memchr(key.data, 0, key.size) != NULL) {
        return sl_refuse("the key of the sample is corrupt", facts.image_bytes);
    }
    values->of[schema->image] = (sl_value){.present = true,
                                           .packing = frame_if(facts.image_zstd != 0),
                                           .codec = facts.codec,
                                           .width = (uint32_t)sample->facts[FACT_SIZE],
                                           .height = (uint32_t)(sample->facts[FACT_SIZE] >> 32),
                                           .bytes = {bytes.data, facts.image_bytes}};
    values->of[schema->label] = (sl_value){.present = true, .integer = label};
    values->of[schema->key] = (sl_value){.present = true,
                                         .packing = frame_if(facts.key_zstd != 0),
                                         .offset = facts.image_bytes,
                                         .bytes = key};
    return sl_accept();
}

const sl_dataset_ops sl_shards_ops_1 = {
    .locate = shards_version1_locate,
    .learn = sl_shards_learn,
    .unpack = shards_version1_unpack,
    .class_name = sl_shards_class_name,
    .close = sl_shards_close,
};

const sl_check_ops sl_shards_checks_1 = {.check_object = sl_shards_check,
                                         .first_of_object = sl_shards_first_of_object};
