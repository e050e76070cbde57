/* SPDX-License-Identifier: Apache-2.0 */
/* Tests decoding one image of one sample: sizes first, then pixels, which equal Pillow's; raw
 * pixels as written; errors, and the report of a damaged image. */
#include "dataset_checks.h"
#include "photo_folder.h"
#include "pillow.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 2, PER_CLASS = 3, PHOTOS = CLASSES * PER_CLASS };

static photo_folder photos;

/* Returns the pixels, malloc'd, after asking for their size. */
static uint8_t *decode(const sluice_dataset *dataset, uint64_t index, sluice_pixels *pixels)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_decode(dataset, index, "image", pixels, &error), SLUICE_AGAIN);
    pixels->capacity = (size_t)pixels->width * pixels->height * 3;
    pixels->buffer = malloc(pixels->capacity + 1);
    assert_non_null(pixels->buffer);
    pixels->buffer[pixels->capacity] = 0xA5;
    assert_int_equal(sluice_dataset_decode(dataset, index, "image", pixels, &error), SLUICE_OK);
    assert_int_equal(pixels->buffer[pixels->capacity], 0xA5);
    return pixels->buffer;
}

static void give_file(pillow *oracle, uint32_t number, const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    assert_true(size > 0 && size < sizeof(bytes));
    assert_int_equal(fclose(file), 0);
    pillow_input(oracle, number, bytes, size);
}

TEST(pixels_are_those_that_pillow_decodes)
{
    pillow oracle;
    uint32_t questions[PHOTOS];
    sluice_dataset *dataset = dataset_opened(photos.path);
    pillow_open(&oracle);
    for (uint32_t i = 0; i < PHOTOS; i++) {
        char path[512];
        photo_folder_file(&photos, i, path, sizeof(path));
        give_file(&oracle, i, path);
        questions[i] = pillow_ask(&oracle, "decode %u 0", i);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < PHOTOS; i++) {
        sluice_pixels pixels = SLUICE_PIXELS_INIT;
        uint8_t *own = decode(dataset, i, &pixels);
        uint8_t *expected = malloc(pixels.capacity);
        assert_non_null(expected);
        pillow_answer(&oracle, questions[i], expected, pixels.capacity);
        assert_memory_equal(own, expected, pixels.capacity);
        free(expected);
        free(own);
    }
    pillow_close(&oracle);
    sluice_dataset_close(dataset);
}

TEST(a_buffer_that_is_too_small_is_left_alone)
{
    sluice_dataset *dataset = dataset_opened(photos.path);
    uint8_t bytes[64];
    sluice_pixels pixels = SLUICE_PIXELS_INIT;
    memset(bytes, 0x5A, sizeof(bytes));
    pixels.buffer = bytes;
    pixels.capacity = sizeof(bytes) - 1;
    assert_int_equal(sluice_dataset_decode(dataset, 1, "image", &pixels, NULL), SLUICE_AGAIN);
    assert_true(pixels.width > 0 && pixels.height > 0);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        assert_int_equal(bytes[i], 0x5A);
    }
    sluice_dataset_close(dataset);
}

static void add(sluice_writer *writer, const uint8_t *image, size_t bytes, uint32_t width,
                uint32_t height)
{
    sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
    values[0].integer = 7;
    values[1].absent = image == NULL;
    values[1].data = image;
    values[1].bytes = bytes;
    values[1].raw_width = width;
    values[1].raw_height = height;
    assert_int_equal(sluice_writer_add_values(writer, values, 2, NULL), SLUICE_OK);
}

/* An image of 2 x 3 raw pixels, and a sample without one. */
static void write_raw(const char *path, const uint8_t pixels[18])
{
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    (void)snprintf(fields[0].name, sizeof(fields[0].name), "number");
    fields[0].type = SLUICE_FIELD_INT;
    (void)snprintf(fields[1].name, sizeof(fields[1].name), "image");
    fields[1].type = SLUICE_FIELD_IMAGE;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 2;
    sluice_writer *writer = NULL;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    add(writer, pixels, 18, 2, 3);
    add(writer, NULL, 0, 0, 0);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

TEST(raw_pixels_and_no_picture)
{
    char folder[256];
    uint8_t written[18];
    for (uint8_t i = 0; i < 18; i++) {
        written[i] = (uint8_t)(i * 13);
    }
    temporary_directory(folder, sizeof(folder));
    write_raw(folder, written);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_pixels pixels = SLUICE_PIXELS_INIT;
    uint8_t *own = decode(dataset, 0, &pixels);
    assert_int_equal(pixels.width, 2);
    assert_int_equal(pixels.height, 3);
    assert_memory_equal(own, written, sizeof(written));
    assert_int_equal(sluice_dataset_decode(dataset, 1, "image", &pixels, NULL), SLUICE_OK);
    assert_int_equal(pixels.width, 0);
    assert_int_equal(pixels.height, 0);
    free(own);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

static void expect(const sluice_dataset *dataset, uint64_t index, const char *field,
                   const sluice_pixels *given, sluice_status status, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pixels pixels = *given;
    assert_int_equal(sluice_dataset_decode(dataset, index, field, &pixels, &error), status);
    assert_int_equal(error.status, status);
    if (strstr(error.text, words) == NULL) {
        fail_msg("%s: %s", words, error.text);
    }
}

TEST(what_is_refused)
{
    sluice_dataset *dataset = dataset_opened(photos.path);
    const sluice_pixels good = SLUICE_PIXELS_INIT;
    sluice_pixels bad = good;
    expect(dataset, PHOTOS, "image", &good, SLUICE_INVALID, "sample 6");
    expect(dataset, 0, "label", &good, SLUICE_INVALID, "image field \"label\"");
    expect(dataset, 0, "none", &good, SLUICE_INVALID,
           "unknown image field \"none\": the image fields are image");
    expect(NULL, 0, "image", &good, SLUICE_INVALID, "dataset");
    bad.exif = 3;
    expect(dataset, 0, "image", &bad, SLUICE_INVALID, "exif");
    bad = good;
    bad.capacity = 1;
    expect(dataset, 0, "image", &bad, SLUICE_INVALID, "buffer");
    bad = good;
    bad.max_pixels = (UINT64_C(1) << 32) + 1;
    expect(dataset, 0, "image", &bad, SLUICE_INVALID, "max_pixels");
    bad.max_pixels = 10;
    expect(dataset, 0, "image", &bad, SLUICE_UNSUPPORTED, "pixels");
    bad.struct_size = 3;
    expect(dataset, 0, "image", &bad, SLUICE_INVALID, "sluice_pixels");
    assert_int_equal(sluice_dataset_decode(dataset, 0, "image", NULL, NULL), SLUICE_INVALID);
    sluice_dataset_close(dataset);
}

TEST(a_damaged_one_is_named)
{
    char path[512];
    photo_folder cut;
    sluice_error error = SLUICE_ERROR_INIT;
    static uint8_t capacity[1 << 20];
    sluice_pixels pixels = SLUICE_PIXELS_INIT;
    pixels.buffer = capacity;
    pixels.capacity = sizeof(capacity);
    photo_folder_make(&cut, 1, 2);
    photo_folder_file(&cut, 1, path, sizeof(path));
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    write_file(path, bytes, (uint32_t)size / 2);
    sluice_dataset *dataset = dataset_opened(cut.path);
    assert_int_equal(sluice_dataset_decode(dataset, 1, "image", &pixels, &error), SLUICE_CORRUPT);
    assert_string_equal(error.file, path);
    assert_int_equal(error.sample, 1);
    assert_true(error.offset > 0 && error.offset <= (int64_t)size / 2);
    sluice_dataset_close(dataset);
    photo_folder_remove(&cut);
}

int main(int argc, char **argv)
{
    const int unavailable = pillow_begin(argc, argv);
    if (unavailable != 0) {
        return unavailable;
    }
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    const int failed = test_run(NULL, NULL);
    photo_folder_remove(&photos);
    return failed;
}
