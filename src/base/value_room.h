/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_room: where a format unpacks what holds a value among others.
 *
 * Purpose: a value may lie in a compressed page of many. The page is unpacked here, and stays, so
 * that the next value of the same page costs nothing. Whoever takes samples apart one after the
 * other has one room for them (value.h).
 * Threads: one owner. Memory: as large as the largest page was; steady state allocates nothing.
 */
#ifndef SL_VALUE_ROOM_H
#define SL_VALUE_ROOM_H

#include "frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sl_value_room {
    uint8_t *data;
    size_t bytes; /* of memory */
    bool tagged;  /* `data` begins with what `tag` is of */
    uint64_t tag;
    const void *owner; /* whose tags these are, where several datasets share the room */
    sl_frame *frame;   /* made when it is needed first */
} sl_value_room;

/* Of all zero is fine, and is what it becomes. */
void sl_value_room_close(sl_value_room *room);

/* From here on tags are those of `owner`, which may use the same ones as others for something else.
 */
void sl_value_room_own(sl_value_room *room, const void *owner);
/* Whether it holds `bytes` that were given this tag. */
bool sl_value_room_holds(const sl_value_room *room, uint64_t tag, size_t bytes);
/* Whether `data` lies in it, and so is there until something else is. */
bool sl_value_room_has(const sl_value_room *room, const uint8_t *data);
/* Room for `bytes`, whatever was in it before; NULL: no memory. */
uint8_t *sl_value_room_take(sl_value_room *room, size_t bytes);
/* What was written there is complete. */
void sl_value_room_tag(sl_value_room *room, uint64_t tag);
/* A context for zstd; NULL: no memory. */
sl_frame *sl_value_room_frame(sl_value_room *room);

#endif
