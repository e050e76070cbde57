/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_record: any bytes as one sample of a version 2 shard. Input: one byte (whether to correct
 * the checksum, which schema), then the sample. An accepted value must lie inside the sample. */
#include "fuzz.h"

#include "checksum.h"
#include "little_endian.h"
#include "record.h"
#include "shard_record.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEMAS = 3, SEAL = 1 };

static sl_schema schemas[SCHEMAS];

static const sl_field mixed[] = {
    {.name = "picture", .type = SLUICE_FIELD_IMAGE},
    {.name = "label", .type = SLUICE_FIELD_INT},
    {.name = "key", .type = SLUICE_FIELD_TEXT},
    {.name = "open", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I64, .dims = 3, .shape = {0, 3}},
    {.name = "blob", .type = SLUICE_FIELD_BYTES},
    {.name = "score", .type = SLUICE_FIELD_FLOAT},
};
static const sl_field one[] = {
    {.name = "row", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 1, .shape = {8}}};

static void make_schemas(void)
{
    static sl_field many[SL_FIELDS_MAX];
    if (schemas[0].field_count > 0)
        return;
    for (unsigned i = 0; i < SL_FIELDS_MAX; i++) {
        many[i] = mixed[i % 6];
        many[i].name[0] = (char)('A' + i % 26);
        many[i].name[1] = (char)('A' + i / 26);
    }
    const bool good = sl_schema_make(&schemas[0], mixed, 6, NULL) == SLUICE_OK &&
                      sl_schema_make(&schemas[1], one, 1, NULL) == SLUICE_OK &&
                      sl_schema_make(&schemas[2], many, SL_FIELDS_MAX, NULL) == SLUICE_OK;
    fuzz_expect(good, "schemas are made");
}

/* Checks that spans follow one another from the head to the end. */
static void look_at(const sl_schema *schema, sl_bytes record, const sl_values *values)
{
    size_t at = schema->head_bytes;
    for (unsigned i = 0; i < schema->field_count; i++) {
        const sl_value *value = &values->of[i];
        if (!value->present || value->bytes.size == 0)
            continue;
        fuzz_expect(value->bytes.data == record.data + at, "spans lie back to back");
        fuzz_expect(value->offset == at, "offsets are those of the spans");
        at += value->bytes.size;
        fuzz_expect(at <= record.size, "spans end inside the record");
    }
    fuzz_expect(at == record.size, "spans cover the record");
}

/* The head alone must describe images as the record does; `whole` NULL: the record was rejected. */
static void look_at_head(const sl_schema *schema, sl_bytes record, const sl_values *whole)
{
    static sl_values values = {.wanted = SL_VALUES_ALL};
    const size_t size = record.size < schema->head_bytes ? record.size : schema->head_bytes;
    uint64_t sum = 0;
    uint8_t *head = malloc(size); /* of exactly that size, for the sanitizer */
    fuzz_expect(head != NULL, "memory");
    memcpy(head, record.data, size);
    const sl_refusal refusal =
        sl_record_head_decode(schema, (sl_bytes){head, size}, record.size, &values, &sum);
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    fuzz_expect(whole == NULL || refusal.text == NULL, "a good record has a good head");
    for (unsigned i = 0; whole != NULL && i < schema->field_count; i++) {
        const sl_value *a = &values.of[i];
        const sl_value *b = &whole->of[i];
        if (schema->fields[i].type == SLUICE_FIELD_IMAGE) {
            fuzz_expect(a->present == b->present && a->width == b->width && a->height == b->height,
                        "the head has the sizes of images");
        }
    }
    fuzz_expect(whole == NULL || sum == sl_checksum(record.data + 8, record.size - 8),
                "the head has the checksum");
    free(head);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static sl_values values;
    make_schemas();
    if (size < 1 + 16)
        return 0;
    const sl_schema *schema = &schemas[data[0] / 2 % SCHEMAS];
    uint8_t *copy = malloc(size - 1); /* of exactly that size, for the sanitizer */
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    if (data[0] & SEAL)
        sl_store64(copy, sl_checksum(copy + 8, size - 9));
    const sl_bytes record = {copy, size - 1};
    const sl_refusal refusal = sl_record_decode(schema, record, &values);
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    if (refusal.text == NULL)
        look_at(schema, record, &values);
    look_at_head(schema, record, refusal.text == NULL ? &values : NULL);
    free(copy);
    return 0;
}

static void fill(const sl_schema *schema, sl_values *values)
{
    static const uint8_t bytes[600] = {7, 7, 7};
    for (unsigned i = 0; i < schema->field_count; i++) {
        sl_value *value = &values->of[i];
        *value = (sl_value){.present = i % 5 != 3, .bytes = {bytes, 10 + i}};
        if (schema->fields[i].type == SLUICE_FIELD_IMAGE) {
            value->codec = SL_CODEC_RAW;
            value->width = 2;
            value->height = 1 + i;
            value->bytes.size = (size_t)6 * value->height;
        } else if (schema->fields[i].type == SLUICE_FIELD_TENSOR) {
            value->present = true;
            value->shape[0] = schema->fields[i].dims == 1 ? 8 : 2;
            value->shape[1] = 3;
            value->shape[2] = i % 4;
            value->bytes.size = schema->fields[i].dims == 1 ? 32 : (size_t)2 * 3 * (i % 4) * 8;
        } else if (i == schema->key) {
            value->bytes.size = 0;
        }
    }
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static sl_values values;
    make_schemas();
    if (index >= 2 * SCHEMAS)
        return 0;
    sl_record_plan plan = {.schema = &schemas[index % SCHEMAS]};
    for (unsigned i = 0; i < SL_FIELDS_MAX; i++)
        plan.levels[i] = index < SCHEMAS ? 0 : 3;
    fill(plan.schema, &values);
    sl_record record;
    fuzz_expect(sl_record_make(&record, &plan, &values, NULL) == SLUICE_OK, "a record is made");
    buffer[0] = (uint8_t)(index % SCHEMAS * 2 + SEAL);
    sl_record_copy(&record, buffer + 1);
    const size_t size = 1 + record.bytes;
    sl_record_close(&record);
    return size;
}
