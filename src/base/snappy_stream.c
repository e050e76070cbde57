/* SPDX-License-Identifier: Apache-2.0 */
#include "snappy_stream.h"

#include "memory.h"
#include "minmax.h"

#include <string.h>

/* The farthest a copy reaches back; a power of two. */
#define WINDOW_BYTES ((size_t)64 << 10)

typedef enum where {
    WHERE_SIZE,   /* in the unpacked size */
    WHERE_TAG,    /* between two elements */
    WHERE_NUMBER, /* in the number after a tag */
    WHERE_LITERAL,
    WHERE_COPY
} where;

struct sl_snappy_stream {
    where where;
    uint8_t tag;
    uint8_t shift;       /* of the next byte of a number */
    uint8_t wanted;      /* bytes of the number that are still missing */
    uint64_t number;     /* so far */
    uint64_t size, done; /* unpacked bytes in all, and so far */
    uint64_t left,
        distance; /* bytes of the element that are still to come, and their distance back */
    uint8_t window[WINDOW_BYTES]; /* byte b is at b % WINDOW_BYTES */
};

sl_snappy_stream *sl_snappy_stream_open(void)
{
    return sl_calloc(1, sizeof(sl_snappy_stream));
}

void sl_snappy_stream_close(sl_snappy_stream *stream)
{
    sl_free(stream);
}

bool sl_snappy_stream_ended(const sl_snappy_stream *stream)
{
    return stream->where == WHERE_TAG && stream->done == stream->size;
}

/* ---- elements ---- */

static sl_refusal snappy_stream_take_size(sl_snappy_stream *s, uint8_t byte)
{
    s->number |= (uint64_t)(byte & 0x7f) << s->shift;
    s->shift = (uint8_t)(s->shift + 7);
    if (s->number > UINT32_MAX || (byte >= 0x80 && s->shift >= 35)) {
        return sl_refuse("the header of the snappy block is invalid", 0);
    }
    if (byte < 0x80) {
        s->size = s->number;
        s->where = WHERE_TAG;
    }
    return sl_accept();
}

static sl_refusal snappy_stream_begin_element(sl_snappy_stream *s, where kind, uint64_t bytes)
{
    s->where = kind;
    s->left = bytes;
    if (bytes > s->size - s->done) {
        return sl_refuse("the snappy block unpacks to more bytes than its header says", 0);
    }
    if (kind == WHERE_COPY && (s->distance == 0 || s->distance > s->done)) {
        return sl_refuse("the snappy block copies from before its beginning", 0);
    }
    if (kind == WHERE_COPY && s->distance > WINDOW_BYTES) {
        return sl_refuse_unknown(
            "the snappy block copies from more than 64 KiB back, which Google's library never does",
            0);
    }
    return sl_accept();
}

static sl_refusal take_tag(sl_snappy_stream *s, uint8_t tag)
{
    static const uint8_t numbers[4] = {0, 1, 2, 4};
    if (s->done == s->size) {
        return sl_refuse("the snappy block continues after its end", 0);
    }
    const uint32_t upper = tag >> 2;
    s->tag = tag;
    s->number = 0;
    s->shift = 0;
    s->wanted = (tag & 3) == 0 && upper >= 60 ? (uint8_t)(upper - 59) : numbers[tag & 3];
    s->where = WHERE_NUMBER;
    return s->wanted == 0 ? snappy_stream_begin_element(s, WHERE_LITERAL, upper + 1) : sl_accept();
}

static sl_refusal snappy_stream_take_number(sl_snappy_stream *s, uint8_t byte)
{
    s->number |= (uint64_t)byte << s->shift;
    s->shift = (uint8_t)(s->shift + 8);
    if (--s->wanted > 0) {
        return sl_accept();
    }
    const uint8_t tag = s->tag;
    s->distance = s->number;
    switch (tag & 3) {
    case 0:
        return snappy_stream_begin_element(s, WHERE_LITERAL, s->number + 1);
    case 1:
        s->distance |= (uint64_t)(tag >> 5) << 8;
        return snappy_stream_begin_element(s, WHERE_COPY, (uint64_t)(tag >> 2 & 7) + 4);
    default:
        return snappy_stream_begin_element(s, WHERE_COPY, (uint64_t)(tag >> 2) + 1);
    }
}

/* ---- output ---- */

/* Returns how many bytes, at most `bytes`, fit now in the window and in the space. */
static size_t fitting(const sl_snappy_stream *s, const sl_unpack_step *step, size_t bytes)
{
    const size_t to_edge = WINDOW_BYTES - s->done % WINDOW_BYTES;
    return sl_min_size(sl_min_size(bytes, step->capacity), sl_min_size((size_t)s->left, to_edge));
}

static void snappy_stream_put(sl_snappy_stream *s, sl_unpack_step *step, const uint8_t *from,
                              size_t bytes)
{
    memcpy(step->to, from, bytes);
    memcpy(s->window + s->done % WINDOW_BYTES, step->to, bytes);
    step->to += bytes;
    step->capacity -= bytes;
    s->done += bytes;
    s->left -= bytes;
    s->where = s->left == 0 ? WHERE_TAG : s->where;
}

static void snappy_stream_go_on(sl_snappy_stream *s, sl_unpack_step *step)
{
    if (s->where == WHERE_LITERAL) {
        const size_t bytes = fitting(s, step, step->in.size);
        snappy_stream_put(s, step, step->in.data, bytes);
        step->in = (sl_bytes){step->in.data + bytes, step->in.size - bytes};
        return;
    }
    /* A copy may overlap its output: then it repeats. */
    const size_t from = (size_t)((s->done - s->distance) % WINDOW_BYTES);
    const size_t there = sl_min_size((size_t)s->distance, WINDOW_BYTES - from);
    snappy_stream_put(s, step, s->window + from, fitting(s, step, there));
}

static sl_refusal take_byte(sl_snappy_stream *s, uint8_t byte)
{
    switch (s->where) {
    case WHERE_SIZE:
        return snappy_stream_take_size(s, byte);
    case WHERE_TAG:
        return take_tag(s, byte);
    default:
        return snappy_stream_take_number(s, byte);
    }
}

sl_refusal sl_snappy_stream_run(sl_snappy_stream *stream, sl_unpack_step *step)
{
    for (;;) {
        if (stream->where == WHERE_LITERAL || stream->where == WHERE_COPY) {
            if (step->capacity == 0 || (stream->where == WHERE_LITERAL && step->in.size == 0)) {
                return sl_accept();
            }
            snappy_stream_go_on(stream, step);
            continue;
        }
        if (step->in.size == 0) {
            return sl_accept();
        }
        const sl_refusal why = take_byte(stream, step->in.data[0]);
        if (why.text != NULL) {
            return why;
        }
        step->in = (sl_bytes){step->in.data + 1, step->in.size - 1};
    }
}
