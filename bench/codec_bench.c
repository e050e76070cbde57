/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_bench: measures the cost of an image of any codec in a worker: header and pixels.
 *   codec_bench FOLDER [ROUNDS]
 * Each round decodes all files below FOLDER (at most 20000) with each method in turn. Prints the
 * median over the rounds of the thread CPU milliseconds per image. "crop" is a random resized crop:
 * 0.08 to 1 of the area, aspect ratio 3/4 to 4/3. PNGs are also decoded by libpng alone, and by
 * libspng if the bench was built with it. bench/decoders.py also has Pillow and OpenCV.
 */
#include "clock.h"
#include "decoder.h"
#include "measure.h"
#include "memory.h"
#include "png_chunks.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SPNG
#    include <spng.h>
#endif

enum { PICTURES_MAX = 20000, ROUNDS_MAX = 101 };
#define MAX_PIXELS ((uint64_t)100000000)

typedef struct bench {
    sl_bytes files[PICTURES_MAX];
    size_t count;
    sl_decoder *decoder;
    uint8_t *pixels; /* for other libraries */
    uint64_t random; /* restarts in each round */
} bench;

static void check(bool good, const char *text)
{
    if (!good) {
        (void)fprintf(stderr, "codec_bench: %s\n", text);
        exit(1);
    }
}

static double draw(bench *b, double low, double high)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(b->random >> 11) / 9007199254740992.0;
}

static void ours(bench *b, sl_bytes bytes, bool crop)
{
    const sl_value stored = {.bytes = bytes};
    sl_picture picture;
    sl_image view;
    sluice_error error = SLUICE_ERROR_INIT;
    check(sl_decoder_open_picture(b->decoder, &stored, &picture, &error) == SLUICE_OK, error.text);
    sl_rect need = {0, 0, picture.width, picture.height};
    if (crop) {
        const double area = draw(b, 0.08, 1) * picture.width * picture.height;
        const double ratio = exp(draw(b, log(3.0 / 4), log(4.0 / 3)));
        need.width = (uint32_t)fmin(picture.width, fmax(1, sqrt(area * ratio)));
        need.height = (uint32_t)fmin(picture.height, fmax(1, sqrt(area / ratio)));
        need.x = (uint32_t)draw(b, 0, picture.width - need.width + 1);
        need.y = (uint32_t)draw(b, 0, picture.height - need.height + 1);
    }
    check(sl_decoder_decode(b->decoder, need, 0, 0, &view, &error) == SLUICE_OK, error.text);
}

static void whole(bench *b, sl_bytes bytes)
{
    ours(b, bytes, false);
}

static void part(bench *b, sl_bytes bytes)
{
    ours(b, bytes, true);
}

/* ---- other libraries ---- */

static void on_read(png_structp png, png_bytep to, size_t wanted)
{
    sl_bytes *rest = png_get_io_ptr(png);
    memcpy(to, rest->data, wanted);
    rest->data += wanted;
    rest->size -= wanted;
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void libpng(bench *b, sl_bytes bytes)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, on_warning);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &bytes, on_read);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    png_read_update_info(png, info);
    const size_t row = png_get_rowbytes(png, info);
    for (uint32_t y = 0; y < png_get_image_height(png, info); y++) {
        png_read_row(png, b->pixels + y * row, NULL);
    }
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
}

#ifdef HAVE_SPNG
static void libspng(bench *b, sl_bytes bytes)
{
    size_t size = 0;
    spng_ctx *spng = spng_ctx_new(0);
    spng_set_png_buffer(spng, bytes.data, bytes.size);
    spng_decoded_image_size(spng, SPNG_FMT_RGB8, &size);
    check(spng_decode_image(spng, b->pixels, size, SPNG_FMT_RGB8, 0) == 0, "libspng failed");
    spng_ctx_free(spng);
}
#endif

/* ---- rounds ---- */

typedef struct way {
    const char *name;
    void (*run)(bench *b, sl_bytes bytes);
    bool png_only;
} way;

static const way ways[] = {
    {"whole", whole, false},
    {"crop", part, false},
    {"libpng", libpng, true},
#ifdef HAVE_SPNG
    {"libspng", libspng, true},
#endif
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static double run(bench *b, const way *w)
{
    size_t taken = 0;
    b->random = 1;
    const uint64_t start = sl_thread_cpu_ns();
    for (size_t i = 0; i < b->count; i++) {
        if (!w->png_only || sl_png_probe(b->files[i])) {
            w->run(b, b->files[i]);
            taken++;
        }
    }
    const uint64_t end = sl_thread_cpu_ns();
    return taken > 0 ? (double)(end - start) * 1e-6 / (double)taken : 0;
}

int main(int argc, char **argv)
{
    static bench b;
    static double figures[WAYS][ROUNDS_MAX];
    const int rounds = bench_rounds(argc > 2 ? argv[2] : NULL, ROUNDS_MAX, 9);
    const sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 20, .exif = SLUICE_EXIF_IGNORE};
    check(argc > 1, "codec_bench FOLDER [ROUNDS]");
    b.count = bench_load(argv[1], b.files, PICTURES_MAX);
    b.pixels = sl_malloc(MAX_PIXELS * 4);
    check(b.pixels != NULL && sl_decoder_open(&b.decoder, &config, NULL) == SLUICE_OK, "no memory");
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < WAYS; i++) {
            figures[i][round] = run(&b, &ways[i]);
        }
    }
    for (int i = 0; i < WAYS; i++) {
        qsort(figures[i], (size_t)rounds, sizeof(double), bench_compare_figures);
        if (figures[i][rounds / 2] > 0) {
            printf("%-8s %.3f\n", ways[i].name, figures[i][rounds / 2]);
        }
    }
    return 0;
}
