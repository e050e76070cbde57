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

/* Dataset 0 is plain, 1 has zstd frames, 2 more samples than one index block holds. */
static void make_sound(unsigned index)
{
    static const char *const classes[] = {"cat", "dog"};
    snprintf(sound[index], sizeof(sound[index]), "%s/sound%u", root, index);
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.classes = classes;
    options.class_count = 2;
    options.zstd_level = index == 1 ? 3 : 0;
    sluice_writer *writer = NULL;
    fuzz_expect(sluice_writer_open(&writer, sound[index], &options, NULL) == SLUICE_OK, "a writer");
    for (unsigned number = 0; number < (index == 2 ? 70u : 4u); number++)
        add_sample(writer, number);
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
    for (unsigned index = 0; index < FUZZ_DATASETS; index++)
        make_sound(index);
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

void fuzz_dataset_run(const char *path)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sluice_dataset_open(&dataset, &path, 1, NULL, &error);
    expect_reason(status, &error);
    if (status != SLUICE_OK)
        return;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    fuzz_expect(sluice_dataset_get_info(dataset, &info) == SLUICE_OK, "info is there");
    fuzz_expect(info.samples > 0, "an open dataset has samples");
    for (uint64_t i = 0; i < SAMPLES_ASKED; i++)
        ask_sample(dataset, i * (info.samples - 1) / (SAMPLES_ASKED - 1));
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
