/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_buffer: memory into which a format unpacks data that contain a value among others.
 *
 * Purpose: a value may be in a compressed page of many. The page is unpacked here, and stays, so
 * that the next value of the same page costs nothing; so may a table of the values' positions in
 * the page. Code that reads samples one after the other has one set of buffers for them (value.h).
 * Threads: one owner. Memory: each buffer is as large as its largest page was, charged to the
 * owner's allowance before it is taken; steady state allocates nothing. Ownership:
 * sl_value_buffers_close.
 */
#ifndef SL_VALUE_BUFFER_H
#define SL_VALUE_BUFFER_H

#include "allowance.h"
#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most values that may each be in unpacked data of their own. */
#define SL_VALUE_ROOMS 4U

typedef struct sl_value_buffer {
    uint8_t *data;
    size_t bytes; /* of memory */
    bool tagged;  /* `data` begins with the content of `tag` */
    uint64_t tag;
    const void *owner; /* owner of the tags, if several datasets share the buffer */
    uint64_t user;     /* sample that it was unpacked for */
    bool shared;       /* other samples found it here */
    bool had_table;    /* or was to have one */
    void *table;       /* positions of values in it, its maker's; NULL: there is none */
    size_t table_bytes;
} sl_value_buffer;

/* A zeroed one is valid: without a limit. */
typedef struct sl_value_buffers {
    sl_value_buffer of[SL_VALUE_ROOMS];
    sl_frame *frame;               /* made on first use */
    const sl_allowance *allowance; /* the owner's; NULL: none */
    uint64_t held;                 /* bytes of memory of all buffers */
} sl_value_buffers;

/* Frees all memory; the buffers stay usable. */
void sl_value_buffers_empty(sl_value_buffers *buffers);
void sl_value_buffers_close(sl_value_buffers *buffers);
/* Makes `owner` the owner of tags from here on, since owners may use the same tags for different
 * data. */
void sl_value_buffers_own(sl_value_buffers *buffers, const void *owner);
/* Returns whether `data` is in one of them, where it stays until the buffer is used again. */
bool sl_value_buffers_have(const sl_value_buffers *buffers, const uint8_t *data);
/* Returns a context for zstd; NULL: no memory. */
sl_frame *sl_value_buffers_frame(sl_value_buffers *buffers);

/* Returns whether a buffer holds `bytes` with this tag, for `user` (a sample's number). */
bool sl_value_buffers_hold(sl_value_buffers *buffers, uint32_t number, uint64_t tag, size_t bytes,
                           uint64_t user);
/* Returns space for `bytes`, discarding the earlier content; NULL: memory is short, or the limit is
 * reached. */
uint8_t *sl_value_buffers_take(sl_value_buffers *buffers, uint32_t number, size_t bytes);
/* Records that the content is complete. */
void sl_value_buffers_tag(sl_value_buffers *buffers, uint32_t number, uint64_t tag, uint64_t user);
/* Returns memory for a table about the tagged content, which is freed with it; NULL: as of take,
 * and harmless. */
void *sl_value_buffers_take_table(sl_value_buffers *buffers, uint32_t number, size_t bytes);

/* Returns space in a separate buffer without a limit, which keeps its largest size. A zeroed one is
 * valid. */
uint8_t *sl_value_buffer_take(sl_value_buffer *buffer, size_t bytes);
void sl_value_buffer_close(sl_value_buffer *buffer);

#endif
