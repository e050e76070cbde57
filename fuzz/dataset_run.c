/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset_run.h"

#include "checksum.h"
#include "dataset.h"
#include "jpeg_make.h"
#include "little_endian.h"
#include "photo_folder.h"

#include <sluice/sluice.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM          4096
#define IMAGE_ROOM    ((size_t)1 << 16)
#define SAMPLES_ASKED 8u

static char root[ROOM / 2];
static char sound[FUZZ_DATASETS][ROOM];
static char suspect[ROOM];

static void remove_root(void)
{
    remove_tree(root);
}

static void add_sample(sluice_writer *writer, unsigned number)
{
    static const jpeg_options grey = {.colour = JPEG_GREY};
    uint8_t pixels[16 * 16 * 3] = {0};
    char key[32];
    snprintf(key, sizeof(key), "class%u/photo%u.jpg", number % 2, number);
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.label = number % 2;
    sample.key = key;
    jpeg_file file = jpeg_make_pattern(9 + number, 8, number, number % 2 ? &grey : NULL);
    sample.image = file.data;
    sample.image_bytes = file.size;
    if (number % 3 == 2) {
        sample.image = pixels;
        sample.image_bytes = sizeof(pixels);
        sample.raw_width = sample.raw_height = 16;
    }
    fuzz_expect(sluice_writer_add(writer, &sample, NULL) == SLUICE_OK, "a sample is added");
    jpeg_free(&file);
}

/* An image of one or two pixels. */
static void add_tiny(sluice_writer *writer, unsigned number)
{
    static const uint8_t pixels[6];
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.image = pixels;
    sample.image_bytes = 3 + 3 * (number % 2);
    sample.raw_width = 1 + number % 2;
    sample.raw_height = 1;
    fuzz_expect(sluice_writer_add(writer, &sample, NULL) == SLUICE_OK, "a sample is added");
}

enum { VALUES = 5 };

/* An image, a tensor of a fixed shape and one of any shape, a text and a number; some are
 * absent. */
static void add_values(sluice_writer *writer, unsigned number)
{
    static const uint8_t data[4096] = {1, 2, 3};
    sluice_value values[VALUES];
    for (unsigned i = 0; i < VALUES; i++) {
        values[i] = (sluice_value)SLUICE_VALUE_INIT;
        values[i].data = data;
        values[i].absent = number > 0 && number % VALUES == i;
    }
    values[0].bytes = 12;
    values[0].raw_width = values[0].raw_height = 2;
    values[1].bytes = 24;
    values[2].shape[0] = 2;
    values[2].shape[2] = 40 + number;
    values[2].bytes = (uint64_t)2 * 3 * 8 * (40 + number);
    values[3].bytes = number;
    values[4].number = number;
    fuzz_expect(sluice_writer_add_values(writer, values, VALUES, NULL) == SLUICE_OK,
                "values are added");
}

static void add_row(sluice_writer *writer, unsigned number)
{
    const unsigned row[4] = {number, 1, 2, 3};
    sluice_value value = SLUICE_VALUE_INIT;
    value.data = row;
    value.bytes = sizeof(row);
    fuzz_expect(sluice_writer_add_values(writer, &value, 1, NULL) == SLUICE_OK, "a row is added");
}

static sluice_field make_field(const char *name, sluice_field_type type, sluice_dtype dtype)
{
    sluice_field field = SLUICE_FIELD_INIT;
    snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = (int32_t)type;
    field.dtype = (int32_t)dtype;
    return field;
}

/* The contents of the datasets: images, plain and as zstd frames; more samples than one index block
 * locates; fields of all kinds; samples of one size. */
static const struct {
    unsigned samples, fields;
    int32_t zstd_level;
    void (*add)(sluice_writer *writer, unsigned number);
} made[] = {
    {4, 0, SLUICE_ZSTD_OFF, add_sample}, {4, 0, 3, add_sample}, {510, 0, 0, add_tiny},
    {6, VALUES, 3, add_values},          {3, 1, 0, add_row},
};
enum { MADE = sizeof(made) / sizeof(made[0]) };

static void make_sound(unsigned index)
{
    static const char *const classes[] = {"cat", "dog"};
    sluice_field fields[VALUES] = {
        make_field("picture", SLUICE_FIELD_IMAGE, SLUICE_U8),
        make_field("fixed", SLUICE_FIELD_TENSOR, SLUICE_F32),
        make_field("open", SLUICE_FIELD_TENSOR, SLUICE_F64),
        make_field("text", SLUICE_FIELD_TEXT, SLUICE_U8),
        make_field("score", SLUICE_FIELD_FLOAT, SLUICE_U8),
    };
    const sluice_field row = {.struct_size = sizeof(row),
                              .type = SLUICE_FIELD_TENSOR,
                              .dtype = SLUICE_I32,
                              .dims = 1,
                              .shape = {4},
                              .name = "row"};
    fields[1].dims = 2;
    fields[1].shape[0] = 2;
    fields[1].shape[1] = 3;
    fields[2].dims = 3;
    fields[2].shape[1] = 3;
    fields[2].role = SLUICE_ROLE_POINTS;
    fields[2].coordinates = SLUICE_COORDINATES_INDICES;
    fields[3].role = SLUICE_ROLE_SHAPES;
    fields[3].orientation = SLUICE_ORIENTATION_UPRIGHT;
    snprintf(fields[3].of, sizeof(fields[3].of), "picture");
    snprintf(sound[index], sizeof(sound[index]), "%s/sound%u", root, index);
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.classes = classes;
    options.class_count = 2;
    options.zstd_level = made[index].zstd_level;
    options.fields = made[index].fields == 1 ? &row : made[index].fields > 1 ? fields : NULL;
    options.field_count = made[index].fields;
    sluice_writer *writer = NULL;
    fuzz_expect(sluice_writer_open(&writer, sound[index], &options, NULL) == SLUICE_OK, "a writer");
    for (unsigned number = 0; number < made[index].samples; number++)
        made[index].add(writer, number);
    fuzz_expect(sluice_writer_finish(writer, NULL) == SLUICE_OK, "a dataset is finished");
}

static void make_all(void)
{
    if (root[0])
        return;
    temporary_directory(root, sizeof(root));
    atexit(remove_root);
    snprintf(suspect, sizeof(suspect), "%s/suspect", root);
    fuzz_expect(mkdir(suspect, 0700) == 0, "a folder can be made");
    for (unsigned index = 0; index < MADE; index++)
        make_sound(index);
    /* and files of version 1 of the format */
    _Static_assert(FUZZ_DATASETS == MADE + 2, "all datasets are made or were");
    snprintf(sound[MADE], sizeof(sound[MADE]), FUZZ_BEFORE "/shards");
    snprintf(sound[MADE + 1], sizeof(sound[MADE + 1]), FUZZ_BEFORE "/pixels");
}

size_t fuzz_dataset_file(unsigned index, const char *name, uint8_t *buffer)
{
    char path[2 * ROOM];
    make_all();
    snprintf(path, sizeof(path), "%s/%s", sound[index], name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, FUZZ_INPUT_MAX);
    close(fd);
    fuzz_expect(got > 0, "a sound dataset can be read");
    return (size_t)got;
}

const char *fuzz_suspect_folder(unsigned index)
{
    static unsigned copied = FUZZ_DATASETS;
    static uint8_t buffer[FUZZ_INPUT_MAX];
    make_all();
    if (copied != index) {
        copied = index;
        fuzz_suspect_write(FUZZ_SHARD, buffer, fuzz_dataset_file(index, FUZZ_SHARD, buffer));
    }
    return suspect;
}

void fuzz_suspect_write(const char *name, const uint8_t *data, size_t size)
{
    char path[2 * ROOM];
    make_all();
    snprintf(path, sizeof(path), "%s/%s", suspect, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_expect(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file can be written");
    close(fd);
}

static void expect_reason(sluice_status status, const sluice_error *error)
{
    fuzz_expect(status >= 0 || error->text[0] != '\0', "an error has a text");
}

static void ask_sample(const sluice_dataset *dataset, uint64_t index)
{
    static uint8_t image[IMAGE_ROOM];
    sluice_sample_info info = {.struct_size = sizeof(info)};
    sluice_error error = SLUICE_ERROR_INIT;
    size_t bytes = 0;
    expect_reason(sluice_dataset_get_sample(dataset, index, &info, &error), &error);
    sluice_status status =
        sluice_dataset_read(dataset, index, "image", image, sizeof(image), &bytes, &error);
    expect_reason(status, &error);
    fuzz_expect(status != SLUICE_OK || bytes <= sizeof(image), "an image fits where it was put");
}

/* Reads all fields by name. */
static void ask_fields(const sluice_dataset *dataset, uint64_t index)
{
    static uint8_t value[IMAGE_ROOM];
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        size_t bytes = 0;
        const sluice_status status =
            sluice_dataset_read(dataset, index, field.name, value, sizeof(value), &bytes, &error);
        expect_reason(status, &error);
        fuzz_expect(status != SLUICE_OK || bytes <= sizeof(value), "a value fits");
    }
}

/* If the format gives the positions of tensors for windows: checks that they are inside their
 * files. */
static void ask_places(const sluice_dataset *dataset, uint64_t index)
{
    const sl_dataset *own = (const sl_dataset *)(const void *)dataset;
    for (uint32_t i = 0; own->tensors != NULL && i < own->info.fields; i++) {
        sl_place place;
        sluice_error error = SLUICE_ERROR_INIT;
        if (own->fields[i].type != SLUICE_FIELD_TENSOR)
            continue;
        const sluice_status status = sl_dataset_find_field(own, index, i, &place, &error);
        expect_reason(status, &error);
        if (status == SLUICE_OK) {
            const uint64_t bytes = sl_objects_bytes(own->objects, place.object);
            fuzz_expect(bytes == 0 ||
                            (place.offset <= bytes && place.bytes <= bytes - place.offset),
                        "a tensor lies in its file");
        }
    }
}

void fuzz_dataset_run(const char *path)
{
    fuzz_dataset_run_with(path, NULL);
}

void fuzz_dataset_run_with(const char *path, const sluice_dataset_options *asked)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sluice_dataset_open(&dataset, &path, 1, asked, &error);
    expect_reason(status, &error);
    if (status != SLUICE_OK)
        return;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    fuzz_expect(sluice_dataset_get_info(dataset, &info) == SLUICE_OK, "info is available");
    fuzz_expect(info.samples > 0, "an open dataset has samples");
    for (uint64_t i = 0; i < SAMPLES_ASKED; i++) {
        ask_sample(dataset, i * (info.samples - 1) / (SAMPLES_ASKED - 1));
        ask_fields(dataset, i * (info.samples - 1) / (SAMPLES_ASKED - 1));
        ask_places(dataset, i * (info.samples - 1) / (SAMPLES_ASKED - 1));
    }
    (void)sluice_dataset_class_name(dataset, info.classes);
    sluice_verify_options options = {.struct_size = sizeof(options), .workers = 1};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    expect_reason(sluice_dataset_verify(dataset, &options, &result, &error), &error);
    sluice_dataset_close(dataset);
}

void fuzz_seal(uint8_t *data, size_t size, uint64_t from, uint64_t bytes, uint64_t at)
{
    if (from <= size && bytes <= size - from && at <= size && size - at >= 8)
        sl_store64(data + at, sl_checksum(data + from, (size_t)bytes));
}
