/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_codec: PNG as a codec (base/codec.h): our own walk over the chunks; pixels of one or two
 * bytes are decoded by png_rows.h, others and interlaced images by libpng.
 *
 * libpng gets the header, the palette and the image data and nothing else, each chunk after its
 * checksum was found right, and takes all memory from the decoder's scratch. Rows below the
 * rectangle are not unpacked, unless the image is interlaced; if the last row is needed, the end of
 * the compressed stream and its checksum must be right, too. libpng unpacks what follows the last
 * row without a limit, in the call for that row; so from there on it reads no more bytes than a row
 * may take, and SL_PNG_EXTRA_BYTES.
 *
 * As stored (samples): greys of 1, 2 and 4 bits are 0 .. 2^bits - 1, one per byte, not spread over
 * 0..255; 16-bit samples are complete; palette images give the pixels' indices, including those
 * that the palette has no colour for; channels are in the file's order, with alpha. tRNS, gamma,
 * sBIT and profiles are ignored.
 *
 * Threads: a state belongs to one thread.
 */
#include "codecs.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "png_chunks.h"
#include "png_pixels.h"
#include "png_rows.h"
#include "poison.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

#define STAGE "decode"

/* Header, palette, image data and an end. */
enum { PARTS = 4 };

typedef struct png_state {
    sl_png png;
    sl_png_colours colours;
    /* of the current call */
    jmp_buf jump;
    const sl_codec_source *source;
    sluice_error *error;
    sluice_status status;
    sl_rect need;
    bool as_stored;  /* samples are wanted, not RGB */
    uint8_t *pixels; /* output */
    /* what libpng still reads of each part */
    sl_bytes parts[PARTS];
    uint32_t part;
    const uint8_t *checked; /* image data before this were checked */
    uint64_t data_left;     /* bytes of image data that may still be read */
} png_state;

static const uint8_t end_chunk[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};

/* libpng's functions do not return after an error, and all its memory is scratch. */
_Noreturn static void png_codec_leave(png_state *state, sluice_status status)
{
    state->status = status;
    longjmp(state->jump, 1);
}

/* Returns how far image data were read, or their end once libpng is past them. */
static int64_t png_codec_offset_of(const png_state *state)
{
    const sl_bytes *data = &state->png.data;
    const size_t left = state->part > 2 ? 0 : state->parts[2].size;
    return data->data + (data->size - left) - state->source->bytes.data;
}

_Noreturn static void png_codec_fail(png_state *state, sluice_status status, const char *text)
{
    png_codec_leave(state, sl_error_file(state->error, status, STAGE, 0, NULL,
                                         png_codec_offset_of(state), "%s", text));
}

_Noreturn static void png_codec_on_error(png_structp png, png_const_charp text)
{
    png_codec_fail(png_get_error_ptr(png), SLUICE_CORRUPT, text);
}

/*
 * libpng sees nothing but image data, so its warnings are about those. Bytes after their end do no
 * harm.
 */
static void png_codec_on_warning(png_structp png, png_const_charp text)
{
    if (strstr(text, "xtra compressed data") == NULL &&
        strstr(text, "oo much image data") == NULL) {
        png_codec_on_error(png, text);
    }
}

static png_voidp png_codec_on_malloc(png_structp png, png_alloc_size_t size)
{
    png_state *state = png_get_mem_ptr(png);
    void *memory = sl_scratch_take(state->source->scratch, size);
    if (memory == NULL) {
        png_codec_fail(state, SLUICE_NOMEM, "not enough scratch memory to decode the image");
    }
    sl_poison_foreign(memory, size);
    return memory;
}

static void png_codec_on_free(png_structp png, png_voidp memory)
{
    (void)png;
    (void)memory;
}

static void png_codec_check_stop(png_state *state)
{
    /* relaxed: a thread that sees it late only works a little longer */
    if (state->source->stop != NULL &&
        atomic_load_explicit(state->source->stop, memory_order_relaxed)) {
        png_codec_fail(state, SLUICE_CANCELED, "stopped");
    }
}

/* Checks the next chunk of image data before its first byte is read. */
static void png_codec_check_chunk(png_state *state, const sl_bytes *rest)
{
    const size_t offset = (size_t)(rest->data - state->source->bytes.data);
    const sluice_status status = sl_png_check_sum(*rest, offset, state->source->stop, state->error);
    if (status != SLUICE_OK) {
        png_codec_leave(state, status);
    }
    state->checked = rest->data + SL_PNG_CHUNK_BYTES + sl_png_load32(rest->data);
}

/* Counts the bytes that belong neither to a chunk's head nor to its checksum. */
static void png_codec_count(png_state *state, const sl_bytes *rest, size_t wanted)
{
    if (rest->data == state->checked) {
        png_codec_check_chunk(state, rest);
    } else if (rest->data + wanted < state->checked) {
        if (wanted > state->data_left) {
            png_codec_fail(state, SLUICE_CORRUPT, SL_PNG_EXTRA_TEXT);
        }
        state->data_left -= wanted;
    }
}

/* Limits image data before the last row of the last pass is read. A row that cannot be compressed
 * takes slightly more than its bytes. */
static void png_codec_limit_data(png_state *state)
{
    const uint64_t row = sl_png_row_bytes(&state->png);
    state->data_left = row + row / 8 + SL_PNG_EXTRA_BYTES; /* fixed codes of at most 9 bits */
}

static void on_read(png_structp png, png_bytep to, size_t wanted)
{
    png_state *state = png_get_io_ptr(png);
    png_codec_check_stop(state);
    while (state->part < PARTS && state->parts[state->part].size == 0) {
        state->part++;
    }
    if (state->part == PARTS) {
        png_codec_fail(state, SLUICE_CORRUPT, "the PNG's image data end early");
    }
    sl_bytes *rest = &state->parts[state->part];
    if (state->part == 2) {
        png_codec_count(state, rest, wanted);
    }
    /* libpng reads a chunk's head, pieces of its content, and its checksum. */
    if (wanted > rest->size) {
        png_codec_fail(state, SLUICE_INTERNAL, "libpng reads past a chunk");
    }
    memcpy(to, rest->data, wanted);
    rest->data += wanted;
    rest->size -= wanted;
}

/* ---- decoding: runs below setjmp ---- */

static png_structp png_begin(png_state *state)
{
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, state, png_codec_on_error,
                                               png_codec_on_warning, state, png_codec_on_malloc,
                                               png_codec_on_free);
    if (png == NULL) {
        png_codec_fail(state, SLUICE_INTERNAL,
                       "libpng is not of the version that it was built for");
    }
    png_infop info = png_create_info_struct(png);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE); /* check_chunk does this */
    png_set_option(png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    png_set_check_for_invalid_index(png, 0); /* sl_png_to_rgb does this */
    png_set_read_fn(png, state, on_read);
    png_read_info(png, info);
    return png;
}

static void png_convert(png_state *state, const uint8_t *row, uint32_t y)
{
    const sl_rect *need = &state->need;
    uint8_t *rgb = state->pixels + (size_t)(y - need->y) * need->width * 3;
    if (row != rgb && !state->as_stored &&
        !sl_png_to_rgb(&state->png, &state->colours, row, need->x, need->width, rgb)) {
        png_codec_fail(state, SLUICE_CORRUPT, "a pixel's colour is not in the PNG's palette");
    }
}

static void *png_codec_take(png_state *state, uint64_t bytes)
{
    void *memory = bytes <= SIZE_MAX ? sl_scratch_take(state->source->scratch, bytes) : NULL;
    if (memory == NULL) {
        png_codec_fail(state, SLUICE_NOMEM, "not enough scratch memory to decode the image");
    }
    return memory;
}

/* Rows as stored: RGB if that is requested, else the input of the conversion. */
typedef struct rows {
    uint8_t *first; /* of row need.y */
    uint64_t step;  /* 0: each row overwrites the previous one */
} rows;

static rows place_rows(png_state *state)
{
    const sl_rect *need = &state->need;
    const sl_png *png = &state->png;
    const uint64_t bytes = sl_png_row_bytes(png);
    if (png->colour == SL_PNG_RGB && png->depth == 8 && need->width == png->size.width) {
        return (rows){state->pixels, bytes};
    }
    return png->interlaced ? (rows){png_codec_take(state, bytes * need->height), bytes}
                           : (rows){png_codec_take(state, bytes), 0};
}

/* Reads the rows of a pass up to `last`; after the last row of the `final` pass the stream ends. */
static void read_pass(png_state *state, png_structp png, const rows *to, uint32_t last, bool final)
{
    const sl_rect *need = &state->need;
    const uint32_t end = need->y + need->height;
    for (uint32_t y = 0; y < last; y++) {
        png_codec_check_stop(state);
        if (final && y + 1 == state->png.size.height) {
            png_codec_limit_data(state);
        }
        const bool needed = y >= need->y && y < end;
        uint8_t *row = needed ? to->first + (y - need->y) * to->step : NULL;
        png_read_row(png, row, NULL);
        if (needed && !state->png.interlaced) {
            png_convert(state, row, y);
        }
    }
}

static void read_picture(png_state *state, png_structp png, const rows *to)
{
    const sl_rect *need = &state->need;
    const bool to_end = need->y + need->height == state->png.size.height;
    const int passes = state->png.interlaced ? png_set_interlace_handling(png) : 1;
    for (int pass = 1; pass <= passes; pass++) {
        const bool final = pass == passes;
        read_pass(state, png, to, final ? need->y + need->height : state->png.size.height, final);
    }
    for (uint32_t y = need->y; state->png.interlaced && y < need->y + need->height; y++) {
        png_codec_check_stop(state);
        png_convert(state, to->first + (y - need->y) * to->step, y);
    }
    if (to_end) {
        png_read_end(png, NULL);
    }
}

/* 16-bit values have the high byte first. */
static void copy_values(png_state *state, const uint8_t *row, uint32_t y)
{
    const uint64_t bytes = sl_png_row_bytes(&state->png);
    uint8_t *to = state->pixels + (y - state->need.y) * bytes;
    if (state->png.depth == 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        memcpy(to, row, bytes);
        return;
    }
    for (uint64_t i = 0; i + 1 < bytes; i += 2) {
        to[i] = row[i + 1];
        to[i + 1] = row[i];
    }
}

/* Records how far image data were read, for png_codec_fail. */
static void note_place(png_state *state, const sl_png_rows *unpacked)
{
    const sl_bytes *data = &state->png.data;
    state->part = 2;
    state->parts[2].size = (size_t)(data->data + data->size - unpacked->z.next_in);
}

static void unpack_rows(png_state *state)
{
    const sl_rect *need = &state->need;
    const uint32_t end = need->y + need->height;
    sl_png_rows unpacked;
    sluice_status status =
        sl_png_rows_open(&unpacked, &state->png, state->source, end, state->error);
    for (uint32_t y = 0; y < end && status == SLUICE_OK; y++) {
        const uint8_t *row = NULL;
        status = sl_png_rows_next(&unpacked, &row, state->error);
        if (status == SLUICE_OK && y >= need->y && state->as_stored) {
            copy_values(state, row, y);
        } else if (status == SLUICE_OK && y >= need->y) {
            note_place(state, &unpacked);
            png_convert(state, row, y);
        }
    }
    if (status == SLUICE_OK && end == state->png.size.height) {
        status = sl_png_rows_end(&unpacked, state->error);
    }
    if (status != SLUICE_OK) {
        png_codec_leave(state, status);
    }
}

static void decode_work(png_state *state)
{
    const sl_rect *need = &state->need;
    state->pixels = png_codec_take(state, (uint64_t)need->width * need->height * 3);
    if (sl_png_rows_takes(&state->png)) {
        sl_png_colours_of(&state->png, &state->colours);
        unpack_rows(state);
        return;
    }
    const rows to = place_rows(state);
    sl_png_colours_of(&state->png, &state->colours);
    read_picture(state, png_begin(state), &to);
}

static sl_decoded_form form_of(const sl_png *png)
{
    return (sl_decoded_form){
        .dtype = png->depth == 16 ? SLUICE_U16 : SLUICE_U8,
        .dims = 3,
        .shape = {png->size.height, png->size.width, sl_png_pixel_bits(png) / png->depth}};
}

/* libpng puts each sample into bytes of its own and does not change its value. */
static void values_work(png_state *state)
{
    const sl_decoded_form form = form_of(&state->png);
    const uint64_t row_bytes = sl_decoded_step_bytes(&form);
    state->pixels = png_codec_take(state, row_bytes * state->need.height);
    if (sl_png_rows_takes(&state->png)) {
        unpack_rows(state);
        return;
    }
    png_structp png = png_begin(state);
    png_set_packing(png);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        png_set_swap(png);
    }
    read_picture(state, png, &(rows){state->pixels, row_bytes});
}

/* ---- the row of the table ---- */

/*
 * At most, per pixel: 3 bytes of RGB, 8 as stored, and twice 8 in libpng (the current row and the
 * previous one), all of it if an image is one row of 16-bit RGBA. In addition: the states of libpng
 * and zlib, about 60 kB.
 */
static uint64_t png_scratch_bytes(uint64_t max_pixels)
{
    const uint64_t most = UINT64_C(1) << 40;
    return sl_min_u64(max_pixels, most) * 27 + ((uint64_t)1 << 20);
}

static sluice_status png_open(void **state, sluice_error *error)
{
    *state = sl_calloc(1, sizeof(png_state));
    return *state != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "for a PNG decoder");
}

static sluice_status png_header(void *state, const sl_codec_source *source, sl_codec_info *info,
                                sluice_error *error)
{
    png_state *own = state;
    const sluice_status status = sl_png_read(&own->png, source, error);
    *info = (sl_codec_info){.stored = own->png.size, .orientation = own->png.orientation};
    if (status == SLUICE_OK) {
        info->values = form_of(&own->png);
    }
    return status;
}

static void png_prepare(png_state *own, const sl_codec_source *source, const sl_rect *need,
                        sluice_error *error)
{
    own->source = source;
    own->error = error;
    own->need = *need;
    own->parts[0] = (sl_bytes){source->bytes.data, SL_PNG_HEAD_BYTES};
    own->parts[1] = own->png.palette;
    own->parts[2] = own->png.data;
    own->parts[3] = (sl_bytes){end_chunk, sizeof(end_chunk)};
    own->part = 0;
    own->checked = own->png.data.data;
    own->data_left = UINT64_MAX;
}

static sluice_status png_pixels(void *state, const sl_codec_source *source,
                                const sl_codec_request *request, sl_image *view,
                                sluice_error *error)
{
    png_state *own = state;
    png_prepare(own, source, &request->need, error);
    own->as_stored = false;
    if (setjmp(own->jump) != 0) {
        return own->status;
    }
    decode_work(own);
    *view = sl_codec_view(own->pixels, request->need, own->png.size);
    return SLUICE_OK;
}

static sluice_status png_values(void *state, const sl_codec_source *source, uint64_t first,
                                uint64_t count, const uint8_t **values, sluice_error *error)
{
    png_state *own = state;
    const sl_rect need = {0, (uint32_t)first, own->png.size.width, (uint32_t)count};
    png_prepare(own, source, &need, error);
    own->as_stored = true;
    if (setjmp(own->jump) != 0) {
        return own->status;
    }
    values_work(own);
    *values = own->pixels;
    return SLUICE_OK;
}

const sl_codec sl_codec_png = {
    .number = 3,
    .denominator_max = 1,
    .scratch_bytes = png_scratch_bytes,
    .open = png_open,
    .close = sl_free,
    .header = png_header,
    .pixels = png_pixels,
    .values = png_values,
    .check_sums = sl_png_check_sums,
};
