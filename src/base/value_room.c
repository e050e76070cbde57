/* SPDX-License-Identifier: Apache-2.0 */
#include "value_room.h"

#include "memory.h"

#include <string.h>

/* ---- a room by itself ---- */

void sl_value_room_close(sl_value_room *room)
{
    sl_free(room->data);
    sl_free(room->table);
    memset(room, 0, sizeof(*room));
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

/* ---- what they hold ---- */

static bool value_room_charge(sl_value_rooms *rooms, uint64_t bytes)
{
    if (rooms->allowance != NULL && !rooms->allowance->charge(rooms->allowance->ctx, bytes)) {
        return false;
    }
    rooms->held += bytes;
    return true;
}

static void value_room_give_back(sl_value_rooms *rooms, uint64_t bytes)
{
    rooms->held -= bytes;
    if (rooms->allowance != NULL && bytes > 0) {
        rooms->allowance->give_back(rooms->allowance->ctx, bytes);
    }
}

static void drop_table(sl_value_rooms *rooms, sl_value_room *room)
{
    sl_free(room->table);
    value_room_give_back(rooms, room->table_bytes);
    room->table = NULL;
    room->table_bytes = 0;
}

static void drop_data(sl_value_rooms *rooms, sl_value_room *room)
{
    sl_free(room->data);
    value_room_give_back(rooms, room->bytes);
    room->data = NULL;
    room->bytes = 0;
    room->tagged = false;
}

void sl_value_rooms_empty(sl_value_rooms *rooms)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        drop_table(rooms, &rooms->of[i]);
        drop_data(rooms, &rooms->of[i]);
    }
}

void sl_value_rooms_close(sl_value_rooms *rooms)
{
    sl_value_rooms_empty(rooms);
    sl_frame_close(rooms->frame);
    memset(rooms, 0, sizeof(*rooms));
}

void sl_value_rooms_own(sl_value_rooms *rooms, const void *owner)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        rooms->of[i].tagged = rooms->of[i].tagged && rooms->of[i].owner == owner;
        rooms->of[i].owner = owner;
    }
}

bool sl_value_rooms_have(const sl_value_rooms *rooms, const uint8_t *data)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        const sl_value_room *room = &rooms->of[i];
        if (room->data != NULL && data >= room->data && data < room->data + room->bytes) {
            return true;
        }
    }
    return false;
}

sl_frame *sl_value_rooms_frame(sl_value_rooms *rooms)
{
    if (rooms->frame == NULL) {
        (void)sl_frame_open(&rooms->frame, NULL);
    }
    return rooms->frame;
}

/* ---- one of them ---- */

bool sl_value_rooms_hold(sl_value_rooms *rooms, uint32_t number, uint64_t tag, size_t bytes,
                         uint64_t user)
{
    sl_value_room *room = &rooms->of[number];
    const bool holds = room->tagged && room->tag == tag && bytes <= room->bytes;
    room->shared = room->shared || (holds && room->user != user);
    return holds;
}

uint8_t *sl_value_rooms_take(sl_value_rooms *rooms, uint32_t number, size_t bytes)
{
    sl_value_room *room = &rooms->of[number];
    drop_table(rooms, room);
    room->tagged = false;
    if (bytes < room->bytes) {
        return room->data;
    }
    drop_data(rooms, room);
    if (bytes == SIZE_MAX || !value_room_charge(rooms, (uint64_t)bytes + 1)) {
        return NULL;
    }
    room->data = sl_malloc(bytes + 1);
    if (room->data == NULL) {
        value_room_give_back(rooms, (uint64_t)bytes + 1);
        return NULL;
    }
    room->bytes = bytes + 1;
    return room->data;
}

void sl_value_rooms_tag(sl_value_rooms *rooms, uint32_t number, uint64_t tag, uint64_t user)
{
    sl_value_room *room = &rooms->of[number];
    room->tagged = true;
    room->tag = tag;
    room->user = user;
    room->shared = room->had_table = false;
}

void *sl_value_rooms_take_table(sl_value_rooms *rooms, uint32_t number, size_t bytes)
{
    sl_value_room *room = &rooms->of[number];
    drop_table(rooms, room);
    room->had_table = true;
    if (!value_room_charge(rooms, bytes)) {
        return NULL;
    }
    room->table = sl_malloc(bytes);
    if (room->table == NULL) {
        value_room_give_back(rooms, bytes);
        return NULL;
    }
    room->table_bytes = bytes;
    return room->table;
}
