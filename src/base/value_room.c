/* SPDX-License-Identifier: Apache-2.0 */
#include "value_room.h"

#include "memory.h"

#include <string.h>

void sl_value_room_close(sl_value_room *room)
{
    sl_free(room->data);
    sl_frame_close(room->frame);
    memset(room, 0, sizeof(*room));
}

void sl_value_room_own(sl_value_room *room, const void *owner)
{
    room->tagged = room->tagged && room->owner == owner;
    room->owner = owner;
}

bool sl_value_room_holds(const sl_value_room *room, uint64_t tag, size_t bytes)
{
    return room->tagged && room->tag == tag && bytes <= room->bytes;
}

bool sl_value_room_has(const sl_value_room *room, const uint8_t *data)
{
    return room->data != NULL && data >= room->data && data < room->data + room->bytes;
}

uint8_t *sl_value_room_take(sl_value_room *room, size_t bytes)
{
    room->tagged = false;
    if (bytes < room->bytes) {
        return room->data;
    }
    sl_free(room->data);
    room->data = bytes < SIZE_MAX ? sl_malloc(bytes + 1) : NULL;
    room->bytes = room->data != NULL ? bytes + 1 : 0;
    return room->data;
}

void sl_value_room_tag(sl_value_room *room, uint64_t tag)
{
    room->tagged = true;
    room->tag = tag;
}

sl_frame *sl_value_room_frame(sl_value_room *room)
{
    if (room->frame == NULL) {
        (void)sl_frame_open(&room->frame, NULL);
    }
    return room->frame;
}
