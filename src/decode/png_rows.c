/* SPDX-License-Identifier: Apache-2.0 */
/* One owner. All memory is scratch, including zlib's, whose state is never ended. */
#include "png_rows.h"

#include "error.h"

#include <string.h>

#define STAGE "decode"

/* PIECE_MOST: what zlib reads or makes between two checks of `stop`. */
enum { BUFFER_BYTES = 64 << 10, PIECE_MOST = 1 << 20, WIDE_ROW_BYTES = 256 << 10 };

bool sl_png_rows_takes(const sl_png *png)
{
    return !png->interlaced && png->depth >= 8 &&
           (sl_png_pixel_bits(png) <= 16 || sl_png_row_bytes(png) > WIDE_ROW_BYTES);
}

static sluice_status rows_fail(const sl_png_rows *rows, sluice_status status, const char *text,
                               sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, NULL,
                         rows->z.next_in != NULL ? rows->z.next_in - rows->source->bytes.data : 0,
                         "%s", text);
}

static sluice_status rows_no_memory(const sl_png_rows *rows, sluice_error *error)
{
    return rows_fail(rows, SLUICE_NOMEM, "not enough scratch memory to decode the image", error);
}

static voidpf on_zlib_alloc(voidpf opaque, uInt count, uInt bytes)
{
    return sl_scratch_take(opaque, (size_t)count * bytes);
}

static void on_zlib_free(voidpf opaque, voidpf memory)
{
    (void)opaque;
    (void)memory;
}

sluice_status sl_png_rows_open(sl_png_rows *rows, const sl_png *png, const sl_codec_source *source,
                               uint32_t wanted, sluice_error *error)
{
    const uint64_t row_bytes = sl_png_row_bytes(png);
    *rows = (sl_png_rows){.png = png,
                          .source = source,
                          .rest = png->data,
                          .pixel_bytes = sl_png_pixel_bits(png) / 8,
                          .left = wanted};
    rows->z.zalloc = on_zlib_alloc;
    rows->z.zfree = on_zlib_free;
    rows->z.opaque = source->scratch;
    if (row_bytes > SIZE_MAX / 4 || inflateInit(&rows->z) != Z_OK) {
        return rows_no_memory(rows, error);
    }
    if (wanted < png->size.height) { /* the checksum of the stream would never be checked */
        (void)inflateValidate(&rows->z, 0);
    }
    rows->row_bytes = (size_t)row_bytes;
    rows->at_a_time = row_bytes < BUFFER_BYTES ? (uint32_t)(BUFFER_BYTES / (row_bytes + 1)) : 1;
    rows->at_a_time = rows->at_a_time < wanted ? rows->at_a_time : wanted;
    rows->buffer = sl_scratch_take(source->scratch, (rows->row_bytes + 1) * rows->at_a_time);
    rows->before = sl_scratch_take(source->scratch, rows->row_bytes);
    if (rows->buffer == NULL || rows->before == NULL) {
        return rows_no_memory(rows, error);
    }
    memset(rows->before, 0, rows->row_bytes);
    return SLUICE_OK;
}

/* ---- unpacking ---- */

static bool is_stopped(const sl_png_rows *rows)
{
    /* relaxed: a thread that sees it late only works a little longer */
    return rows->source->stop != NULL &&
           atomic_load_explicit(rows->source->stop, memory_order_relaxed);
}

static sluice_status rows_check_stop(const sl_png_rows *rows, sluice_error *error)
{
    return is_stopped(rows) ? rows_fail(rows, SLUICE_CANCELED, "stopped", error) : SLUICE_OK;
}

/* Opens the next chunk. */
static sluice_status open_chunk(sl_png_rows *rows, sluice_error *error)
{
    const sl_bytes rest = rows->rest;
    if (rest.size == 0) {
        return rows_fail(rows, SLUICE_CORRUPT, "the PNG's image data end early", error);
    }
    const size_t offset = (size_t)(rest.data - rows->source->bytes.data);
    const sluice_status status = sl_png_check_sum(rest, offset, rows->source->stop, error);
    if (status == SLUICE_OK) {
        const size_t bytes = sl_png_load32(rest.data);
        rows->piece = (sl_bytes){rest.data + 8, bytes};
        rows->rest.data += SL_PNG_CHUNK_BYTES + bytes;
        rows->rest.size -= SL_PNG_CHUNK_BYTES + bytes;
    }
    return status;
}

/* Gives zlib more bytes: of the current chunk, or of the next one that is not empty. */
static sluice_status feed(sl_png_rows *rows, sluice_error *error)
{
    while (rows->piece.size == 0) {
        const sluice_status status = open_chunk(rows, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    const size_t bytes = rows->piece.size < PIECE_MOST ? rows->piece.size : PIECE_MOST;
    rows->z.next_in = rows->piece.data;
    rows->z.avail_in = (uInt)bytes;
    rows->piece.data += bytes;
    rows->piece.size -= bytes;
    return SLUICE_OK;
}

/* Runs zlib once. Sets `*ended` at the end of the stream. */
static sluice_status inflate_some(sl_png_rows *rows, bool *ended, sluice_error *error)
{
    const sluice_status stopped = rows_check_stop(rows, error);
    if (stopped != SLUICE_OK) {
        return stopped;
    }
    const int result = inflate(&rows->z, Z_NO_FLUSH);
    *ended = result == Z_STREAM_END;
    switch (result) {
    case Z_OK:
    case Z_STREAM_END:
        return SLUICE_OK;
    case Z_BUF_ERROR:
        return feed(rows, error);
    case Z_MEM_ERROR:
        return rows_no_memory(rows, error);
    default:
        return rows_fail(rows, SLUICE_CORRUPT,
                         rows->z.msg != NULL ? rows->z.msg : "the PNG's image data are damaged",
                         error);
    }
}

static sluice_status rows_inflate(sl_png_rows *rows, uint8_t *to, size_t bytes, sluice_error *error)
{
    bool ended = false;
    while (bytes > 0) {
        const uInt piece = bytes < PIECE_MOST ? (uInt)bytes : PIECE_MOST;
        rows->z.next_out = to;
        rows->z.avail_out = piece;
        const sluice_status status =
            ended ? rows_fail(rows, SLUICE_CORRUPT, "the PNG's image data end early", error)
                  : inflate_some(rows, &ended, error);
        if (status != SLUICE_OK) {
            return status;
        }
        to += piece - rows->z.avail_out;
        bytes -= piece - rows->z.avail_out;
    }
    return SLUICE_OK;
}

static sluice_status fill_buffer(sl_png_rows *rows, sluice_error *error)
{
    if (rows->filled > 0) {
        memcpy(rows->before, rows->buffer + (rows->filled - 1) * (rows->row_bytes + 1) + 1,
               rows->row_bytes);
    }
    rows->at = 0;
    rows->filled = rows->left < rows->at_a_time ? rows->left : rows->at_a_time;
    rows->left -= rows->filled;
    return rows_inflate(rows, rows->buffer, (rows->row_bytes + 1) * rows->filled, error);
}

/* ---- filters ---- */

static inline uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Returns a word filled with that pixel. */
static inline uint64_t repeat(const uint8_t *bytes, size_t pixel)
{
    uint16_t both;
    if (pixel == 1) {
        return *bytes * UINT64_C(0x0101010101010101);
    }
    memcpy(&both, bytes, sizeof(both));
    return both * UINT64_C(0x0001000100010001);
}

/* Unfilters bytes [begin, end), whole pixels that follow another one. `pixel` is a constant where
 * this is inlined, here and below. */
static inline void add_left_span(uint8_t *row, size_t begin, size_t end, size_t pixel)
{
    for (size_t k = begin; k < begin + pixel; k++) {
        uint8_t left = row[k - pixel];
        for (size_t i = k; i < end; i += pixel) {
            left = (uint8_t)(left + row[i]);
            row[i] = left;
        }
    }
}

/* If nothing is added, as in most words of a label map, all pixels equal the one on the left. */
static inline void add_left_of(uint8_t *row, size_t bytes, size_t pixel)
{
    size_t i = pixel;
    for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        if (load_word(row + i) == 0) {
            const uint64_t left = repeat(row + i - pixel, pixel);
            memcpy(row + i, &left, sizeof(left));
        } else {
            add_left_span(row, i, i + sizeof(uint64_t), pixel);
        }
    }
    if (i < bytes) {
        add_left_span(row, i, bytes, pixel);
    }
}

static void add_left(uint8_t *row, size_t bytes, size_t pixel)
{
    if (pixel == 1) {
        add_left_of(row, bytes, 1);
    } else if (pixel == 2) {
        add_left_of(row, bytes, 2);
    } else {
        add_left_span(row, pixel, bytes, pixel);
    }
}

static void add_above(uint8_t *restrict row, const uint8_t *restrict above, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        row[i] = (uint8_t)(row[i] + above[i]);
    }
}

static void add_average(uint8_t *row, const uint8_t *above, size_t bytes, size_t pixel)
{
    for (size_t k = 0; k < pixel; k++) {
        uint8_t left = 0;
        for (size_t i = k; i < bytes; i += pixel) {
            left = (uint8_t)(row[i] + (left + above[i]) / 2);
            row[i] = left;
        }
    }
}

static int png_rows_distance(int a, int b)
{
    return a > b ? a - b : b - a;
}

/* Returns whichever of left, above and upper left is nearest to left + above - upper left. */
static uint8_t paeth(uint8_t left, uint8_t above, uint8_t corner)
{
    const int to_left = png_rows_distance(above, corner);
    const int to_above = png_rows_distance(left, corner);
    const int to_corner = png_rows_distance(left + above, 2 * corner);
    const uint8_t nearer = to_above <= to_corner ? above : corner;
    return to_left <= to_above && to_left <= to_corner ? left : nearer;
}

/* Unfilters whole pixels; there need not be one before `begin`. */
static inline void add_paeth_span(uint8_t *row, const uint8_t *above, size_t begin, size_t end,
                                  size_t pixel)
{
    for (size_t k = begin; k < begin + pixel; k++) {
        uint8_t left = k >= pixel ? row[k - pixel] : 0;
        uint8_t corner = k >= pixel ? above[k - pixel] : 0;
        for (size_t i = k; i < end; i += pixel) {
            left = (uint8_t)(row[i] + paeth(left, above[i], corner));
            corner = above[i];
            row[i] = left;
        }
    }
}

/*
 * Label maps are flat for most of a row, and nothing is added there. A pixel then equals the one
 * above if left and corner are equal, which they also are for the next pixel; and the one on the
 * left if above and corner are equal: so whole words are copied, without the dependency from pixel
 * to pixel.
 */
static inline void add_paeth_of(uint8_t *row, const uint8_t *above, size_t bytes, size_t pixel)
{
    size_t i = pixel;
    add_paeth_span(row, above, 0, pixel, pixel);
    for (; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        const uint64_t left = repeat(row + i - pixel, pixel);
        const uint64_t corner = repeat(above + i - pixel, pixel);
        const uint64_t over = load_word(above + i);
        if (load_word(row + i) == 0 && (left == corner || over == corner)) {
            memcpy(row + i, left == corner ? &over : &left, sizeof(over));
        } else {
            add_paeth_span(row, above, i, i + sizeof(uint64_t), pixel);
        }
    }
    if (i < bytes) {
        add_paeth_span(row, above, i, bytes, pixel);
    }
}

static void add_paeth(uint8_t *row, const uint8_t *above, size_t bytes, size_t pixel)
{
    if (pixel == 1) {
        add_paeth_of(row, above, bytes, 1);
    } else if (pixel == 2) {
        add_paeth_of(row, above, bytes, 2);
    } else {
        add_paeth_span(row, above, 0, bytes, pixel);
    }
}

/* Returns false for an unknown filter. */
static bool unfilter(uint8_t filter, uint8_t *row, const uint8_t *above, size_t bytes, size_t pixel)
{
    switch (filter) {
    case 0:
        return true;
    case 1:
        add_left(row, bytes, pixel);
        return true;
    case 2:
        add_above(row, above, bytes);
        return true;
    case 3:
        add_average(row, above, bytes, pixel);
        return true;
    case 4:
        add_paeth(row, above, bytes, pixel);
        return true;
    default:
        return false;
    }
}

sluice_status sl_png_rows_next(sl_png_rows *rows, const uint8_t **row, sluice_error *error)
{
    const size_t step = rows->row_bytes + 1;
    const sluice_status status = rows->at == rows->filled ? fill_buffer(rows, error) : SLUICE_OK;
    if (status != SLUICE_OK) {
        return status;
    }
    uint8_t *own = rows->buffer + rows->at * step;
    const uint8_t *above = rows->at > 0 ? own - step + 1 : rows->before;
    rows->at++;
    *row = own + 1;
    return unfilter(own[0], own + 1, above, rows->row_bytes, rows->pixel_bytes)
               ? SLUICE_OK
               : rows_fail(rows, SLUICE_CORRUPT, "a row of the PNG has an unknown filter", error);
}

sluice_status sl_png_rows_end(sl_png_rows *rows, sluice_error *error)
{
    uint8_t sink[256];
    size_t extra = 0;
    bool ended = false;
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK && !ended) {
        rows->z.next_out = sink;
        rows->z.avail_out = sizeof(sink);
        status = inflate_some(rows, &ended, error);
        extra += sizeof(sink) - rows->z.avail_out;
        if (status == SLUICE_OK && extra > SL_PNG_EXTRA_BYTES) {
            status = rows_fail(rows, SLUICE_CORRUPT, SL_PNG_EXTRA_TEXT, error);
        }
    }
    return status;
}
