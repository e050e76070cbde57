/* SPDX-License-Identifier: Apache-2.0 */
#include "webp_chunks.h"

#include "error.h"
#include "exif.h"
#include "little_endian.h"

#include <string.h>

#define STAGE "decode"

enum {
    RIFF_BYTES = 12,
    HEAD_BYTES = 8,
    CANVAS_BYTES = 10, /* of chunk VP8X: flags, 3 reserved bytes, width and height less 1 */
    FLAG_ANIMATION = 2,
    FRAME_BYTES = 10,   /* of a key frame: a tag of 3 bytes, 3 of a start code, width and height */
    LOSSLESS_BYTES = 5, /* a signature, then 14 bits of each side less 1 */
    LOSSLESS_SIGNATURE = 0x2F,
    SIDE_BITS = 14
};

typedef struct walk {
    sl_webp *webp;
    const sl_codec_source *source;
    sluice_error *error;
    sl_picture canvas; /* from VP8X; 0: there is none */
    size_t end;        /* of the container */
    bool oriented;
} walk;

typedef struct chunk {
    size_t offset;
    const uint8_t *type;
    sl_bytes content;
} chunk;

bool sl_webp_probe(sl_bytes bytes)
{
    return bytes.size >= RIFF_BYTES && memcmp(bytes.data, "RIFF", 4) == 0 &&
           memcmp(bytes.data + 8, "WEBP", 4) == 0;
}

static sluice_status webp_chunks_refuse(const walk *w, size_t offset, const char *text)
{
    return sl_error_file(w->error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)offset, "%s", text);
}

static bool webp_chunks_is_type(const chunk *c, const char *type)
{
    return memcmp(c->type, type, 4) == 0;
}

static uint32_t load24(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
}

static sluice_status take_canvas(walk *w, const chunk *c)
{
    if (c->content.size < CANVAS_BYTES) {
        return webp_chunks_refuse(w, c->offset, "the WebP's header VP8X is too short");
    }
    const uint8_t *canvas = c->content.data;
    if ((canvas[0] & FLAG_ANIMATION) != 0) {
        return sl_error_file(w->error, SLUICE_UNSUPPORTED, STAGE, 0, NULL, (int64_t)c->offset,
                             "the WebP is an animation, not one image");
    }
    w->canvas = (sl_picture){load24(canvas + 4) + 1, load24(canvas + 7) + 1};
    return SLUICE_OK;
}

static bool webp_chunks_read_size(sl_webp *webp, sl_bytes content)
{
    const uint8_t *p = content.data;
    if (webp->lossless) {
        if (content.size < LOSSLESS_BYTES || p[0] != LOSSLESS_SIGNATURE) {
            return false;
        }
        const uint32_t bits = sl_load32(p + 1);
        const uint32_t mask = (1U << SIDE_BITS) - 1;
        webp->size = (sl_picture){(bits & mask) + 1, (bits >> SIDE_BITS & mask) + 1};
        return true;
    }
    if (content.size < FRAME_BYTES || (p[0] & 1) != 0 || memcmp(p + 3, "\x9d\x01\x2a", 3) != 0) {
        return false;
    }
    const uint32_t mask = (1U << SIDE_BITS) - 1; /* the upper bits suggest a scale for display */
    webp->size =
        (sl_picture){(uint32_t)(p[6] | p[7] << 8) & mask, (uint32_t)(p[8] | p[9] << 8) & mask};
    return webp->size.width > 0 && webp->size.height > 0;
}

static sluice_status webp_chunks_take_data(const walk *w, const chunk *c)
{
    sl_webp *webp = w->webp;
    if (webp->data.size > 0) {
        return SLUICE_OK; /* as in libwebp: the first one counts */
    }
    webp->lossless = webp_chunks_is_type(c, "VP8L");
    webp->data = (sl_bytes){c->type, c->content.size + HEAD_BYTES};
    if (!webp_chunks_read_size(webp, c->content)) {
        return webp_chunks_refuse(w, c->offset, "the WebP's image has no header");
    }
    if (w->canvas.width > 0 &&
        (webp->size.width != w->canvas.width || webp->size.height != w->canvas.height)) {
        return webp_chunks_refuse(w, c->offset, "the WebP's image and canvas have different sizes");
    }
    return sl_codec_check_pixels(w->source, webp->size, w->error);
}

static sluice_status webp_chunks_take(walk *w, const chunk *c)
{
    if (webp_chunks_is_type(c, "VP8 ") || webp_chunks_is_type(c, "VP8L")) {
        return webp_chunks_take_data(w, c);
    }
    if (c->offset == RIFF_BYTES) {
        return webp_chunks_is_type(c, "VP8X")
                   ? take_canvas(w, c)
                   : webp_chunks_refuse(w, c->offset,
                                        "the first chunk of the WebP is not VP8, VP8L or VP8X");
    }
    if (webp_chunks_is_type(c, "EXIF") && !w->oriented) {
        w->oriented = true;
        w->webp->orientation = sl_exif_orientation_of_block(c->content);
    }
    return SLUICE_OK;
}

/* Enters the chunk at `offset`, before the container's end. */
static sluice_status webp_chunks_enter(const walk *w, size_t offset, chunk *c)
{
    const size_t left = w->end - offset;
    if (left < HEAD_BYTES) {
        return webp_chunks_refuse(w, offset, "the WebP ends inside a chunk's header");
    }
    c->offset = offset;
    c->type = w->source->bytes.data + offset;
    c->content = (sl_bytes){c->type + HEAD_BYTES, sl_load32(c->type + 4)};
    if (c->content.size > left - HEAD_BYTES) {
        return webp_chunks_refuse(w, offset, "the WebP ends inside a chunk");
    }
    return SLUICE_OK;
}

sluice_status sl_webp_read(sl_webp *webp, const sl_codec_source *source, sluice_error *error)
{
    walk w = {.webp = webp, .source = source, .error = error};
    sluice_status status = SLUICE_OK;
    *webp = (sl_webp){.orientation = 1};
    if (!sl_webp_probe(source->bytes)) {
        return webp_chunks_refuse(&w, 0, "the WebP does not begin with its signature");
    }
    w.end = HEAD_BYTES + (size_t)sl_load32(source->bytes.data + 4);
    if (w.end > source->bytes.size) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, (int64_t)source->bytes.size,
                             "the WebP ends after %zu of %zu bytes", source->bytes.size, w.end);
    }
    for (size_t offset = RIFF_BYTES; offset < w.end && status == SLUICE_OK;) {
        chunk c = {.type = source->bytes.data};
        status = webp_chunks_enter(&w, offset, &c);
        if (status == SLUICE_OK) {
            status = webp_chunks_take(&w, &c);
        }
        offset += HEAD_BYTES + c.content.size + (c.content.size & 1); /* padded to 2 bytes */
    }
    if (status == SLUICE_OK && webp->data.size == 0) {
        return webp_chunks_refuse(&w, w.end, "the WebP has no image");
    }
    return status;
}
