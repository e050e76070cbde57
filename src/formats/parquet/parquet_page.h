/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_page: unpacks pages, and finds one value in a page.
 *
 * Purpose: shared by opening, which reads whole pages, and by workers, which unpack one for a
 * single value: compression, levels, and byte arrays of variable length. A page's body has levels
 * (how much of the value's path is present, from 0 to `max`), then values. Source: Apache Parquet,
 * Encodings.md. Threads: pure.
 */
#ifndef SL_PARQUET_PAGE_H
#define SL_PARQUET_PAGE_H

#include "error.h"
#include "frame.h"
#include "value_buffer.h"
#include "view.h"

#include <stdbool.h>

/* Numbers of Parquet's CompressionCodec, except LZO, which is not supported. */
typedef enum sl_page_codec {
    SL_PAGE_PLAIN = 0,
    SL_PAGE_SNAPPY = 1,
    SL_PAGE_GZIP = 2,
    SL_PAGE_BROTLI = 4,
    SL_PAGE_LZ4 = 5, /* in Hadoop's framing, or what writers use for it */
    SL_PAGE_ZSTD = 6,
    SL_PAGE_LZ4_RAW = 7
} sl_page_codec;

/* Returns why pages of this codec cannot be read; NULL: they can. */
const char *sl_page_codec_refused(uint32_t codec);
/*
 * Returns whether a page of `bytes` claims an implausible unpacked size, which would exhaust
 * memory.
 */
bool sl_page_is_bomb(uint32_t bytes, uint32_t unpacked);

/*
 * Unpacks `size` bytes to `to`. `frame` NULL: creates a context for this call. Errors: CORRUPT,
 * NOMEM.
 */
sluice_status sl_page_unpack(sl_frame *frame, sl_page_codec codec, sl_bytes packed, uint8_t *to,
                             size_t size, sluice_error *error);

/* ---- numbers of a few bits: runs of one, and packed groups of eight ---- */

typedef struct sl_levels {
    const uint8_t *at, *end;
    uint32_t width;  /* bits per number, 0 to 32 */
    uint32_t value;  /* value of the run */
    uint64_t run;    /* numbers left in the run */
    uint64_t packed; /* packed numbers left */
    uint64_t bits;   /* bits read of the packed numbers, from `at` */
} sl_levels;

/* Returns the number of bits for numbers of 0 to `most`. */
uint32_t sl_levels_width(uint32_t most);
void sl_levels_begin(sl_levels *levels, sl_bytes bytes, uint32_t width);
/* Reads the next number. False: no more, or damaged. */
bool sl_levels_next(sl_levels *levels, uint32_t *value);
/*
 * Skips `count` numbers, and adds to `*found` how many equal `most`; processes whole runs and whole
 * words of bits. False: there are fewer, or one is larger.
 */
bool sl_levels_skip(sl_levels *levels, uint64_t count, uint32_t most, uint32_t *found);

/* ---- one value of a page ---- */

/* Selects a value in a page of adjacent byte arrays. */
typedef struct sl_page_pick {
    uint8_t codec;        /* an sl_page_codec */
    uint8_t max_level;    /* highest level of presence; 0: no levels are stored */
    bool has_reps;        /* true if levels of lists precede them */
    bool sized_levels;    /* true if both begin with their size (page version 1) */
    uint32_t rep_bytes;   /* size of the list levels, in a page of version 2 */
    uint32_t plain_bytes; /* size of the uncompressed levels in front, in a page of version 2 */
    uint32_t bytes;       /* unpacked size of the body, including these */
    uint32_t row;         /* slot of the levels: a row or element */
} sl_page_pick;

/* Finds the presence levels in an unpacked body, and where its values begin. */
sl_refusal sl_page_split(const sl_page_pick *pick, sl_bytes body, sl_bytes *levels, size_t *values);
/* Finds the value in an unpacked body; data NULL: null. Rejects a damaged page. */
sl_refusal sl_page_find(const sl_page_pick *pick, sl_bytes body, sl_bytes *value);
/* Unpacks the stored body to `to`, pick->bytes long, with a context from `buffers`. */
sl_refusal sl_page_open(const sl_page_pick *pick, sl_bytes stored, sl_value_buffers *buffers,
                        uint8_t *to);

#endif
