/* SPDX-License-Identifier: Apache-2.0 */
#include "png_make.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEAD = 8, SIGNATURE = 8, TAIL = 4 };

typedef struct bits {
    uint8_t *data;
    size_t bytes, capacity;
} bits;

static void store32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static uint32_t load32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void append(png_file *file, const void *data, size_t size)
{
    if (file->size + size > file->capacity) {
        file->capacity = (file->size + size) * 2;
        file->data = need(realloc(file->data, file->capacity));
    }
    if (size > 0) {
        memcpy(file->data + file->size, data, size);
    }
    file->size += size;
}

static uint32_t sum_of(const uint8_t *type, size_t size)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), type, (uInt)size);
}

void png_make_chunk(png_file *file, const char *type, const void *content, size_t size)
{
    uint8_t head[HEAD];
    uint8_t sum[TAIL];
    store32(head, (uint32_t)size);
    memcpy(head + 4, type, 4);
    append(file, head, sizeof(head));
    append(file, content, size);
    store32(sum, sum_of(file->data + file->size - size - 4, size + 4));
    append(file, sum, sizeof(sum));
}

png_file png_make_begin(uint32_t width, uint32_t height, uint32_t depth, uint32_t colour,
                        bool interlaced)
{
    png_file file = {NULL, 0, 0};
    uint8_t header[13] = {0};
    append(&file, "\x89PNG\r\n\x1a\n", SIGNATURE);
    store32(header, width);
    store32(header + 4, height);
    header[8] = (uint8_t)depth;
    header[9] = (uint8_t)colour;
    header[12] = interlaced;
    png_make_chunk(&file, "IHDR", header, sizeof(header));
    return file;
}

/* Uses fast compression for large content, which need not become small. */
static uint8_t *deflated(const void *content, size_t size, uLongf *bytes)
{
    const int level = size > (size_t)1 << 20 ? 1 : 6;
    *bytes = compressBound((uLong)size);
    uint8_t *packed = need(malloc(*bytes));
    if (compress2(packed, bytes, content, (uLong)size, level) != Z_OK) {
        abort();
    }
    return packed;
}

void png_make_data(png_file *file, const void *content, size_t size)
{
    uLongf bytes;
    uint8_t *packed = deflated(content, size, &bytes);
    png_make_chunk(file, "IDAT", packed, bytes);
    free(packed);
}

/* ---- images ---- */

static uint32_t scramble(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7feb352dU;
    value ^= value >> 15;
    value *= 0x846ca68bU;
    return value ^ value >> 16;
}

typedef struct kind {
    uint32_t width, height, seed, depth, colour, samples, colours;
    const png_options *options;
} kind;

static uint32_t sample_of(const kind *k, uint32_t x, uint32_t y, uint32_t channel)
{
    const uint32_t noise = scramble(k->seed + channel + 4 * (x + y * k->width));
    if (k->colour == 3) {
        const bool last = x + 1 == k->width && y + 1 == k->height;
        return noise % k->colours + (last ? k->options->excess : 0);
    }
    const uint32_t slope = (x * (3 + channel) + y * 5) * 65535U / (k->width * 6 + k->height * 5);
    return ((slope + (noise & 0xfff)) & 0xffff) >> (16 - k->depth);
}

/* Makes one row of a pass as stored; its filter byte comes first. */
static void fill_row(const kind *k, uint8_t *row, uint32_t y, uint32_t first, uint32_t step)
{
    size_t bit = 8;
    for (uint32_t x = first; x < k->width; x += step) {
        for (uint32_t c = 0; c < k->samples; c++) {
            const uint32_t value = sample_of(k, x, y, c);
            if (k->depth == 16) {
                row[bit / 8] = (uint8_t)(value >> 8);
                row[bit / 8 + 1] = (uint8_t)value;
            } else {
                row[bit / 8] |= (uint8_t)(value << (8 - k->depth - bit % 8));
            }
            bit += k->depth;
        }
    }
}

static uint8_t paeth(int left, int up, int corner)
{
    const int l = abs(up - corner);
    const int u = abs(left - corner);
    const int c = abs(left + up - 2 * corner);
    return (uint8_t)(l <= u && l <= c ? left : u <= c ? up : corner);
}

/* `row` and `before` begin with their filter byte. */
static void filter_row(uint8_t *to, const uint8_t *row, const uint8_t *before, size_t bytes,
                       size_t pixel)
{
    for (size_t i = 1; i <= bytes; i++) {
        const uint8_t left = i > pixel ? row[i - pixel] : 0;
        const uint8_t up = before[i];
        const uint8_t corner = i > pixel ? before[i - pixel] : 0;
        const uint8_t guesses[] = {0, left, up, (uint8_t)((left + up) / 2),
                                   paeth(left, up, corner)};
        to[i] = (uint8_t)(row[i] - guesses[to[0]]);
    }
}

static void add_pass(const kind *k, bits *out, const uint32_t start[2], const uint32_t step[2])
{
    if (start[0] >= k->width || start[1] >= k->height) {
        return;
    }
    const uint32_t width = (k->width - start[0] + step[0] - 1) / step[0];
    const size_t bytes = ((size_t)width * k->samples * k->depth + 7) / 8;
    const size_t pixel = (k->samples * k->depth + 7) / 8;
    uint8_t *rows[2] = {need(calloc(1, bytes + 1)), need(calloc(1, bytes + 1))};
    uint32_t turn = k->seed;
    for (uint32_t y = start[1]; y < k->height; y += step[1]) {
        uint8_t *to = out->data + out->bytes;
        memset(rows[0], 0, bytes + 1);
        fill_row(k, rows[0], y, start[0], step[0]);
        to[0] = (uint8_t)(k->options->filter > 0 ? k->options->filter - 1 : (int)(turn++ % 5));
        filter_row(to, rows[0], rows[1], bytes, pixel);
        out->bytes += bytes + 1;
        uint8_t *other = rows[0];
        rows[0] = rows[1];
        rows[1] = other;
    }
    free(rows[0]);
    free(rows[1]);
}

static void add_picture(const kind *k, png_file *file)
{
    static const uint32_t starts[7][2] = {{0, 0}, {4, 0}, {0, 4}, {2, 0}, {0, 2}, {1, 0}, {0, 1}};
    static const uint32_t steps[7][2] = {{8, 8}, {8, 8}, {4, 8}, {4, 4}, {2, 4}, {2, 2}, {1, 2}};
    static const uint32_t one[2] = {1, 1};
    bits out = {.capacity = (size_t)k->height * 8 * ((size_t)k->width * 8 + 16)};
    out.data = need(malloc(out.capacity));
    for (int pass = 0; pass < 7 && k->options->interlaced; pass++) {
        add_pass(k, &out, starts[pass], steps[pass]);
    }
    if (!k->options->interlaced) {
        add_pass(k, &out, starts[0], one);
    }
    uLongf bytes;
    uint8_t *packed = deflated(out.data, out.bytes, &bytes);
    const size_t most = k->options->data_bytes > 0 ? k->options->data_bytes : bytes;
    for (size_t at = 0; at < bytes; at += most) {
        png_make_chunk(file, "IDAT", packed + at, bytes - at < most ? bytes - at : most);
    }
    free(packed);
    free(out.data);
}

static void add_palette(const kind *k, png_file *file)
{
    uint8_t palette[256 * 3];
    for (uint32_t i = 0; i < k->colours * 3; i++) {
        palette[i] = (uint8_t)scramble(k->seed + 1000 + i);
    }
    png_make_chunk(file, "PLTE", palette, (size_t)k->colours * 3);
}

static void add_transparency(const kind *k, png_file *file)
{
    uint8_t content[256] = {0, 1, 0, 2, 0, 3};
    const size_t size = k->colour == 3 ? (k->colours + 1) / 2 : k->samples * 2;
    png_make_chunk(file, "tRNS", content, size);
}

static void add_orientation(const png_options *options, png_file *file)
{
    uint8_t exif[26] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1};
    exif[18] = (uint8_t)options->orientation;
    png_make_chunk(file, "eXIf", exif, sizeof(exif));
}

png_file png_make(uint32_t width, uint32_t height, uint32_t seed, const png_options *options)
{
    static const uint32_t samples[] = {1, 0, 3, 1, 2, 0, 4};
    kind k = {.width = width,
              .height = height,
              .seed = scramble(seed),
              .depth = options->depth > 0 ? options->depth : 8,
              .colour = options->is_grey      ? 0
                        : options->colour > 0 ? (uint32_t)options->colour
                                              : 2,
              .options = options};
    k.samples = samples[k.colour];
    k.colours = options->colours > 0 ? options->colours : 1U << (k.depth & 15);
    png_file file = png_make_begin(width, height, k.depth, k.colour, options->interlaced);
    if (k.colour == 3) {
        add_palette(&k, &file);
    }
    if (options->transparent) {
        add_transparency(&k, &file);
    }
    if (options->orientation > 0 && !options->orientation_end) {
        add_orientation(options, &file);
    }
    add_picture(&k, &file);
    if (options->orientation > 0 && options->orientation_end) {
        add_orientation(options, &file);
    }
    png_make_chunk(&file, "IEND", NULL, 0);
    return file;
}

void png_make_free(png_file *file)
{
    free(file->data);
    *file = (png_file){NULL, 0, 0};
}

/* ---- chunks ---- */

/* Returns the chunk after the one at `at`; 0: none. */
static size_t next_chunk(const uint8_t *data, size_t size, size_t at)
{
    const size_t end = at + HEAD + TAIL + (at > 0 ? load32(data + at) : 0);
    const size_t next = at > 0 ? end : SIGNATURE;
    return next + HEAD + TAIL <= size && load32(data + next) <= size - next - HEAD - TAIL ? next
                                                                                          : 0;
}

size_t png_make_find(const uint8_t *data, size_t size, const char *type)
{
    size_t at = next_chunk(data, size, 0);
    while (at > 0 && memcmp(data + at + 4, type, 4) != 0) {
        at = next_chunk(data, size, at);
    }
    return at;
}

void png_make_seal(uint8_t *data, size_t size)
{
    for (size_t at = next_chunk(data, size, 0); at > 0; at = next_chunk(data, size, at)) {
        const uint32_t bytes = load32(data + at);
        store32(data + at + HEAD + bytes, sum_of(data + at + 4, (size_t)bytes + 4));
    }
}
