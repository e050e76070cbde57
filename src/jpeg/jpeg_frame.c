/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_frame: a parser of markers up to the scan. Pure. The bytes are untrusted: a segment is
 * parsed only after its length was checked, and anything unusual is left to libjpeg. */
#include "jpeg_frame.h"

#include <string.h>

enum {
    MARK = 0xFF,
    SOF0 = 0xC0,
    SOF1 = 0xC1,
    DHT = 0xC4,
    SOI = 0xD8,
    SOS = 0xDA,
    DQT = 0xDB,
    DRI = 0xDD,
    APP0 = 0xE0,
    APP1 = 0xE1,
    APP14 = 0xEE,
    APP15 = 0xEF,
    COM = 0xFE,

    BLOCK = 64,
    TABLES = 4,     /* of each kind */
    CODE_HEAD = 17, /* class and number, and the number of codes of each length */
    SYMBOLS_MAX = 256,
    SIDE_MAX = 65500, /* libjpeg's limit */
    /* minimum length of a segment that libjpeg accepts */
    JFIF_BYTES = 14,
    ADOBE_BYTES = 12,
    ADOBE_TRANSFORM_AT = 11,
    ADOBE_YCBCR = 1
};

/* The contents of the segments so far. Pointers are NULL until the segment is found. */
typedef struct header {
    const uint8_t *quantizers[TABLES]; /* at the byte before them: width and number */
    const uint8_t *codes[2][TABLES];   /* DC and AC, at CODE_HEAD */
    const uint8_t *frame;              /* contents of SOF */
    uint32_t interval;
    bool jfif, app1, more;
    const uint8_t *adobe;
} header;

static uint32_t jpeg_frame_load16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static bool read_quantizers(header *h, sl_bytes segment)
{
    const uint8_t *at = segment.data;
    size_t left = segment.size;
    while (left > 0) {
        const uint32_t wide = at[0] >> 4;
        const uint32_t number = at[0] & 15;
        const size_t size = 1 + (size_t)BLOCK * (1 + wide);
        if (wide > 1 || number >= TABLES || size > left) {
            return false;
        }
        h->quantizers[number] = at;
        at += size;
        left -= size;
    }
    return true;
}

static bool read_codes(header *h, sl_bytes segment)
{
    const uint8_t *at = segment.data;
    size_t left = segment.size;
    while (left > 0) {
        if (left < CODE_HEAD) {
            return false;
        }
        const uint32_t ac = at[0] >> 4;
        const uint32_t number = at[0] & 15;
        size_t symbols = 0;
        for (int length = 1; length < CODE_HEAD; length++) {
            symbols += at[length];
        }
        if (ac > 1 || number >= TABLES || symbols > SYMBOLS_MAX || CODE_HEAD + symbols > left) {
            return false;
        }
        h->codes[ac][number] = at;
        at += CODE_HEAD + symbols;
        left -= CODE_HEAD + symbols;
    }
    return true;
}

static bool read_frame(header *h, sl_bytes segment)
{
    enum { HEAD = 6, EACH = 3 };
    const uint8_t *at = segment.data;
    if (h->frame != NULL || segment.size < HEAD || at[0] != 8 ||
        (at[5] != 1 && at[5] != SL_JPEG_FRAME_COMPONENTS) ||
        segment.size != HEAD + EACH * (size_t)at[5]) {
        return false;
    }
    h->frame = at;
    return true;
}

static bool read_interval(header *h, sl_bytes segment)
{
    if (segment.size != 2) {
        return false;
    }
    h->interval = jpeg_frame_load16(segment.data);
    return true;
}

static bool read_application(header *h, uint32_t marker, sl_bytes segment)
{
    const bool jfif =
        marker == APP0 && segment.size >= JFIF_BYTES && memcmp(segment.data, "JFIF", 5) == 0;
    const bool adobe =
        marker == APP14 && segment.size >= ADOBE_BYTES && memcmp(segment.data, "Adobe", 5) == 0;
    h->jfif |= jfif;
    h->adobe = adobe ? segment.data : h->adobe;
    h->app1 |= marker == APP1;
    h->more |= !(jfif && segment.size == JFIF_BYTES) && !adobe;
    return (marker >= APP0 && marker <= APP15) || marker == COM;
}

/* Reads any segment except the start of a scan. False: for libjpeg. */
static bool read_segment(header *h, uint32_t marker, sl_bytes segment)
{
    switch (marker) {
    case DQT:
        return read_quantizers(h, segment);
    case DHT:
        return read_codes(h, segment);
    case SOF0:
    case SOF1:
        return read_frame(h, segment);
    case DRI:
        return read_interval(h, segment);
    default:
        return read_application(h, marker, segment);
    }
}

/* Reads segments up to the start of the scan, and returns its contents. libjpeg skips bytes
 * between segments with a warning; such images are left to it. */
static bool read_segments(header *h, sl_bytes jpeg, sl_bytes *scan)
{
    size_t at = 2;
    for (;;) {
        if (jpeg.size - at < 4 || jpeg.data[at] != MARK) {
            return false;
        }
        const uint32_t marker = jpeg.data[at + 1];
        if (marker == MARK) { /* a fill byte */
            at++;
            continue;
        }
        const size_t length = jpeg_frame_load16(jpeg.data + at + 2);
        if (length < 2 || length > jpeg.size - at - 2) {
            return false;
        }
        const sl_bytes segment = {jpeg.data + at + 4, length - 2};
        if (marker == SOS) {
            *scan = segment;
            return true;
        }
        if (!read_segment(h, marker, segment)) {
            return false;
        }
        at += 2 + length;
    }
}

/* Guesses the colours of three components like libjpeg (jdapimin.c). */
static bool is_ycbcr(const header *h, const uint8_t ids[SL_JPEG_FRAME_COMPONENTS])
{
    if (h->jfif) {
        return true;
    }
    if (h->adobe != NULL) {
        return h->adobe[ADOBE_TRANSFORM_AT] == ADOBE_YCBCR;
    }
    return memcmp(ids, "RGB", SL_JPEG_FRAME_COMPONENTS) != 0;
}

/* Reads sizes, sampling and colours. */
static bool take_frame(sl_jpeg_frame *frame, const header *h)
{
    uint8_t ids[SL_JPEG_FRAME_COMPONENTS] = {0};
    uint32_t factors[SL_JPEG_FRAME_COMPONENTS] = {0};
    const uint8_t *at = h->frame;
    frame->height = jpeg_frame_load16(at + 1);
    frame->width = jpeg_frame_load16(at + 3);
    frame->component_count = at[5];
    if (frame->width == 0 || frame->height == 0 || frame->width > SIDE_MAX ||
        frame->height > SIDE_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < frame->component_count; i++) {
        ids[i] = at[6 + 3 * i];
        factors[i] = at[7 + 3 * i];
        const uint32_t across = factors[i] >> 4;
        const uint32_t down = factors[i] & 15;
        if (across == 0 || across > 4 || down == 0 || down > 4) {
            return false;
        }
    }
    frame->across = 1;
    frame->down = 1;
    if (frame->component_count == 1) { /* an MCU is one block, regardless of the factors */
        return true;
    }
    frame->across = factors[0] >> 4;
    frame->down = factors[0] & 15;
    return frame->across <= 2 && frame->down <= 2 && factors[1] == 0x11 && factors[2] == 0x11 &&
           ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2] && is_ycbcr(h, ids);
}

static sl_huffman_code code_at(const uint8_t *head)
{
    return (sl_huffman_code){.bits = head, .symbols = head + CODE_HEAD};
}

/* Finds the tables of component `i`, whose entry in the scan's header is at `entry`. */
static bool take_component(sl_jpeg_frame *frame, const header *h, uint32_t i, const uint8_t *entry)
{
    const uint8_t *of_frame = h->frame + 6 + 3 * (size_t)i;
    const uint32_t quantizers = of_frame[2];
    const uint32_t dc = entry[1] >> 4;
    const uint32_t ac = entry[1] & 15;
    if (entry[0] != of_frame[0] || quantizers >= TABLES || dc >= TABLES || ac >= TABLES ||
        h->quantizers[quantizers] == NULL || h->codes[0][dc] == NULL || h->codes[1][ac] == NULL) {
        return false;
    }
    frame->components[i] = (sl_jpeg_frame_component){.quantizers = h->quantizers[quantizers] + 1,
                                                     .wide = h->quantizers[quantizers][0] >> 4 != 0,
                                                     .dc = code_at(h->codes[0][dc]),
                                                     .ac = code_at(h->codes[1][ac])};
    return true;
}

/* Reads one scan of all components and coefficients. */
static bool take_scan(sl_jpeg_frame *frame, const header *h, sl_bytes scan)
{
    const uint32_t count = frame->component_count;
    if (scan.size != 4 + 2 * (size_t)count || scan.data[0] != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!take_component(frame, h, i, scan.data + 1 + 2 * (size_t)i)) {
            return false;
        }
    }
    const uint8_t *coefficients = scan.data + 1 + 2 * (size_t)count;
    return coefficients[0] == 0 && coefficients[1] == BLOCK - 1 && coefficients[2] == 0;
}

bool sl_jpeg_frame_read(sl_jpeg_frame *frame, sl_bytes jpeg)
{
    header h = {.frame = NULL};
    sl_bytes scan;
    if (jpeg.size < 2 || jpeg.size > UINT32_MAX || jpeg.data[0] != MARK || jpeg.data[1] != SOI ||
        !read_segments(&h, jpeg, &scan) || h.frame == NULL || !take_frame(frame, &h) ||
        !take_scan(frame, &h, scan)) {
        return false;
    }
    frame->interval = h.interval;
    frame->scan = (uint32_t)(scan.data + scan.size - jpeg.data);
    frame->has_app1 = h.app1;
    frame->has_more = h.more;
    return true;
}

static uint32_t jpeg_frame_divide_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit;
}

sl_jpeg_tiles sl_jpeg_frame_tiles(const sl_jpeg_frame *frame)
{
    sl_jpeg_tiles tiles = {.mcus_across = jpeg_frame_divide_up(frame->width, 8 * frame->across),
                           .mcus_down = jpeg_frame_divide_up(frame->height, 8 * frame->down),
                           .interval = frame->interval};
    if (tiles.interval == 0) {
        tiles.interval = tiles.mcus_across * tiles.mcus_down;
    }
    return tiles;
}
