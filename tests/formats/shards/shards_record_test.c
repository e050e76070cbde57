/* SPDX-License-Identifier: Apache-2.0 */
/* Tests records of version 2 of the shards: encoded and decoded, and false cells with correct
 * checksums. The bytes are changed according to docs/format.md. */
#include "checksum.h"
#include "clock.h"
#include "little_endian.h"
#include "packed_value.h"
#include "record.h"
#include "shard_record.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INT, FLOAT, BYTES, TEXT, FIXED, OPEN, PIXELS, FIELDS };

/* Byte offsets of the cells: 16, then consecutive. */
enum {
    INT_CELL = 16,
    FLOAT_CELL = 24,
    BYTES_CELL = 32,
    TEXT_CELL = 40,
    FIXED_CELL = 48,
    OPEN_CELL = 56,
    PIXELS_CELL = 72,
    HEAD = 88
};

static const sl_field fields[FIELDS] = {
    [INT] = {.name = "int", .type = SLUICE_FIELD_INT},
    [FLOAT] = {.name = "float", .type = SLUICE_FIELD_FLOAT},
    [BYTES] = {.name = "bytes", .type = SLUICE_FIELD_BYTES},
    [TEXT] = {.name = "text", .type = SLUICE_FIELD_TEXT},
    [FIXED] = {.name = "fixed",
               .type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 2,
               .shape = {3, 4},
               .compression = SLUICE_COMPRESSION_NEVER},
    [OPEN] = {.name = "open",
              .type = SLUICE_FIELD_TENSOR,
              .dtype = SLUICE_U16,
              .dims = 3,
              .shape = {0, 2, 0}},
    [PIXELS] = {.name = "pixels", .type = SLUICE_FIELD_IMAGE},
};

static const char text[] = "a text\0 with a NUL";
static uint8_t noise[256];

static void fill(sl_values *values)
{
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t)(i * 167 + (i >> 3));
    }
    values->of[INT] = (sl_value){.present = true, .integer = INT64_MIN + 5};
    values->of[FLOAT] = (sl_value){.present = true, .number = -1.5e-300};
    values->of[BYTES] = (sl_value){.present = true, .bytes = {noise, 0}};
    values->of[TEXT] = (sl_value){.present = true, .bytes = {(const uint8_t *)text, sizeof(text)}};
    values->of[FIXED] = (sl_value){.present = true, .shape = {3, 4}, .bytes = {noise, 48}};
    values->of[OPEN] = (sl_value){.present = true, .shape = {5, 2, 3}, .bytes = {noise + 1, 60}};
    values->of[PIXELS] = (sl_value){
        .present = true, .codec = SL_CODEC_RAW, .width = 2, .height = 5, .bytes = {noise + 2, 30}};
}

typedef struct fixture {
    sl_schema schema;
    sl_record_plan plan;
    uint8_t *bytes;
    size_t size;
    sl_values values;
} fixture;

static void encode(fixture *f)
{
    sl_record record;
    assert_int_equal(sl_record_make(&record, &f->plan, &f->values, NULL), SLUICE_OK);
    f->size = record.bytes;
    f->bytes = malloc(record.bytes);
    sl_record_copy(&record, f->bytes);
    sl_record_close(&record);
}

static void fixture_make(fixture *f)
{
    memset(f, 0, sizeof(*f));
    assert_int_equal(sl_schema_make(&f->schema, fields, FIELDS, NULL), SLUICE_OK);
    assert_int_equal(f->schema.head_bytes, HEAD);
    f->plan.schema = &f->schema;
    fill(&f->values);
    encode(f);
}

static sl_refusal decode(fixture *f)
{
    return sl_record_decode(&f->schema, (sl_bytes){f->bytes, f->size}, &f->values);
}

static void seal(fixture *f)
{
    sl_store64(f->bytes, sl_checksum(f->bytes + 8, f->size - 8));
}

TEST(values_come_back)
{
    fixture f;
    fixture_make(&f);
    assert_int_equal(f.size, HEAD + sizeof(text) + 48 + 60 + 30);
    memset(f.values.of, 0x5A, sizeof(f.values.of));
    assert_null(decode(&f).text);
    const sl_value *of = f.values.of;
    sl_values expected;
    fill(&expected);
    assert_int_equal(of[INT].integer, INT64_MIN + 5);
    assert_true(of[FLOAT].number == -1.5e-300);
    uint32_t offset = HEAD;
    for (int i = BYTES; i < FIELDS; i++) {
        assert_true(of[i].present && !sl_is_packed(&of[i]));
        assert_int_equal(of[i].offset, offset);
        assert_int_equal(of[i].bytes.size, expected.of[i].bytes.size);
        assert_memory_equal(of[i].bytes.data, expected.of[i].bytes.data, of[i].bytes.size);
        assert_memory_equal(of[i].shape, expected.of[i].shape, sizeof(of[i].shape));
        offset += (uint32_t)of[i].bytes.size;
    }
    assert_int_equal(of[PIXELS].codec, SL_CODEC_RAW);
    assert_int_equal(of[PIXELS].width, 2);
    assert_int_equal(of[PIXELS].height, 5);
    free(f.bytes);
}

/* Every subset of the fields may be missing. */
TEST(absent_fields_stay_absent)
{
    fixture f;
    fixture_make(&f);
    for (uint32_t set = 0; set < 1U << FIELDS; set++) {
        free(f.bytes);
        fill(&f.values);
        for (uint32_t i = 0; i < FIELDS; i++) {
            f.values.of[i].present = (set >> i & 1) != 0;
        }
        encode(&f);
        assert_null(decode(&f).text);
        for (uint32_t i = 0; i < FIELDS; i++) {
            assert_int_equal(f.values.of[i].present, set >> i & 1);
        }
        assert_int_equal(sl_load64(f.bytes + 8), set);
    }
    assert_true(f.size > HEAD);
    free(f.bytes);
}

/* Each flipped bit, at every place. */
TEST(damage_is_noticed)
{
    fixture f;
    fixture_make(&f);
    for (size_t bit = 0; bit < f.size * 8; bit++) {
        f.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        const sl_refusal refusal = decode(&f);
        assert_non_null(refusal.text);
        assert_int_equal(refusal.status, SLUICE_CORRUPT);
        f.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    for (size_t size = 0; size < f.size; size++) {
        uint8_t *copy = malloc(size + 1); /* of exactly that size, for the sanitizer */
        memcpy(copy, f.bytes, size);
        assert_non_null(sl_record_decode(&f.schema, (sl_bytes){copy, size}, &f.values).text);
        free(copy);
    }
    free(f.bytes);
}

static void expect_lie(fixture *f, size_t at, uint32_t value, const char *field,
                       sluice_status status)
{
    const uint32_t good = sl_load32(f->bytes + at);
    sl_store32(f->bytes + at, value);
    seal(f);
    const sl_refusal refusal = decode(f);
    if (refusal.text == NULL || refusal.status != status) {
        fail_msg("%u at byte %zu: %s", value, at, refusal.text != NULL ? refusal.text : "accepted");
    }
    assert_true((field == NULL) == (refusal.field == NULL));
    if (field != NULL) {
        assert_string_equal(refusal.field, field);
    }
    sl_store32(f->bytes + at, good);
}

TEST(lies_are_refused_by_name)
{
    static const struct {
        size_t at;
        uint32_t value;
        const char *field;
        sluice_status status;
    } lies[] = {
        {8, 0xff, NULL, SLUICE_CORRUPT}, /* an eighth field */
        {12, 1, NULL, SLUICE_CORRUPT},
        {8, 0x7e, "int", SLUICE_CORRUPT},
        {8, 0x3f, "pixels", SLUICE_CORRUPT},
        {BYTES_CELL, 1, "pixels", SLUICE_CORRUPT}, /* all others move, the last no longer fits */
        {BYTES_CELL, 0xffffffff, "bytes", SLUICE_CORRUPT},
        {BYTES_CELL + 4, 2, "bytes", SLUICE_UNSUPPORTED},
        {BYTES_CELL + 4, 0x100, "bytes", SLUICE_CORRUPT},
        {TEXT_CELL + 4, 0x01000000, "text", SLUICE_CORRUPT},
        {FIXED_CELL, 44, "fixed", SLUICE_CORRUPT},
        {FIXED_CELL, 0, "fixed", SLUICE_CORRUPT},
        {FIXED_CELL + 4, 1, "fixed", SLUICE_CORRUPT}, /* it is flagged plain */
        {OPEN_CELL + 8, 4, "open", SLUICE_CORRUPT},
        {OPEN_CELL + 8, 0, "open", SLUICE_CORRUPT},
        {OPEN_CELL + 8, 0xffffffff, "open", SLUICE_CORRUPT},
        {OPEN_CELL + 12, 0x80000003, "open", SLUICE_CORRUPT},
        {OPEN_CELL + 12, 0xaaaaaaaa, "open", SLUICE_CORRUPT},
        {PIXELS_CELL, 0, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL, 31, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL, 29, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL + 4, 0x0002, "pixels", SLUICE_UNSUPPORTED},
        {PIXELS_CELL + 4, 0x0000, "pixels", SLUICE_UNSUPPORTED}, /* codec 0 */
        {PIXELS_CELL + 4, 0x10200, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL + 8, 0, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL + 8, 0xaaaaaaac, "pixels", SLUICE_CORRUPT},
        {PIXELS_CELL + 12, 6, "pixels", SLUICE_CORRUPT},
    };
    fixture f;
    fixture_make(&f);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        expect_lie(&f, lies[i].at, lies[i].value, lies[i].field, lies[i].status);
    }
    seal(&f);
    assert_null(decode(&f).text);
    free(f.bytes);
}

/* Bytes that belong to no field. */
TEST(records_have_no_tail)
{
    fixture f;
    fixture_make(&f);
    f.bytes = realloc(f.bytes, f.size + 1);
    f.bytes[f.size++] = 0;
    seal(&f);
    const sl_refusal refusal = decode(&f);
    assert_non_null(refusal.text);
    assert_int_equal(refusal.offset, f.size - 1);
    free(f.bytes);
}

/* For each record, the field whose bytes are everything after the head. */
TEST(tails_of_schemas)
{
    static const struct {
        uint32_t fields[3], count, tail;
    } cases[] = {
        {{FIXED}, 1, 0},
        {{INT, FIXED}, 2, 1},
        {{INT, FLOAT, FIXED}, 3, 2},
        {{FIXED, INT}, 2, 0},
        {{INT, FLOAT}, 2, SL_FIELD_NONE},
        {{INT, FIXED, TEXT}, 3, SL_FIELD_NONE},
        {{TEXT, INT, FIXED}, 3, SL_FIELD_NONE},
        {{INT, OPEN}, 2, SL_FIELD_NONE}, /* OPEN may be compressed */
        {{INT, PIXELS}, 2, SL_FIELD_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sl_schema schema;
        sl_field some[3];
        for (uint32_t k = 0; k < cases[i].count; k++) {
            some[k] = fields[cases[i].fields[k]];
        }
        assert_int_equal(sl_schema_make(&schema, some, cases[i].count, NULL), SLUICE_OK);
        assert_int_equal(schema.tail, cases[i].tail);
    }
}

/* Frames: even if a tensor's size is unknown before unpacking, its shape is bounded. */
TEST(frames_are_kept_where_smaller)
{
    static const uint8_t flat[4000];
    fixture f;
    fixture_make(&f);
    free(f.bytes);
    for (uint32_t i = 0; i < FIELDS; i++) {
        f.plan.levels[i] = i == FIXED ? 0 : 3;
    }
    fill(&f.values);
    f.values.of[BYTES].bytes = (sl_bytes){flat, sizeof(flat)};
    f.values.of[OPEN] =
        (sl_value){.present = true, .shape = {500, 2, 2}, .bytes = {flat, sizeof(flat)}};
    encode(&f);
    assert_true(f.size < 400);
    assert_null(decode(&f).text);
    assert_true(sl_is_packed(&f.values.of[BYTES]) && sl_is_packed(&f.values.of[OPEN]));
    assert_false(sl_is_packed(&f.values.of[TEXT]) || sl_is_packed(&f.values.of[FIXED]) ||
                 sl_is_packed(&f.values.of[PIXELS]));
    assert_int_equal(f.values.of[OPEN].shape[0], 500);
    expect_lie(&f, OPEN_CELL + 8, 0xffffffff, "open", SLUICE_CORRUPT);
    free(f.bytes);
}

static void expect_no_schema(const sl_field *wrong, uint32_t count, const char *why)
{
    static sl_schema schema;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_schema_make(&schema, wrong, count, &error), SLUICE_INVALID);
    if (strstr(error.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, why);
    }
}

TEST(fields_that_cannot_be_are_refused)
{
    static sl_field many[10000];
    for (uint32_t i = 0; i < 10000; i++) {
        many[i].type = SLUICE_FIELD_INT;
        (void)snprintf(many[i].name, sizeof(many[i].name), "f%u", i);
    }
    sl_schema schema;
    assert_int_equal(sl_schema_make(&schema, many, 64, NULL), SLUICE_OK);
    expect_no_schema(many, 0, "1 to 64");
    expect_no_schema(many, 65, "not 65");
    expect_no_schema(many, 10000, "not 10000");
    sl_field two[2] = {fields[INT], fields[INT]};
    expect_no_schema(two, 2, "duplicate name");
    static const char *const names[] = {"", "with space", "control\x01", "caf\xc3\xa9"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sl_field field = fields[INT];
        (void)snprintf(field.name, sizeof(field.name), "%s", names[i]);
        expect_no_schema(&field, 1, "its name");
    }
    sl_field field = fields[INT];
    memset(field.name, 'n', sizeof(field.name));
    expect_no_schema(&field, 1, "its name");
    field = fields[INT];
    field.type = (sluice_field_type)7;
    expect_no_schema(&field, 1, "not a sluice_field_type");
    field = fields[FIXED];
    field.dtype = (sluice_dtype)13;
    expect_no_schema(&field, 1, "its dtype");
    field = fields[FIXED];
    field.dims = 9;
    expect_no_schema(&field, 1, "dimensions");
    field = fields[FIXED];
    field.compression = (sluice_compression)3;
    expect_no_schema(&field, 1, "its compression");
    static const uint64_t shapes[][2] = {
        {1U << 29, 1}, {1U << 15, 1U << 14}, {UINT64_MAX, 1}, {UINT64_MAX, 0}, {3, UINT64_MAX / 3}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        field = fields[FIXED];
        memcpy(field.shape, shapes[i], sizeof(shapes[i]));
        expect_no_schema(&field, 1, "2^31 - 1");
    }
}

/* Space for 64 tensors with 8 open dimensions: the largest possible head. */
TEST(the_largest_head)
{
    static sl_field many[SL_FIELDS_MAX];
    fixture f = {0};
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        many[i] = (sl_field){.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8, .dims = 8};
        (void)snprintf(many[i].name, sizeof(many[i].name), "f%u", i);
    }
    assert_int_equal(sl_schema_make(&f.schema, many, SL_FIELDS_MAX, NULL), SLUICE_OK);
    assert_int_equal(f.schema.head_bytes, SL_RECORD_HEAD_MAX);
    f.plan.schema = &f.schema;
    fill(&f.values);
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        f.values.of[i] = (sl_value){.present = i % 3 != 1,
                                    .shape = {1, 1, 2, 1, i % 5, 1, 1, 2},
                                    .bytes = {noise + i, (size_t)4 * (i % 5)}};
    }
    encode(&f);
    assert_null(decode(&f).text);
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        const sl_value *value = &f.values.of[i];
        assert_int_equal(value->present, i % 3 != 1);
        if (value->present) {
            assert_int_equal(value->shape[4], i % 5);
            assert_int_equal(value->bytes.size, 4 * (i % 5));
            assert_memory_equal(value->bytes.data, noise + i, value->bytes.size);
        }
    }
    free(f.bytes);
}

/* A small sample must cost little more than its checksum. */
TEST(what_a_small_tensor_costs)
{
    enum { ROUNDS = 200000, BYTES_OF_IT = 4096 };
    static uint8_t data[BYTES_OF_IT];
    const sl_field one = {.name = "x",
                          .type = SLUICE_FIELD_TENSOR,
                          .dtype = SLUICE_F32,
                          .dims = 1,
                          .shape = {BYTES_OF_IT / 4}};
    fixture f = {0};
    assert_int_equal(sl_schema_make(&f.schema, &one, 1, NULL), SLUICE_OK);
    f.plan.schema = &f.schema;
    f.values.of[0] =
        (sl_value){.present = true, .shape = {BYTES_OF_IT / 4}, .bytes = {data, BYTES_OF_IT}};
    encode(&f);
    uint64_t sum = 0;
    const uint64_t start = sl_now_ns();
    for (int i = 0; i < ROUNDS; i++) {
        sum += sl_checksum(f.bytes + 8, f.size - 8);
    }
    const uint64_t checksums = sl_now_ns();
    for (int i = 0; i < ROUNDS; i++) {
        sum += decode(&f).offset;
    }
    const uint64_t end = sl_now_ns();
    print_message("4096 bytes: checksum %.0f ns, decoded in %.0f ns (%d)\n",
                  (double)(checksums - start) / ROUNDS, (double)(end - checksums) / ROUNDS,
                  (int)(sum & 1));
    free(f.bytes);
}
