/* SPDX-License-Identifier: Apache-2.0 */
#include "packed.h"

#include "jpeg_make.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(sluice_status status, const sluice_error *error)
{
    char text[1200];
    if (status != SLUICE_OK) {
        (void)sluice_error_format(error, text, sizeof(text));
        (void)fprintf(stderr, "packed_make: %s\n", text);
        abort();
    }
}

static void add_raw(sluice_writer *writer, uint64_t i, sl_picture_input *input)
{
    sluice_error error = SLUICE_ERROR_INIT;
    input->raw = true;
    input->width = 3 + (uint32_t)(i % 5);
    input->height = 4 + (uint32_t)(i % 3);
    input->image.size = (size_t)input->width * input->height * 3;
    uint8_t *pixels = malloc(input->image.size);
    memset(pixels, (int)(i % 251), input->image.size);
    pixels[0] = (uint8_t)(i >> 8);
    input->image.data = pixels;
    must(sl_writer_add_picture(writer, input, &error), &error);
    free(pixels);
}

static void add_jpeg(sluice_writer *writer, uint64_t i, sl_picture_input *input)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const jpeg_options how = {.quality = 60};
    jpeg_file file =
        jpeg_make_pattern(8 + (uint32_t)(i % 9), 8 + (uint32_t)(i % 7), (uint32_t)i, &how);
    input->image = (sl_bytes){file.data, file.size};
    must(sl_writer_add_picture(writer, input, &error), &error);
    jpeg_free(&file);
}

static void add_samples(sluice_writer *writer, const packed_options *options)
{
    for (uint64_t i = 0; i < options->samples; i++) {
        char key[64];
        const uint64_t label = options->classes > 0 ? i % options->classes : 0;
        (void)snprintf(key, sizeof(key), "c%llu/p%llu.jpg", (unsigned long long)label,
                       (unsigned long long)i);
        sl_picture_input input = {.label = options->classes > 0 ? (int64_t)label : -1,
                                  .key = i % 10 == 9 ? "" : key};
        if (options->raw_every > 0 && i % options->raw_every == 0) {
            add_raw(writer, i, &input);
        } else {
            add_jpeg(writer, i, &input);
        }
    }
}

void packed_make(const char *path, const packed_options *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer *writer;
    char names[64][16];
    const char *classes[64];
    for (uint32_t i = 0; i < options->classes; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "class%u", i);
        classes[i] = names[i];
    }
    sluice_writer_options how = SLUICE_WRITER_OPTIONS_INIT;
    how.shard_bytes = options->shard_bytes > 0 ? options->shard_bytes : UINT64_MAX;
    how.zstd_level = options->zstd_level;
    how.classes = classes;
    how.class_count = options->classes;
    how.overwrite = 1;
    how.keep_bytes = 1; /* these datasets are about shards */
    how.field_count = SL_STANDARD_FIELDS;
    must(sl_writer_open(&writer, path, &how, sl_standard_fields, &error), &error);
    add_samples(writer, options);
    must(sl_writer_finish(writer, &error), &error);
}
