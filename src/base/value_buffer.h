/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_buffer: where a format unpacks what holds a value among others.
 *
 * Purpose: a value may be in a compressed page of many. The page is unpacked here, and stays, so
 * that the next value of the same page costs nothing; so may a table of where the page's values
 * are. Whoever takes samples apart one after the other has one set of buffers for them (value.h).
 * Threads: one owner. Memory: of each space as large as its largest page was, charged to the
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

/* Values that may each be in something of its own that has to be unpacked. */
#define SL_VALUE_ROOMS 4U

typedef struct sl_value_buffer {
    uint8_t *data;
    size_t bytes; /* of memory */
    bool tagged;  /* `data` begins with what `tag` is of */
    uint64_t tag;
    const void *owner; /* whose tags these are, where several datasets share the buffer */
    uint64_t user;     /* who it was unpacked for */
    bool shared;       /* others found it here */
    bool had_table;    /* or was to have one */
    void *table;       /* of where values are in it, its maker's; NULL: there is none */
    size_t table_bytes;
} sl_value_buffer;

/* Of all zero is fine: nobody bounds them then. */
typedef struct sl_value_buffers {
    sl_value_buffer of[SL_VALUE_ROOMS];
    sl_frame *frame;               /* made when it is needed first */
    const sl_allowance *allowance; /* the owner's; NULL: none */
    uint64_t held;                 /* bytes of memory of all buffers */
} sl_value_buffers;

/* Gives all memory back; the buffers can be used on. */
void sl_value_buffers_empty(sl_value_buffers *buffers);
void sl_value_buffers_close(sl_value_buffers *buffers);
/* From here on tags are those of `owner`, which may use the same ones as others for something else.
 */
void sl_value_buffers_own(sl_value_buffers *buffers, const void *owner);
/* Whether `data` is in one of them, and so is there until something else is. */
bool sl_value_buffers_have(const sl_value_buffers *buffers, const uint8_t *data);
/* A context for zstd; NULL: no memory. */
sl_frame *sl_value_buffers_frame(sl_value_buffers *buffers);

/* Whether a buffer holds `bytes` that were given this tag; `user` (a sample's number) asks. */
bool sl_value_buffers_hold(sl_value_buffers *buffers, uint32_t number, uint64_t tag, size_t bytes,
                           uint64_t user);
/* Space for `bytes`, whatever was in it before; NULL: there is no memory, or it is not allowed. */
uint8_t *sl_value_buffers_take(sl_value_buffers *buffers, uint32_t number, size_t bytes);
/* What was written there is complete. */
void sl_value_buffers_tag(sl_value_buffers *buffers, uint32_t number, uint64_t tag, uint64_t user);
/* Memory for a table of what is tagged, which goes with it; NULL: as of take, and no harm. */
void *sl_value_buffers_take_table(sl_value_buffers *buffers, uint32_t number, size_t bytes);

/* A buffer by itself, that nobody bounds: as large as was ever asked for. Of all zero is fine. */
uint8_t *sl_value_buffer_take(sl_value_buffer *buffer, size_t bytes);
void sl_value_buffer_close(sl_value_buffer *buffer);

#endif
