/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that the meanings of fields are stored and read back, that invalid bytes of a meaning fail,
 * and that datasets with other meanings cannot be added. The bytes follow docs/format.md. */
#include "dataset.h"
#include "dataset_checks.h"
#include "meaning.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "shard_format.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE, BOXES, LABELS, MORE, KEY, FIELDS };
enum { ROWS_AT = 64, ROW = 128, FLAGS_AT = 44, MEANING_AT = 112 };

static sluice_field named(const char *name, sluice_field_type type)
{
    sluice_field field = SLUICE_FIELD_INIT;
    snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = (int32_t)type;
    return field;
}

static sluice_field boxes_named(const char *name)
{
    sluice_field field = named(name, SLUICE_FIELD_TENSOR);
    field.dtype = SLUICE_F32;
    field.dims = 2;
    field.shape[1] = 4;
    field.role = SLUICE_ROLE_BOXES;
    field.box_format = SLUICE_BOX_CXCYWH;
    field.coordinates = SLUICE_COORDINATES_RELATIVE;
    field.orientation = SLUICE_ORIENTATION_UPRIGHT;
    return field;
}

static void describe(sluice_field fields[FIELDS])
{
    fields[IMAGE] = named("image", SLUICE_FIELD_IMAGE);
    fields[IMAGE].orientation = SLUICE_ORIENTATION_UPRIGHT;
    fields[BOXES] = boxes_named("boxes");
    fields[LABELS] = named("labels", SLUICE_FIELD_TENSOR);
    fields[LABELS].dtype = SLUICE_I64;
    fields[LABELS].dims = 1;
    fields[LABELS].per_box = 1;
    snprintf(fields[LABELS].of, sizeof(fields[LABELS].of), "boxes");
    fields[MORE] = boxes_named("more");
    fields[MORE].coordinates = SLUICE_COORDINATES_AUTO;
    snprintf(fields[MORE].of, sizeof(fields[MORE].of), "image");
    fields[KEY] = named("key", SLUICE_FIELD_TEXT);
}

/* Writes a dataset of two samples of different sizes, without an image. */
static void write_dataset(const char *folder, const sluice_field *fields)
{
    static const uint8_t data[64];
    sluice_writer *writer;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = FIELDS;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, &error), SLUICE_OK);
    sluice_value values[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        values[i] = (sluice_value)SLUICE_VALUE_INIT;
        values[i].data = data;
        values[i].bytes = 16;
    }
    values[IMAGE].absent = 1;
    values[KEY].bytes = 0;
    assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, &error), SLUICE_OK);
    values[BOXES].bytes = 32;
    assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, &error), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
}

static void expect_fields(const sluice_dataset *dataset, const sluice_field *wanted)
{
    for (uint32_t i = 0; i < FIELDS; i++) {
        sluice_field got = SLUICE_FIELD_INIT;
        assert_int_equal(sluice_dataset_get_field(dataset, i, &got), SLUICE_OK);
        assert_string_equal(got.name, wanted[i].name);
        assert_int_equal(got.role, wanted[i].role);
        assert_int_equal(got.box_format, wanted[i].box_format);
        assert_int_equal(got.coordinates, wanted[i].coordinates);
        assert_int_equal(got.orientation, wanted[i].orientation);
        assert_int_equal(got.per_box, wanted[i].per_box);
        assert_string_equal(got.of, wanted[i].of);
    }
}

typedef struct fixture {
    char folder[256], packed[300], more[300];
    sluice_field fields[FIELDS];
} fixture;

static fixture f;

static int set_up(void **state)
{
    (void)state;
    temporary_directory(f.folder, sizeof(f.folder));
    snprintf(f.packed, sizeof(f.packed), "%s/packed", f.folder);
    snprintf(f.more, sizeof(f.more), "%s/more", f.folder);
    describe(f.fields);
    write_dataset(f.packed, f.fields);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(f.folder);
    return 0;
}

static sluice_status pack_to(const char *from, const char *to, bool append, sluice_error *error)
{
    sluice_dataset *dataset = dataset_opened(from);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.append = append ? 1 : 0;
    const sluice_status status = sluice_pack(dataset, to, &options, NULL, error);
    sluice_dataset_close(dataset);
    return status;
}

TEST_WITH(meaning_is_read_as_it_was_written, set_up, tear_down)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = dataset_opened(f.packed);
    expect_fields(dataset, f.fields);
    sluice_dataset_close(dataset);
    assert_int_equal(pack_to(f.packed, f.more, false, &error), SLUICE_OK);
    dataset = dataset_opened(f.more);
    expect_fields(dataset, f.fields);
    sluice_dataset_close(dataset);
}

/* docs/format.md, section 7; a row without a meaning is unchanged from earlier versions. */
TEST_WITH(bytes_of_a_row, set_up, tear_down)
{
    static const uint8_t wanted[FIELDS][16] = {
        [IMAGE] = {0, 0, 0, 2},
        [BOXES] = {1, 3, 1, 2, 0, 0},
        [LABELS] = {0, 0, 0, 0, 1, BOXES + 1},
        [MORE] = {1, 3, 0, 2, 0, IMAGE + 1},
    };
    file_bytes shard;
    file_load(&shard, f.packed, "shard-000000.sluice");
    const uint8_t *rows = shard.data + get64(&shard, SHARD_META_OFFSET_AT) + ROWS_AT;
    for (int i = 0; i < FIELDS; i++) {
        const uint8_t *row = rows + (size_t)ROW * (size_t)i;
        assert_memory_equal(row + MEANING_AT, wanted[i], 16);
        assert_int_equal(row[FLAGS_AT] >> 1, i == KEY ? 0 : 1);
    }
    file_free(&shard);
}

/* Each byte of the meanings with each value: read exactly or rejected, never read as another
 * meaning. */
TEST_WITH(no_byte_is_misread, set_up, tear_down)
{
    file_bytes shard;
    file_load(&shard, f.packed, "shard-000000.sluice");
    const uint64_t bytes = get64(&shard, SHARD_META_BYTES_AT);
    uint8_t *meta = malloc(bytes);
    uint8_t *again = malloc(bytes);
    memcpy(meta, shard.data + get64(&shard, SHARD_META_OFFSET_AT), bytes);
    uint32_t read = 0;
    uint32_t refused = 0;
    for (size_t at = 0; at < (size_t)FIELDS * 17; at++) {
        uint8_t *row = meta + ROWS_AT + at / 17 * ROW;
        uint8_t *byte = at % 17 < 16 ? row + MEANING_AT + at % 17 : row + FLAGS_AT;
        const uint8_t before = *byte;
        for (uint32_t value = 0; value < 256; value++) {
            sl_schema schema;
            *byte = (uint8_t)value;
            const sl_refusal refusal = sl_schema_decode(&schema, 2, (sl_bytes){meta, bytes});
            if (refusal.text != NULL) {
                assert_true(refusal.status == SLUICE_CORRUPT ||
                            refusal.status == SLUICE_UNSUPPORTED);
                assert_true(refusal.offset >= ROWS_AT && refusal.offset < bytes);
                refused++;
                continue;
            }
            assert_int_equal(sl_schema_bytes(&schema), bytes);
            sl_schema_encode(&schema, again);
            assert_memory_equal(again, meta, bytes);
            sl_schema_close(&schema);
            read++;
        }
        *byte = before;
    }
    assert_true(read > FIELDS * 16 && refused > 200 * FIELDS);
    free(meta);
    free(again);
    file_free(&shard);
}

static void expect_damage(size_t field, size_t at, uint8_t value, sluice_status status)
{
    file_bytes shard;
    file_load(&shard, f.packed, "shard-000000.sluice");
    const size_t row = get64(&shard, SHARD_META_OFFSET_AT) + ROWS_AT + ROW * field;
    shard.data[row + at] = value;
    seal_shard(&shard);
    file_store(&shard, shard.size);
    dataset_refused(shard.path, status, "shard-000000.sluice", "meaning of a field");
    file_free(&shard);
}

TEST_WITH(damage_is_told_by_name, set_up, tear_down)
{
    expect_damage(BOXES, MEANING_AT, 7, SLUICE_UNSUPPORTED);        /* a later version */
    expect_damage(BOXES, MEANING_AT, 3, SLUICE_CORRUPT);            /* boxes declared as shapes */
    expect_damage(LABELS, MEANING_AT + 5, KEY + 1, SLUICE_CORRUPT); /* of boxes that are a text */
}

TEST_WITH(other_meanings_are_not_added, set_up, tear_down)
{
    sluice_error error = SLUICE_ERROR_INIT;
    char source[300];
    snprintf(source, sizeof(source), "%s/source", f.folder);
    f.fields[BOXES].box_format = SLUICE_BOX_XYWH;
    write_dataset(source, f.fields);
    assert_int_equal(pack_to(source, f.packed, true, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "\"boxes, cxcywh relative, of the upright image\" there"));
    assert_non_null(strstr(error.text, "\"boxes, xywh relative, of the upright image\" in"));
    remove_tree(source);
    for (int i = 0; i < FIELDS; i++) {
        f.fields[i].role = f.fields[i].box_format = f.fields[i].coordinates = 0;
        f.fields[i].orientation = 0;
        f.fields[i].per_box = 0;
        f.fields[i].of[0] = '\0';
    }
    write_dataset(source, f.fields);
    assert_int_equal(pack_to(source, f.packed, true, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "\"not known\""));
    assert_int_equal(pack_to(f.packed, source, true, &error), SLUICE_STATE);
    describe(f.fields);
    remove_tree(source);
    write_dataset(source, f.fields);
    assert_int_equal(pack_to(source, f.packed, true, &error), SLUICE_OK);
}

/* The same samples with additional meanings are another pack; repeating the call adds nothing. */
TEST_WITH(a_pack_is_done_again_where_more_is_known, set_up, tear_down)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = dataset_opened(f.packed);
    sl_dataset *inside = (sl_dataset *)(void *)dataset;
    sl_field known[FIELDS];
    sl_field unknown[FIELDS];
    memcpy(known, inside->fields, sizeof(known));
    memcpy(unknown, known, sizeof(unknown));
    for (int i = 0; i < FIELDS; i++) {
        unknown[i].meaning = (sl_meaning){.role = SLUICE_ROLE_NONE};
    }
    inside->fields = unknown;
    assert_int_equal(sluice_pack(dataset, f.more, NULL, NULL, &error), SLUICE_OK);
    assert_int_equal(sluice_pack(dataset, f.more, NULL, NULL, &error), SLUICE_OK);
    inside->fields = known;
    assert_int_equal(sluice_pack(dataset, f.more, NULL, NULL, &error), SLUICE_STATE);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.overwrite = 1;
    assert_int_equal(sluice_pack(dataset, f.more, &options, NULL, &error), SLUICE_OK);
    assert_int_equal(sluice_pack(dataset, f.more, NULL, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
    dataset = dataset_opened(f.more);
    expect_fields(dataset, f.fields);
    sluice_dataset_close(dataset);
}

TEST_WITH(a_writer_refuses_what_cannot_be, set_up, tear_down)
{
    sluice_writer *writer;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = f.fields;
    options.field_count = FIELDS;
    f.fields[LABELS].of[0] = '\0';
    assert_int_equal(sluice_writer_open(&writer, f.more, &options, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "field \"labels\": there are several fields of boxes"));
    describe(f.fields);
    f.fields[KEY].role = SLUICE_ROLE_BOXES;
    assert_int_equal(sluice_writer_open(&writer, f.more, &options, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "field \"key\": boxes must be a tensor"));
    f.fields[KEY].role = 99;
    assert_int_equal(sluice_writer_open(&writer, f.more, &options, &error), SLUICE_INVALID);
    assert_null(writer);
}
