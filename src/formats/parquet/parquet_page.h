/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_page: pages of values, and one value out of them.
 *
 * Purpose: what a dataset needs that reads pages at open, and a worker that has to unpack one for a
 * single value: compression, levels, and byte arrays of variable length. A page's body is levels
 * (how much of the value's path is there: LEVEL of 0 to `max`), then values. Source: Apache
 * Parquet, Encodings.md. Threads: pure.
 */
#ifndef SL_PARQUET_PAGE_H
#define SL_PARQUET_PAGE_H

#include "error.h"
#include "frame.h"
#include "value_buffer.h"
#include "view.h"

#include <stdbool.h>

/* Numbers of Parquet's CompressionCodec; there is one more, LZO, which is refused. */
typedef enum sl_page_codec {
    SL_PAGE_PLAIN = 0,
    SL_PAGE_SNAPPY = 1,
    SL_PAGE_GZIP = 2,
    SL_PAGE_BROTLI = 4,
    SL_PAGE_LZ4 = 5, /* in Hadoop's framing, or what writers took for it */
    SL_PAGE_ZSTD = 6,
    SL_PAGE_LZ4_RAW = 7
} sl_page_codec;

/* Why pages of this codec cannot be read; NULL: they can. */
const char *sl_page_codec_refused(uint32_t codec);
/* Whether a page of `bytes` cannot be meant to unpack to so many: it would fill memory. */
bool sl_page_is_bomb(uint32_t bytes, uint32_t unpacked);

/*
 * Unpacks to `to`, `size` bytes. `frame` NULL: with a context for this call. Errors: CORRUPT,
 * NOMEM.
 */
sluice_status sl_page_unpack(sl_frame *frame, sl_page_codec codec, sl_bytes packed, uint8_t *to,
                             size_t size, sluice_error *error);

/* ---- numbers of a few bits: runs of one, and packed groups of eight ---- */

typedef struct sl_levels {
    const uint8_t *at, *end;
    uint32_t width;  /* bits of each, 0 to 32 */
    uint32_t value;  /* of the run */
    uint64_t run;    /* left of it */
    uint64_t packed; /* left of packed ones */
    uint64_t bits;   /* read of the packed ones, from `at` */
} sl_levels;

/* Bits that numbers of 0 to `most` take. */
uint32_t sl_levels_width(uint32_t most);
void sl_levels_begin(sl_levels *levels, sl_bytes bytes, uint32_t width);
/* False: there is no more, or it is damaged. */
bool sl_levels_next(sl_levels *levels, uint32_t *value);
/*
 * Goes on over `count` of them, and adds to `*found` how many are `most`; whole runs, and bits by
 * the word, at a time. False: there are not so many, or one is larger.
 */
bool sl_levels_skip(sl_levels *levels, uint64_t count, uint32_t most, uint32_t *found);

/* ---- one value of a page ---- */

/* Which value of a page of byte arrays, stored one behind the other. */
typedef struct sl_page_pick {
    uint8_t codec;        /* an sl_page_codec */
    uint8_t max_level;    /* of how much is there; 0: no levels are stored */
    bool has_reps;        /* levels of lists come before them */
    bool sized_levels;    /* both begin with their size (a page of version 1) */
    uint32_t rep_bytes;   /* of the levels of lists, in a page of version 2 */
    uint32_t plain_bytes; /* in front of what is compressed: levels of a page of version 2 */
    uint32_t bytes;       /* of the body when unpacked, those included */
    uint32_t row;         /* or element: which slot of the levels */
} sl_page_pick;

/* The levels of how much is there, in an unpacked body, and where its values begin. */
sl_refusal sl_page_split(const sl_page_pick *pick, sl_bytes body, sl_bytes *levels, size_t *values);
/* The value in an unpacked body; without data: it is null. Refuses what is damaged. */
sl_refusal sl_page_find(const sl_page_pick *pick, sl_bytes body, sl_bytes *value);
/* Unpacks the stored body to `to`, pick->bytes of them; `buffers` have a context for that. */
sl_refusal sl_page_open(const sl_page_pick *pick, sl_bytes stored, sl_value_buffers *buffers,
                        uint8_t *to);

#endif
