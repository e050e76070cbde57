/* SPDX-License-Identifier: Apache-2.0 */
/* Tests errors of a writer with custom fields, and callers whose structs have other sizes. */
#include "jpeg_make.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sluice_field make_field(const char *name, sluice_field_type type)
{
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = (int32_t)type;
    field.dtype = SLUICE_F32;
    return field;
}

static sluice_writer *open_writer(const sluice_field *fields, uint32_t count)
{
    sluice_writer *writer;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = count;
    options.overwrite = 1;
    if (sluice_writer_open(&writer, test_folder(), &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return writer;
}

static void expect_no_writer(const sluice_field *fields, uint32_t count, const char *why)
{
    sluice_writer *writer;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = count;
    assert_int_equal(sluice_writer_open(&writer, test_folder(), &options, &error), SLUICE_INVALID);
    assert_null(writer);
    if (strstr(error.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, why);
    }
}

TEST(fields_that_cannot_be_are_refused)
{
    static sluice_field many[10000];
    for (uint32_t i = 0; i < 10000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "f%u", i);
        many[i] = make_field(name, SLUICE_FIELD_INT);
    }
    sluice_writer_abort(open_writer(many, 64));
    expect_no_writer(many, 65, "65");
    expect_no_writer(many, 10000, "10000");
    expect_no_writer(many, 0, "1 to 64");
    expect_no_writer(NULL, 1, "fields");
    sluice_field field = make_field("bad name", SLUICE_FIELD_INT);
    expect_no_writer(&field, 1, "name");
    field = make_field("x", (sluice_field_type)9);
    expect_no_writer(&field, 1, "type");
    field = make_field("x", SLUICE_FIELD_TENSOR);
    field.dims = 9;
    expect_no_writer(&field, 1, "dims");
    field.dims = 1;
    field.shape[0] = -1;
    expect_no_writer(&field, 1, "2^31 - 1");
    field = make_field("x", SLUICE_FIELD_INT);
    field.reserved = 1;
    expect_no_writer(&field, 1, "reserved");
    field = make_field("x", SLUICE_FIELD_INT);
    field.struct_size = 0;
    expect_no_writer(&field, 1, "struct_size");
}

static void expect_no_value(sluice_writer *writer, const sluice_value *value, uint32_t count,
                            const char *why)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = sluice_writer_add_values(writer, value, count, &error);
    if (status != SLUICE_INVALID || strstr(error.text, why) == NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", sluice_status_name(status), error.text, why);
    }
}

/* Adds the good sample and reads its bytes. */
static void expect_one(sluice_writer *writer, const sluice_value *good)
{
    uint8_t got[64];
    size_t bytes;
    const char *path = test_folder();
    sluice_dataset *dataset;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_writer_add_values(writer, good, 1, NULL), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 1);
    assert_int_equal(sluice_dataset_read(dataset, 0, "x", got, sizeof(got), &bytes, NULL),
                     SLUICE_OK);
    assert_int_equal(bytes, good->bytes);
    assert_memory_equal(got, good->data, bytes);
    sluice_dataset_close(dataset);
}

TEST(tensors_have_the_shape_they_say)
{
    static const float data[12];
    sluice_field field = make_field("x", SLUICE_FIELD_TENSOR);
    field.dims = 2;
    field.shape[0] = 3;
    field.shape[1] = 4;
    sluice_writer *writer = open_writer(&field, 1);
    sluice_value value = SLUICE_VALUE_INIT;
    expect_no_value(writer, &value, 0, "0 values for 1");
    expect_no_value(writer, &value, 2, "2 values for 1");
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.bytes = sizeof(data);
    expect_no_value(writer, &value, 1, "data");
    value.data = data;
    value.bytes = sizeof(data) - 1;
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.bytes = sizeof(data);
    value.shape[1] = 3;
    expect_no_value(writer, &value, 1, "shape");
    value.shape[1] = -4;
    expect_no_value(writer, &value, 1, "shape");
    value.shape[1] = 4;
    value.absent = 2;
    expect_no_value(writer, &value, 1, "absent");
    value.absent = 0;
    expect_one(writer, &value);

    field.shape[0] = 0; /* the bytes determine it */
    writer = open_writer(&field, 1);
    value.shape[1] = 0;
    value.bytes = 15;
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.shape[0] = 2;
    value.bytes = 48;
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.shape[0] = INT64_MAX;
    expect_no_value(writer, &value, 1, "dimension");
    value.shape[0] = UINT32_MAX;
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.shape[0] = 0;
    expect_one(writer, &value);

    field.shape[1] = 0; /* two variable ones must be given */
    writer = open_writer(&field, 1);
    expect_no_value(writer, &value, 1, "the tensor's shape");
    value.shape[0] = 12;
    value.shape[1] = 1;
    expect_one(writer, &value);
}

TEST(pictures_and_keys_are_checked)
{
    char key[5000];
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_field fields[] = {make_field("a", SLUICE_FIELD_IMAGE),
                                   make_field("b", SLUICE_FIELD_IMAGE),
                                   make_field("key", SLUICE_FIELD_TEXT)};
    sluice_writer *writer = open_writer(fields, 3);
    jpeg_file file = jpeg_make_pattern(20, 20, 1, NULL);
    sluice_value good[3] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
    good[0].data = file.data;
    good[0].bytes = file.size;
    good[1].data = "raw pixels!!";
    good[1].bytes = 12;
    good[1].raw_width = 2;
    good[1].raw_height = 2;
    good[2].data = key;
    good[2].bytes = 4095;
    memset(key, 'k', sizeof(key));
    sluice_value values[3];
    memcpy(values, good, sizeof(good));
    values[0].bytes /= 2;
    assert_int_equal(sluice_writer_add_values(writer, values, 3, &error), SLUICE_CORRUPT);
    values[0].bytes = 0;
    assert_int_equal(sluice_writer_add_values(writer, values, 3, &error), SLUICE_CORRUPT);
    memcpy(values, good, sizeof(good));
    values[1].raw_height = 3;
    expect_no_value(writer, values, 3, "raw image");
    values[1].raw_height = 0;
    expect_no_value(writer, values, 3, "must be set together");
    memcpy(values, good, sizeof(good));
    values[2].bytes = 4096;
    expect_no_value(writer, values, 3, "key");
    values[2].bytes = 5;
    key[2] = '\0';
    expect_no_value(writer, values, 3, "NUL");
    key[2] = 'k';
    assert_int_equal(sluice_writer_add_values(writer, good, 3, NULL), SLUICE_OK);
    const sluice_writer_sample sample = {
        .struct_size = sizeof(sample), .image = file.data, .image_bytes = file.size, .label = 1};
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_STATE);
    assert_int_equal(sluice_writer_add_values(NULL, good, 3, &error), SLUICE_INVALID);
    assert_int_equal(sluice_writer_add_values(writer, NULL, 3, &error), SLUICE_INVALID);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    jpeg_free(&file);
}

/* Image, label and key, as sluice_writer_add takes them. */
TEST(values_fit_a_writer_without_fields_too)
{
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, test_folder(), &options, NULL), SLUICE_OK);
    sluice_value values[3] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
    values[0].data = "RGB";
    values[0].bytes = 3;
    values[0].raw_width = 1;
    values[0].raw_height = 1;
    values[1].integer = 7;
    values[2].absent = 1;
    assert_int_equal(sluice_writer_add_values(writer, values, 3, NULL), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    sluice_dataset *dataset;
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    const char *path = test_folder();
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, NULL), SLUICE_OK);
    assert_int_equal(info.label, 7);
    assert_int_equal(info.width, 1);
    assert_string_equal(info.key, "");
    sluice_dataset_close(dataset);
}

/* A program built against an older header (shorter structs) and a newer one (longer). */
TEST(arrays_carry_their_stride)
{
    struct newer_field {
        sluice_field field;
        uint64_t later;
    } fields[2] = {{make_field("n", SLUICE_FIELD_INT), 0},
                   {make_field("x", SLUICE_FIELD_BYTES), 0}};
    fields[0].field.struct_size = sizeof(fields[0]);
    fields[1].field.struct_size = sizeof(fields[0]);
    sluice_writer *writer = open_writer(&fields[0].field, 2);
    enum { SHORT = offsetof(sluice_value, number) };
    uint8_t bytes[2 * SHORT];
    sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
    values[0].struct_size = SHORT;
    values[1].struct_size = SHORT;
    values[0].integer = -3;
    values[1].data = "bytes";
    values[1].bytes = 5;
    memcpy(bytes, &values[0], SHORT);
    memcpy(bytes + SHORT, &values[1], SHORT);
    sluice_value aligned[2];
    memcpy(aligned, bytes, sizeof(bytes));
    assert_int_equal(sluice_writer_add_values(writer, aligned, 2, NULL), SLUICE_OK);
    struct newer_value {
        sluice_value value;
        uint64_t later;
    } longer[2] = {{SLUICE_VALUE_INIT, 0}, {SLUICE_VALUE_INIT, 0}};
    longer[0].value.struct_size = sizeof(longer[0]);
    longer[1].value.struct_size = sizeof(longer[0]);
    longer[1].value.data = "more";
    longer[1].value.bytes = 4;
    assert_int_equal(sluice_writer_add_values(writer, &longer[0].value, 2, NULL), SLUICE_OK);
    longer[1].later = 1;
    assert_int_equal(sluice_writer_add_values(writer, &longer[0].value, 2, NULL),
                     SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    sluice_dataset *dataset;
    const char *path = test_folder();
    char got[8];
    size_t size;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_read(dataset, 0, "x", got, sizeof(got), &size, NULL),
                     SLUICE_OK);
    assert_memory_equal(got, "bytes", 5);
    assert_int_equal(sluice_dataset_read(dataset, 1, "x", got, sizeof(got), &size, NULL),
                     SLUICE_OK);
    assert_memory_equal(got, "more", 4);
    sluice_dataset_close(dataset);
}

TEST_GROUP(test_folder_make, test_folder_remove)
