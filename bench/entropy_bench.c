/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entropy_bench: measures CPU time of JPEG decoding, of whole images and of entropy decoding alone:
 * libjpeg-turbo and sluice's kernels, with restart intervals (two lanes) and without (one).
 *   entropy_bench DATASET [ROUNDS]
 * Each round decodes all images of the dataset with each method in turn. Prints the median over the
 * rounds of the milliseconds per image. Images that the fast path does not support are skipped.
 */
#include "clock.h"
#include "jpeg_fast.h"
#include "jpeg_lanes.h"
#include "jpeg_retile.h"
#include "measure.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

enum { PICTURES_MAX = 1000, ROUNDS_MAX = 101, PICTURE_BYTES = 64 << 20 };

typedef struct bytes_pair {
    sl_bytes plain, tiled; /* no restart markers; re-tiled */
} bytes_pair;

typedef struct bench {
    bytes_pair pictures[PICTURES_MAX];
    size_t count;
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    sl_scratch scratch;
    sl_jpeg_fast *fast;
    sl_huffman_tables *tables; /* three tables and the terminator */
    uint8_t *rows;
} bench;

static void read_header(bench *b, sl_bytes bytes)
{
    sl_scratch_reset(&b->scratch);
    jpeg_mem_src(&b->cinfo, bytes.data, bytes.size);
    (void)jpeg_read_header(&b->cinfo, TRUE);
}

/* --- the methods --- */

static void library_whole(bench *b, sl_bytes bytes)
{
    read_header(b, bytes);
    b->cinfo.out_color_space = JCS_RGB;
    (void)jpeg_start_decompress(&b->cinfo);
    while (b->cinfo.output_scanline < b->cinfo.output_height) {
        (void)jpeg_read_scanlines(&b->cinfo, &b->rows, 1);
    }
    jpeg_abort_decompress(&b->cinfo);
}

static void library_entropy(bench *b, sl_bytes bytes)
{
    read_header(b, bytes);
    (void)jpeg_read_coefficients(&b->cinfo);
    jpeg_abort_decompress(&b->cinfo);
}

static bool find_tiles(bench *b, sl_bytes bytes, sl_jpeg_frame *frame, sl_jpeg_tiles *tiles)
{
    sl_scratch_reset(&b->scratch);
    if (!sl_jpeg_frame_read(frame, bytes)) {
        return false;
    }
    *tiles = sl_jpeg_frame_tiles(frame);
    return sl_jpeg_tiles_find(tiles, bytes, frame->scan, &b->scratch);
}

static void header_and_tiles(bench *b, sl_bytes bytes)
{
    sl_jpeg_frame frame;
    sl_jpeg_tiles tiles;
    (void)find_tiles(b, bytes, &frame, &tiles);
}

static void ours_whole(bench *b, sl_bytes bytes)
{
    sl_jpeg_frame frame;
    sl_image view;
    sl_scratch_reset(&b->scratch);
    if (!sl_jpeg_frame_read(&frame, bytes)) {
        abort();
    }
    const sl_jpeg_job job = {.frame = &frame,
                             .bytes = bytes,
                             .denominator = 1,
                             .wanted = {0, 0, frame.width, frame.height}};
    if (!sl_jpeg_fast_decode(b->fast, &job, &b->scratch, &view)) {
        abort();
    }
}

static void no_transform(const sl_jpeg_blocks *blocks)
{
    (void)blocks;
}

static void ours_entropy(bench *b, sl_bytes bytes)
{
    sl_jpeg_frame frame;
    sl_jpeg_tiles tiles;
    if (!find_tiles(b, bytes, &frame, &tiles)) {
        abort();
    }
    sl_jpeg_area area = {.right = tiles.mcus_across,
                         .bottom = tiles.mcus_down,
                         .components = frame.component_count,
                         .stop = &b->tables[3],
                         .simd = sl_simd_best()};
    for (uint32_t c = 0; c < area.components; c++) {
        const sl_jpeg_frame_component *part = &frame.components[c];
        const uint32_t place = c > 0 ? 1 : 0;
        if (c < 2 && !sl_huffman_make(area.simd, &b->tables[place], &part->dc, &part->ac)) {
            abort();
        }
        area.planes[c] = (sl_jpeg_plane){.across = c == 0 ? frame.across : 1,
                                         .down = c == 0 ? frame.down : 1,
                                         .tables = &b->tables[place],
                                         .idct = no_transform,
                                         .samples = b->rows};
    }
    if (!sl_jpeg_lanes_run(&area, &tiles, bytes, &b->scratch)) {
        abort();
    }
}

typedef struct way {
    const char *name;
    void (*run)(bench *b, sl_bytes bytes);
    bool tiled;
} way;

static const way ways[] = {
    {"libjpeg-turbo, whole decode, original", library_whole, false},
    {"libjpeg-turbo, coefficients only, original", library_entropy, false},
    {"ours, whole decode, re-tiled", ours_whole, true},
    {"ours, whole decode, original", ours_whole, false},
    {"ours, header, tables and entropy, re-tiled", ours_entropy, true},
    {"ours, header, tables and entropy, original", ours_entropy, false},
    {"header and search for markers, re-tiled", header_and_tiles, true},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* --- images --- */

static bool usable(bench *b, const bytes_pair *pair)
{
    const sl_bytes both[2] = {pair->plain, pair->tiled};
    for (int i = 0; i < 2; i++) {
        sl_jpeg_frame frame;
        sl_jpeg_tiles tiles;
        if (!find_tiles(b, both[i], &frame, &tiles)) {
            return false;
        }
        const sl_jpeg_frame_component *parts = frame.components;
        if (frame.component_count > 1 &&
            (parts[1].dc.bits != parts[2].dc.bits || parts[1].ac.bits != parts[2].ac.bits)) {
            return false;
        }
    }
    return true;
}

static void load(bench *b, const char *path)
{
    static sl_bytes plain[PICTURES_MAX];
    sluice_error error;
    const sl_jpeg_retile_options options = {.max_pixels = 100000000, .max_bytes = PICTURE_BYTES};
    sl_jpeg_retiler *retiler = NULL;
    bench_check(sl_jpeg_retiler_open(&retiler, &options, &error), &error);
    const size_t count = bench_load(path, plain, PICTURES_MAX);
    for (size_t i = 0; i < count; i++) {
        uint64_t memory = 0;
        sl_jpeg_outcome outcome = SL_JPEG_NONE;
        bytes_pair *pair = &b->pictures[b->count];
        pair->plain = plain[i];
        if (sl_jpeg_retiler_begin(retiler, pair->plain, &memory, &error) != SLUICE_OK ||
            sl_jpeg_retiler_run(retiler, &outcome, &pair->tiled, &error) != SLUICE_OK ||
            outcome != SL_JPEG_RETILED || !usable(b, pair)) {
            continue;
        }
        pair->tiled = bench_copy(pair->tiled);
        b->count++;
    }
    sl_jpeg_retiler_close(retiler);
}

int main(int argc, char **argv)
{
    static bench b;
    static double times[WAYS][ROUNDS_MAX];
    sluice_error error;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: entropy_bench DATASET [ROUNDS]\n");
        return 2;
    }
    const int rounds = bench_rounds(argc > 2 ? argv[2] : NULL, ROUNDS_MAX, 7);
    b.cinfo.err = jpeg_std_error(&b.errors);
    jpeg_create_decompress(&b.cinfo);
    bench_check(sl_scratch_open(&b.scratch, (size_t)8 << 30, (size_t)64 << 20, &error), &error);
    bench_check(sl_jpeg_fast_open(&b.fast, &error), &error);
    b.tables = aligned_alloc(SL_HUFFMAN_ALIGN, (size_t)4 * sizeof(*b.tables));
    b.rows = sl_malloc((size_t)65536 * 3);
    if (b.tables == NULL || b.rows == NULL) {
        return 1;
    }
    sl_huffman_make_stop(&b.tables[3]);
    load(&b, argv[1]);
    for (int round = 0; round < rounds; round++) {
        for (int w = 0; w < WAYS; w++) {
            const uint64_t start = sl_thread_cpu_ns();
            for (size_t i = 0; i < b.count; i++) {
                ways[w].run(&b, ways[w].tiled ? b.pictures[i].tiled : b.pictures[i].plain);
            }
            times[w][round] = (double)(sl_thread_cpu_ns() - start) / 1e6 / (double)b.count;
        }
    }
    printf("%zu images, %d rounds: median, minimum and maximum CPU ms per image\n", b.count,
           rounds);
    for (int w = 0; w < WAYS; w++) {
        bench_print(ways[w].name, 46, times[w], rounds, 3);
    }
    return 0;
}
