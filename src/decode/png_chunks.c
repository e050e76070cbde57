/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_chunks: walks a PNG's chunks in order, each checked against the remaining bytes before it is
 * read; and checks the checksums of image data. Pure: unpacks and allocates nothing.
 */
#include "png_chunks.h"

#include "error.h"
#include "exif.h"
#include "minmax.h"
#include "stop.h"

#include <string.h>
#include <zlib.h>

#define STAGE "decode"

enum {
    SIGNATURE_BYTES = 8,
    HEADER_BYTES = 13, /* IHDR's content */
    PALETTE_BYTES_MAX = 768,
    PIECE_BYTES = 1 << 20, /* after this many bytes of a chunk, `stop` is checked */
    /* Deflate's best ratio: 258 bytes from two bits. */
    DEFLATE_RATIO = 1032
};

static const char signature[SIGNATURE_BYTES + 1] = "\x89PNG\r\n\x1a\n";

typedef struct chunk {
    size_t offset; /* in the file, of its length */
    const uint8_t *type;
    sl_bytes content;
} chunk;

typedef struct walk {
    sl_png *png;
    const sl_codec_source *source;
    sluice_error *error;
    uint64_t data_bytes; /* of the IDAT chunks' content */
    bool oriented;
} walk;

bool sl_png_probe(sl_bytes bytes)
{
    return bytes.size >= SIGNATURE_BYTES && memcmp(bytes.data, signature, SIGNATURE_BYTES) == 0;
}

uint32_t sl_png_pixel_bits(const sl_png *png)
{
    static const uint8_t samples[] = {[SL_PNG_GREY] = 1,
                                      [SL_PNG_RGB] = 3,
                                      [SL_PNG_PALETTE] = 1,
                                      [SL_PNG_GREY_ALPHA] = 2,
                                      [SL_PNG_RGBA] = 4};
    return (uint32_t)samples[png->colour] * png->depth;
}

uint64_t sl_png_row_bytes(const sl_png *png)
{
    return ((uint64_t)png->size.width * sl_png_pixel_bits(png) + 7) / 8;
}

static bool png_chunks_is_type(const chunk *c, const char *type)
{
    return memcmp(c->type, type, 4) == 0;
}

static sluice_status png_chunks_refuse(const walk *w, size_t offset, const char *text)
{
    return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)offset, "%s", text);
}

static bool png_chunks_is_stopped(const _Atomic bool *stop)
{
    /* relaxed: a thread that sees it late only works a little longer */
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}

sluice_status sl_png_check_sum(sl_bytes whole, size_t offset, const _Atomic bool *stop,
                               sluice_error *error)
{
    const size_t size = 4 + (size_t)sl_png_load32(whole.data);
    const uint8_t *summed = whole.data + 4;
    uLong sum = crc32(0, NULL, 0);
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        if (png_chunks_is_stopped(stop)) {
            return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
        }
        const size_t left = size - at;
        sum = crc32(sum, summed + at, (uInt)sl_min_u64(left, PIECE_BYTES));
    }
    if (sum == sl_png_load32(summed + size)) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)offset,
                         "the checksum of chunk %.4s is wrong", (const char *)summed);
}

static bool png_chunks_is_letter(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* Enters the chunk at `offset`, inside the file. */
static sluice_status png_chunks_enter(const walk *w, size_t offset, chunk *c)
{
    const sl_bytes bytes = w->source->bytes;
    const size_t left = bytes.size - offset;
    if (left < SL_PNG_CHUNK_BYTES) {
        return png_chunks_refuse(w, offset, "the PNG ends before its end chunk");
    }
    c->offset = offset;
    c->type = bytes.data + offset + 4;
    c->content = (sl_bytes){bytes.data + offset + 8, sl_png_load32(bytes.data + offset)};
    for (int i = 0; i < 4; i++) {
        if (!png_chunks_is_letter(c->type[i])) {
            return png_chunks_refuse(w, offset, "the type of a chunk is not four letters");
        }
    }
    if (c->content.size > left - SL_PNG_CHUNK_BYTES) {
        return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)offset,
                             "the PNG ends inside chunk %.4s of %zu bytes", (const char *)c->type,
                             c->content.size);
    }
    return SLUICE_OK;
}

static bool is_kind(uint8_t colour, uint8_t depth)
{
    switch (colour) {
    case SL_PNG_GREY:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case SL_PNG_PALETTE:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case SL_PNG_RGB:
    case SL_PNG_GREY_ALPHA:
    case SL_PNG_RGBA:
        return depth == 8 || depth == 16;
    default:
        return false;
    }
}

static sluice_status png_chunks_read_header(const walk *w, const chunk *c)
{
    sl_png *png = w->png;
    if (!png_chunks_is_type(c, "IHDR") || c->content.size != HEADER_BYTES) {
        return png_chunks_refuse(w, c->offset, "the PNG does not begin with a header of 13 bytes");
    }
    const uint8_t *header = c->content.data;
    png->size = (sl_picture){sl_png_load32(header), sl_png_load32(header + 4)};
    png->depth = header[8];
    png->colour = header[9];
    png->interlaced = header[12] == 1;
    if (png->size.width - 1 > INT32_MAX - 1 || png->size.height - 1 > INT32_MAX - 1) {
        return png_chunks_refuse(w, c->offset, "the PNG's width or height is 0 or above 2^31 - 1");
    }
    if (!is_kind(png->colour, png->depth) || header[10] != 0 || header[11] != 0 || header[12] > 1) {
        return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)c->offset,
                             "the PNG header is invalid: colour %u of %u bits, compression %u, "
                             "filter %u, interlacing %u",
                             png->colour, png->depth, header[10], header[11], header[12]);
    }
    return sl_codec_check_pixels(w->source, png->size, w->error);
}

static sluice_status take_palette(const walk *w, const chunk *c)
{
    sl_png *png = w->png;
    const size_t size = c->content.size;
    if (png->colour != SL_PNG_PALETTE) {
        return SLUICE_OK; /* a suggestion */
    }
    if (png->palette.size > 0 || png->data.size > 0 || size == 0 || size > PALETTE_BYTES_MAX ||
        size % 3 != 0) {
        return png_chunks_refuse(w, c->offset,
                                 "the PNG's palette is invalid or in the wrong place");
    }
    png->palette = (sl_bytes){c->type - 4, size + SL_PNG_CHUNK_BYTES};
    png->palette_colors = (uint32_t)(size / 3);
    return SLUICE_OK;
}

static sluice_status png_chunks_take_data(walk *w, const chunk *c)
{
    sl_png *png = w->png;
    const uint8_t *begin = c->type - 4;
    if (png->colour == SL_PNG_PALETTE && png->palette.size == 0) {
        return png_chunks_refuse(w, c->offset,
                                 "the PNG's palette is missing before its image data");
    }
    if (png->data.size == 0) {
        png->data.data = begin;
    } else if (png->data.data + png->data.size != begin) {
        return png_chunks_refuse(w, c->offset, "the PNG's image data are not contiguous");
    }
    png->data.size += c->content.size + SL_PNG_CHUNK_BYTES;
    w->data_bytes += c->content.size;
    return SLUICE_OK;
}

/* Handles any chunk but the first and the last. */
static sluice_status png_chunks_take(walk *w, const chunk *c)
{
    if (png_chunks_is_type(c, "IDAT")) {
        return png_chunks_take_data(w, c);
    }
    if (png_chunks_is_type(c, "fdAT")) {
        return SLUICE_OK;
    }
    const sl_bytes whole = {c->type - 4, c->content.size + SL_PNG_CHUNK_BYTES};
    const sluice_status status = sl_png_check_sum(whole, c->offset, w->source->stop, w->error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (png_chunks_is_type(c, "PLTE")) {
        return take_palette(w, c);
    }
    if (png_chunks_is_type(c, "eXIf") && !w->oriented) {
        w->oriented = true;
        w->png->orientation = sl_exif_orientation_of_block(c->content);
    }
    if (png_chunks_is_type(c, "IHDR")) {
        return png_chunks_refuse(w, c->offset, "the PNG has a second header");
    }
    /* The names of chunks that may be skipped begin with a lower-case letter. */
    if ((c->type[0] & 0x20) == 0 && !png_chunks_is_type(c, "IEND")) {
        return sl_error_file(w->error, SLUICE_UNSUPPORTED, STAGE, 0, NULL, (int64_t)c->offset,
                             "the PNG has the critical chunk %.4s, which is not supported",
                             (const char *)c->type);
    }
    return SLUICE_OK;
}

/* A header with a wrong size would cost memory and time for rows that cannot exist. */
static sluice_status check_amount(const walk *w)
{
    const sl_png *png = w->png;
    if (png->data.size == 0) {
        return png_chunks_refuse(w, w->source->bytes.size, "the PNG has no image data");
    }
    if (sl_png_row_bytes(png) - 1 > w->data_bytes * DEFLATE_RATIO / png->size.height) {
        return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, NULL,
                             png->data.data - w->source->bytes.data,
                             "%llu bytes of image data are too few for %u x %u pixels",
                             (unsigned long long)w->data_bytes, png->size.width, png->size.height);
    }
    return SLUICE_OK;
}

sluice_status sl_png_read(sl_png *png, const sl_codec_source *source, sluice_error *error)
{
    walk w = {.png = png, .source = source, .error = error};
    chunk c = {.type = source->bytes.data};
    *png = (sl_png){.orientation = 1};
    if (!sl_png_probe(source->bytes)) {
        return png_chunks_refuse(&w, 0, "the PNG does not begin with its signature");
    }
    sluice_status status = png_chunks_enter(&w, SIGNATURE_BYTES, &c);
    if (status == SLUICE_OK) {
        status = png_chunks_read_header(&w, &c);
    }
    if (status == SLUICE_OK) {
        status = sl_png_check_sum((sl_bytes){c.type - 4, SL_PNG_HEAD_BYTES - SIGNATURE_BYTES},
                                  c.offset, NULL, error);
    }
    while (status == SLUICE_OK && !png_chunks_is_type(&c, "IEND")) {
        status = png_chunks_enter(&w, c.offset + SL_PNG_CHUNK_BYTES + c.content.size, &c);
        if (status == SLUICE_OK) {
            status = png_chunks_take(&w, &c);
        }
    }
    return status == SLUICE_OK ? check_amount(&w) : status;
}

sluice_status sl_png_check_sums(sl_bytes bytes, sluice_error *error)
{
    const sl_codec_source source = {.bytes = bytes};
    const walk w = {.source = &source, .error = error};
    chunk c = {.type = bytes.data};
    sluice_status status = sl_png_probe(bytes)
                               ? png_chunks_enter(&w, SIGNATURE_BYTES, &c)
                               : png_chunks_refuse(&w, 0, "a PNG begins with its signature");
    while (status == SLUICE_OK && !png_chunks_is_type(&c, "IEND")) {
        if (png_chunks_is_type(&c, "IDAT") || png_chunks_is_type(&c, "fdAT")) {
            const sl_bytes whole = {c.type - 4, c.content.size + SL_PNG_CHUNK_BYTES};
            status = sl_png_check_sum(whole, c.offset, sl_stop_of_thread(), error);
        }
        if (status == SLUICE_OK) {
            status = png_chunks_enter(&w, c.offset + SL_PNG_CHUNK_BYTES + c.content.size, &c);
        }
    }
    return status;
}
