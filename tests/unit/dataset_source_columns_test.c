/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of files as fields, columns kept in memory, and JSON. */
#include "error.h"
#include "json_file.h"
#include "side_columns.h"
#include "source_columns.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sl_source_column make(const char *name, sluice_field_type type)
{
    sl_source_column column = {.field = {.type = type}};
    (void)snprintf(column.name, sizeof(column.name), "%s", name);
    return column;
}

static sluice_status find(sl_source_fields *fields, const sl_source_column *columns, uint32_t count,
                          const char *const *choices, uint32_t choice_count)
{
    sluice_error error;
    const sluice_dataset_options options = {
        .struct_size = sizeof(options), .fields = choices, .field_count = choice_count};
    sl_error_clear(&error);
    return sl_source_fields_find(fields, columns, count, &options, "x", &error);
}

TEST(names_are_the_usual_ones)
{
    sl_source_fields fields;
    const sl_source_column columns[] = {
        make("jpg", SLUICE_FIELD_IMAGE), make("cls", SLUICE_FIELD_INT),
        make("a caption that has more bytes than 31", SLUICE_FIELD_TEXT)};
    assert_int_equal(find(&fields, columns, 3, NULL, 0), SLUICE_OK);
    assert_int_equal(fields.count, 3);
    assert_string_equal(fields.fields[0].name, "image");
    assert_string_equal(fields.fields[1].name, "label");
    assert_string_equal(fields.fields[2].name, "ion_that_has_more_bytes_than_31");
    assert_int_equal(fields.column[2], 2);
}

TEST(names_that_are_there_stay)
{
    sl_source_fields fields;
    const sl_source_column columns[] = {
        make("left", SLUICE_FIELD_IMAGE), make("right", SLUICE_FIELD_IMAGE),
        make("label", SLUICE_FIELD_TEXT), make("class", SLUICE_FIELD_INT)};
    assert_int_equal(find(&fields, columns, 4, NULL, 0), SLUICE_OK);
    assert_string_equal(fields.fields[0].name, "left");
    assert_string_equal(fields.fields[3].name, "class");
}

TEST(columns_are_refused)
{
    sl_source_fields fields;
    sl_source_column columns[] = {make("image", SLUICE_FIELD_IMAGE), make("x y", SLUICE_FIELD_INT),
                                  make("x_y", SLUICE_FIELD_INT)};
    assert_int_equal(find(&fields, columns, 3, NULL, 0), SLUICE_UNSUPPORTED); /* same name */
    columns[2] = make("meta", SLUICE_FIELD_BYTES);
    columns[2].refused = "pickled objects";
    assert_int_equal(find(&fields, columns, 3, NULL, 0), SLUICE_UNSUPPORTED);
    assert_int_equal(find(&fields, columns, 3, (const char *[]){"p=image", "n=x y"}, 2), SLUICE_OK);
    assert_string_equal(fields.fields[1].name, "n");
    assert_int_equal(find(&fields, columns, 3, (const char *[]){"m=meta"}, 1), SLUICE_INVALID);
    assert_int_equal(find(&fields, columns, 3, (const char *[]){"m=meta:text"}, 1), SLUICE_INVALID);
    columns[2].typed = true;
    assert_int_equal(find(&fields, columns, 3, NULL, 0), SLUICE_UNSUPPORTED);
    assert_int_equal(find(&fields, columns, 3, (const char *[]){"m=meta"}, 1), SLUICE_INVALID);
    assert_int_equal(find(&fields, columns, 3, (const char *[]){"m=meta:text"}, 1), SLUICE_OK);
    assert_int_equal(find(&fields, columns, 0, NULL, 0), SLUICE_UNSUPPORTED);
}

TEST(columns_that_are_asked_for)
{
    sl_source_fields fields;
    sl_source_column columns[] = {make("a", SLUICE_FIELD_INT), make("b", SLUICE_FIELD_BYTES)};
    columns[1].asked = true;
    assert_int_equal(find(&fields, columns, 2, NULL, 0), SLUICE_OK);
    assert_int_equal(fields.count, 1);
    assert_int_equal(find(&fields, columns, 2, (const char *[]){"x=b"}, 1), SLUICE_OK);
    assert_int_equal(fields.column[0], 1);
}

TEST(choices_have_to_fit)
{
    sl_source_fields fields;
    const sl_source_column columns[] = {make("a", SLUICE_FIELD_BYTES), make("b", SLUICE_FIELD_INT)};
    const struct {
        const char *choice;
        sluice_status status;
    } cases[] = {
        {"x=a", SLUICE_OK},
        {"x=a:image", SLUICE_OK},
        {"x=a:text", SLUICE_OK},
        {"x=a:u8[28,28]", SLUICE_OK},
        {"x=a:int", SLUICE_INVALID},
        {"x=b:int", SLUICE_OK},
        {"x=b:float", SLUICE_INVALID},
        {"x=c", SLUICE_INVALID},
        {"x", SLUICE_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(find(&fields, columns, 2, &cases[i].choice, 1), cases[i].status);
    }
    assert_int_equal(find(&fields, columns, 2, (const char *[]){"x=a", "x=b"}, 2), SLUICE_INVALID);
}

TEST(bytes_become_tensors)
{
    static const uint8_t bytes[12];
    sl_field field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I16, .dims = 2, .shape = {2, 3}};
    sl_value value = {.bytes = {bytes, 12}};
    assert_null(sl_source_value(&field, &value).text);
    assert_int_equal(value.shape[1], 3);
    field.shape[0] = 0;
    assert_null(sl_source_value(&field, &value).text);
    assert_int_equal(value.shape[0], 2);
    value.bytes.size = 11;
    assert_non_null(sl_source_value(&field, &value).text);
}

TEST(side_columns_keep_rows)
{
    enum { ROWS = 5000 };
    sl_side_columns columns = {.count = 0};
    sl_side_columns all = {.count = 0};
    sl_value value;
    enum { INTS, TEXTS };
    const sl_field fields[] = {{.name = "i", .type = SLUICE_FIELD_INT},
                               {.name = "t", .type = SLUICE_FIELD_TEXT}};
    assert_int_equal(sl_side_columns_open(&columns, fields, 2, NULL), SLUICE_OK);
    assert_int_equal(sl_side_columns_open(&all, fields, 2, NULL), SLUICE_OK);
    char text[16];
    for (int i = 0; i < ROWS; i++) {
        const int length = snprintf(text, sizeof(text), "%d", i);
        value = (sl_value){.present = i % 3 != 0, .integer = -i};
        assert_int_equal(sl_side_columns_put(&columns, INTS, &value, NULL), SLUICE_OK);
        value.bytes = (sl_bytes){(const uint8_t *)text, i % 5 == 0 ? 0 : (size_t)length};
        assert_int_equal(sl_side_columns_put(&columns, TEXTS, &value, NULL), SLUICE_OK);
    }
    for (int times = 0; times < 2; times++) {
        assert_int_equal(sl_side_columns_append(&all, &columns, NULL), SLUICE_OK);
    }
    sl_side_columns_close(&columns);
    for (uint64_t row = 0; row < (uint64_t)2 * ROWS; row++) {
        const int i = (int)(row % ROWS);
        const int length = snprintf(text, sizeof(text), "%d", i);
        assert_null(sl_side_columns_get(&all, INTS, row, &value).text);
        assert_int_equal(value.present, i % 3 != 0);
        assert_int_equal(value.integer, i % 3 != 0 ? -i : 0);
        assert_null(sl_side_columns_get(&all, TEXTS, row, &value).text);
        assert_int_equal(value.bytes.size, i % 3 != 0 && i % 5 != 0 ? length : 0);
        assert_memory_equal(value.bytes.data, text, value.bytes.size);
    }
    sl_side_columns_close(&all);
}

static sluice_status load(const char *text, json_t **root, sluice_error *error)
{
    sl_json_tree tree;
    char path[] = "/tmp/json-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    sl_error_clear(error);
    const sluice_status status = sl_json_load(&tree, path, error);
    *root = tree.root;
    (void)unlink(path);
    return status;
}

TEST(json_is_read)
{
    json_t *root;
    sluice_error error;
    uint64_t count;
    assert_int_equal(load("{\"a\": \"x\", \"n\": 7, \"m\": -1, \"z\": null}", &root, &error),
                     SLUICE_OK);
    assert_string_equal(sl_json_text(root, "a"), "x");
    assert_null(sl_json_text(root, "n"));
    assert_true(sl_json_count(root, "n", &count) && count == 7);
    assert_false(sl_json_count(root, "m", &count));
    assert_null(sl_json_member(root, "z"));
    assert_null(sl_json_member(NULL, "z"));
    json_decref(root);
    assert_int_equal(load("{\"a\":\n x}", &root, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "line 2"));
    assert_int_equal(load("{\"a\": 1, \"a\": 2}", &root, &error), SLUICE_CORRUPT);
    assert_int_equal(load("", &root, &error), SLUICE_CORRUPT);
    assert_null(root);
}

/* A tree takes many times the memory of its text. */
TEST(json_that_is_too_large)
{
    sl_json_tree tree;
    sluice_error error;
    char path[] = "/tmp/json-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (INT64_C(128) << 20) + 1), 0);
    (void)close(fd);
    sl_error_clear(&error);
    assert_int_equal(sl_json_load(&tree, path, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "limit of 134217728"));
    assert_null(tree.root);
    (void)unlink(path);
}
