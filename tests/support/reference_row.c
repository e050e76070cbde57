/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_row.h"

#include "converter.h"
#include "decoder.h"
#include "error.h"
#include "recipe.h"
#include "whole_params.h"

#include <stdio.h>
#include <stdlib.h>

static size_t read_whole(const char *path, uint8_t **data)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        abort();
    }
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    *data = malloc(bytes + 64);
    if (*data == NULL || fread(*data, 1, bytes, file) != bytes) {
        abort();
    }
    fclose(file);
    return bytes;
}

static void must(sluice_status status)
{
    if (status != SLUICE_OK) {
        abort();
    }
}

// NOLINTNEXTLINE(readability-function-size): one step after the other
void reference_row(const photo_folder *photos, const sluice_loader_options *options, uint64_t epoch,
                   uint64_t index, void *row)
{
    char path[512];
    photo_folder_file(photos, (uint32_t)index, path, sizeof(path));
    sl_value stored = {.codec = SL_CODEC_BY_BYTES};
    uint8_t *data;
    stored.bytes.size = read_whole(path, &data);
    stored.bytes.data = data;

    sluice_error error;
    sl_error_clear(&error);
    const sl_decoder_config config = {.max_pixels = 1 << 20, .max_unpacked_bytes = 1 << 20};
    sl_decoder *decoder;
    sl_picture picture;
    WHOLE_PARAMS(params);
    sl_image view;
    sl_converter converter;
    const sl_draw_key key = {
        .seed = options->seed, .epoch = epoch, .sample = index, .exact = options->exact != 0};
    sluice_augment *recipe = setup_recipe(options->dtype != SLUICE_U8);
    must(sl_decoder_open(&decoder, &config, &error));
    must(sl_decoder_open_picture(decoder, &stored, &picture, &error));
    must(sl_draw(recipe, &key, picture.width, picture.height, &params, &error));
    uint32_t width = 0;
    uint32_t height = 0;
    if (options->exact == 0) {
        sl_mapping_least(&params.geometries[0].box, &params.need, &width, &height);
    }
    must(sl_decoder_decode(decoder, params.need, width, height, &view, &error));
    must(sl_converter_make(&converter, recipe, (sluice_dtype)options->dtype,
                           (sluice_layout)options->layout, &error));
    const sl_apply_work work = {.scratch = sl_decoder_scratch(decoder)};
    must(sl_augment_apply(&converter, &view, &params, &work, row, &error));
    sluice_augment_destroy(recipe);
    sl_decoder_close(decoder);
    free(data);
}
