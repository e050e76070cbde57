/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_jpeg_bench: measures the cost of a small JPEG in a worker: its checksum (which also brings
 * its bytes into the cache), then its header, then its pixels.
 *   small_jpeg_bench DATASET [ROUNDS [WAY]]
 * Each round processes all images of the dataset (at most 20000) in each way in turn (or only in
 * the named one, for profilers), original and re-tiled. Prints the median over the rounds of the
 * thread CPU nanoseconds per image. "crop" is a random resized crop: 0.08 to 1 of the area, aspect
 * ratio 3/4 to 4/3.
 */
#include "checksum.h"
#include "clock.h"
#include "decoder.h"
#include "jpeg_retile.h"
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { PICTURES_MAX = 20000, ROUNDS_MAX = 101, PICTURE_BYTES = 64 << 20 };
#define MAX_PIXELS ((uint64_t)100000000)

typedef struct bench {
    sl_bytes plain[PICTURES_MAX], retiled[PICTURES_MAX]; /* the same bytes if kept unchanged */
    size_t count, kept;
    sl_decoder *decoder;
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    uint8_t row[65536 * 3];
    uint64_t sum;
    uint64_t random; /* restarts in each round */
} bench;

/* --- the ways --- */

static void checksum(bench *b, sl_bytes bytes)
{
    b->sum ^= sl_checksum(bytes.data, bytes.size);
}

static sl_picture open_picture(bench *b, sl_bytes bytes)
{
    sluice_error error;
    sl_picture picture;
    const sl_value stored = {.bytes = bytes};
    checksum(b, bytes);
    bench_check(sl_decoder_open_picture(b->decoder, &stored, &picture, &error), &error);
    return picture;
}

static void header(bench *b, sl_bytes bytes)
{
    (void)open_picture(b, bytes);
}

static void decode(bench *b, sl_rect need)
{
    sl_image view;
    sluice_error error;
    bench_check(sl_decoder_decode(b->decoder, need, 0, 0, &view, &error), &error);
}

static void whole(bench *b, sl_bytes bytes)
{
    const sl_picture picture = open_picture(b, bytes);
    decode(b, (sl_rect){0, 0, picture.width, picture.height});
}

/* 0 .. 1. */
static double draw(bench *b)
{
    b->random = b->random * 6364136223846793005U + 1442695040888963407U;
    return (double)(b->random >> 11) / (double)(UINT64_C(1) << 53);
}

static uint32_t part_of(uint32_t side, double part)
{
    const uint32_t size = (uint32_t)(side * part + 0.5);
    return size < 1 ? 1 : size < side ? size : side;
}

static void crop(bench *b, sl_bytes bytes)
{
    const sl_picture picture = open_picture(b, bytes);
    const double area = 0.08 + 0.92 * draw(b);
    const double aspect = pow(4.0 / 3, 2 * draw(b) - 1);
    const uint32_t width = part_of(picture.width, sqrt(area * aspect));
    const uint32_t height = part_of(picture.height, sqrt(area / aspect));
    const uint32_t x = (uint32_t)(draw(b) * (picture.width - width));
    const uint32_t y = (uint32_t)(draw(b) * (picture.height - height));
    decode(b, (sl_rect){x, y, width, height});
}

static void library(bench *b, sl_bytes bytes)
{
    JSAMPROW row = b->row;
    checksum(b, bytes);
    jpeg_mem_src(&b->cinfo, bytes.data, bytes.size);
    (void)jpeg_read_header(&b->cinfo, TRUE);
    b->cinfo.out_color_space = JCS_RGB;
    (void)jpeg_start_decompress(&b->cinfo);
    while (b->cinfo.output_scanline < b->cinfo.output_height) {
        (void)jpeg_read_scanlines(&b->cinfo, &row, 1);
    }
    jpeg_abort_decompress(&b->cinfo);
}

typedef struct way {
    const char *name;
    void (*run)(bench *b, sl_bytes bytes);
    bool retiled;
} way;

static const way ways[] = {
    {"libjpeg-turbo, whole, original", library, false},
    {"checksum, original", checksum, false},
    {"header, original", header, false},
    {"whole, original", whole, false},
    {"crop, original", crop, false},
    {"header, re-tiled", header, true},
    {"whole, re-tiled", whole, true},
    {"crop, re-tiled", crop, true},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* --- images --- */

static sl_bytes retiled(bench *b, sl_jpeg_retiler *retiler, sl_bytes plain)
{
    uint64_t memory = 0;
    sl_bytes made;
    sluice_error error;
    sl_jpeg_outcome outcome = SL_JPEG_NONE;
    bench_check(sl_jpeg_retiler_begin(retiler, plain, &memory, &error), &error);
    bench_check(sl_jpeg_retiler_run(retiler, &outcome, &made, &error), &error);
    if (outcome == SL_JPEG_RETILED) {
        return bench_copy(made);
    }
    b->kept++;
    return plain;
}

static void load(bench *b, const char *path, bool retile)
{
    sluice_error error;
    const sl_jpeg_retile_options options = {
        .max_pixels = MAX_PIXELS, .max_bytes = PICTURE_BYTES, .fastest = true};
    sl_jpeg_retiler *retiler = NULL;
    if (retile) {
        bench_check(sl_jpeg_retiler_open(&retiler, &options, &error), &error);
    }
    b->count = bench_load(path, b->plain, PICTURES_MAX);
    for (size_t i = 0; i < b->count; i++) {
        b->retiled[i] = retile ? retiled(b, retiler, b->plain[i]) : b->plain[i];
    }
    sl_jpeg_retiler_close(retiler);
}

static double bytes_each(const bench *b, const sl_bytes *pictures)
{
    size_t sum = 0;
    for (size_t i = 0; i < b->count; i++) {
        sum += pictures[i].size;
    }
    return (double)sum / (double)b->count;
}

/* True if a way is to be measured. */
static bool is_asked(const way *w, const char *name)
{
    return name == NULL || strcmp(w->name, name) == 0;
}

static bool needs_retiled(const char *name)
{
    bool needed = false;
    for (int w = 0; w < WAYS; w++) {
        needed |= ways[w].retiled && is_asked(&ways[w], name);
    }
    return needed;
}

static double run_once(bench *b, const way *w)
{
    const sl_bytes *pictures = w->retiled ? b->retiled : b->plain;
    const uint64_t start = sl_thread_cpu_ns();
    b->random = 1;
    for (size_t i = 0; i < b->count; i++) {
        w->run(b, pictures[i]);
    }
    return (double)(sl_thread_cpu_ns() - start) / (double)b->count;
}

int main(int argc, char **argv)
{
    static bench b;
    static double times[WAYS][ROUNDS_MAX];
    sluice_error error;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: small_jpeg_bench DATASET [ROUNDS [WAY]]\n");
        return 2;
    }
    const char *only = argc > 3 ? argv[3] : NULL;
    const int rounds = bench_rounds(argc > 2 ? argv[2] : NULL, ROUNDS_MAX, 21);
    const sl_decoder_config config = {.max_pixels = MAX_PIXELS, .exif = SLUICE_EXIF_APPLY};
    b.cinfo.err = jpeg_std_error(&b.errors);
    jpeg_create_decompress(&b.cinfo);
    bench_check(sl_decoder_open(&b.decoder, &config, &error), &error);
    load(&b, argv[1], needs_retiled(only));
    for (int round = 0; round < rounds; round++) {
        for (int w = 0; w < WAYS; w++) {
            times[w][round] = is_asked(&ways[w], only) ? run_once(&b, &ways[w]) : 0;
        }
    }
    printf("%zu images of %.0f bytes, re-tiled %.0f (%zu kept), %d rounds: median, minimum and "
           "maximum CPU ns per image\n",
           b.count, bytes_each(&b, b.plain), bytes_each(&b, b.retiled), b.kept, rounds);
    for (int w = 0; w < WAYS; w++) {
        if (is_asked(&ways[w], only)) {
            bench_print(ways[w].name, 34, times[w], rounds, 0);
        }
    }
    return 0;
}
