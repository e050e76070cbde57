/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_retile: any bytes, re-tiled as a JPEG. Input: one byte (1: drop metadata; 2 and 4: MCUs per
 * interval; 8: the fastest form), then the image. An accepted image keeps its pixels, and re-tiling
 * it again gives the same file. */
#include "fuzz.h"

#include "decoder.h"
#include "jpeg_make.h"
#include "jpeg_range.h"
#include "jpeg_retile.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIXELS = 1 << 20, MAX_BYTES = 1 << 24, DROP = 1, TILES = 4, FASTEST = 8, WAYS = 16 };

/* They live as long as the program, like libFuzzer's targets. */
static sl_jpeg_retiler *shared_retiler(uint8_t flags)
{
    static sl_jpeg_retiler *retilers[FUZZ_LEVELS][WAYS];
    sl_jpeg_retiler **retiler = &retilers[fuzz_level()][flags % WAYS];
    if (*retiler == NULL) {
        const sl_jpeg_retile_options how = {.max_pixels = MAX_PIXELS,
                                            .max_bytes = MAX_BYTES,
                                            .tile_mcus = flags / 2 % TILES,
                                            .drop_metadata = flags & DROP,
                                            .fastest = flags & FASTEST};
        fuzz_expect(sl_jpeg_retiler_open(retiler, &how, NULL) == SLUICE_OK, "a retiler opens");
    }
    return *retiler;
}

static sl_decoder *shared_decoder(void)
{
    static sl_decoder *decoders[FUZZ_LEVELS];
    sl_decoder **decoder = &decoders[fuzz_level()];
    if (*decoder == NULL) {
        const sl_decoder_config config = {.max_pixels = MAX_PIXELS, .exif = SLUICE_EXIF_APPLY};
        fuzz_expect(sl_decoder_open(decoder, &config, NULL) == SLUICE_OK, "a decoder opens");
    }
    return *decoder;
}

/* Returns an FNV-1a hash of the upright pixels and their size; 0 if decoding fails. */
static uint64_t pixels_of(sl_bytes jpeg)
{
    const sl_value stored = {.bytes = jpeg};
    sl_picture picture;
    sl_image view;
    sl_decoder *decoder = shared_decoder();
    if (sl_decoder_open_picture(decoder, &stored, &picture, NULL) != SLUICE_OK)
        return 0;
    const sl_rect all = {0, 0, picture.width, picture.height};
    if (sl_decoder_decode(decoder, all, 0, 0, &view, NULL) != SLUICE_OK)
        return 0;
    uint64_t hash = (UINT64_C(14695981039346656037) ^ picture.width) + picture.height;
    for (uint32_t y = 0; y < picture.height; y++) {
        for (uint32_t x = 0; x < picture.width * 3; x++)
            hash = (hash ^ view.pixels[y * view.stride_bytes + x]) * UINT64_C(1099511628211);
    }
    return hash | 1;
}

static sluice_status retile(uint8_t flags, sl_bytes jpeg, sl_jpeg_outcome *outcome, sl_bytes *made)
{
    uint64_t memory;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_jpeg_retiler *retiler = shared_retiler(flags);
    *outcome = SL_JPEG_NONE;
    sluice_status status = sl_jpeg_retiler_begin(retiler, jpeg, &memory, &error);
    if (status == SLUICE_OK)
        status = sl_jpeg_retiler_run(retiler, outcome, made, &error);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "an error has a text");
    fuzz_expect(status != SLUICE_NOMEM, "the limits keep memory from running out");
    fuzz_expect(*outcome != SL_JPEG_DIFFERENT, "a written JPEG can be read back");
    return status;
}

static void check_made(uint8_t flags, sl_bytes made)
{
    sl_bytes again;
    sl_jpeg_outcome outcome;
    uint8_t *copy = malloc(made.size);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, made.data, made.size);
    const sluice_status status = retile(flags, (sl_bytes){copy, made.size}, &outcome, &again);
    const bool left = outcome == SL_JPEG_FAST && (flags & FASTEST);
    fuzz_expect(status == SLUICE_OK && (left || outcome == SL_JPEG_RETILED),
                "a re-tiled picture can be re-tiled");
    fuzz_expect(left || (again.size == made.size && memcmp(again.data, copy, made.size) == 0),
                "re-tiling twice changes nothing");
    free(copy);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    /* a copy of exact size, so that an overread is detected */
    uint8_t *copy = malloc(size - 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data + 1, size - 1);
    const sl_bytes jpeg = {copy, size - 1};
    sl_bytes made = {NULL, 0};
    sl_jpeg_outcome outcome;
    const sluice_status status = retile(data[0], jpeg, &outcome, &made);
    const uint64_t pixels = pixels_of(jpeg);
    fuzz_expect((pixels != 0) == (status == SLUICE_OK), "the decoder takes the same pictures");
    if (status == SLUICE_OK && outcome == SL_JPEG_RETILED) {
        fuzz_expect(pixels_of(made) == pixels || !jpeg_is_portable(jpeg.data, jpeg.size),
                    "re-tiling changes no pixel");
        check_made(data[0], made);
    }
    free(copy);
    return 0;
}

static const jpeg_options kinds[] = {
    {.restart_interval = 1},
    {.colour = JPEG_GREY, .orientation = 6},
    {.colour = JPEG_RGB},
    {.colour = JPEG_CMYK, .separate_scans = true},
    {.colour = JPEG_YCCK, .h_factor = 1, .v_factor = 2},
    {.progressive = true},
    {.h_factor = 4, .v_factor = 4, .separate_scans = true, .orientation = 3},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= 3 * KINDS)
        return 0;
    buffer[0] = (uint8_t)(index < 2 * KINDS ? index % FASTEST : FASTEST | (index & DROP));
    jpeg_file file = jpeg_make_pattern(37, 23, index, &kinds[index % KINDS]);
    memcpy(buffer + 1, file.data, file.size);
    const size_t size = 1 + file.size;
    jpeg_free(&file);
    return size;
}
