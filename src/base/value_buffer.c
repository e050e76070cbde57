/* SPDX-License-Identifier: Apache-2.0 */
#include "value_buffer.h"

#include "memory.h"

#include <string.h>

/* ---- a buffer by itself ---- */

void sl_value_buffer_close(sl_value_buffer *buffer)
{
    sl_free(buffer->data);
    sl_free(buffer->table);
    memset(buffer, 0, sizeof(*buffer));
}

uint8_t *sl_value_buffer_take(sl_value_buffer *buffer, size_t bytes)
{
    buffer->tagged = false;
    if (bytes < buffer->bytes) {
        return buffer->data;
    }
    sl_free(buffer->data);
    buffer->data = bytes < SIZE_MAX ? sl_malloc(bytes + 1) : NULL;
    buffer->bytes = buffer->data != NULL ? bytes + 1 : 0;
    return buffer->data;
}

/* ---- content ---- */

static bool value_buffer_charge(sl_value_buffers *buffers, uint64_t bytes)
{
    if (buffers->allowance != NULL && !buffers->allowance->charge(buffers->allowance->ctx, bytes)) {
        return false;
    }
    buffers->held += bytes;
    return true;
}

static void value_buffer_give_back(sl_value_buffers *buffers, uint64_t bytes)
{
    buffers->held -= bytes;
    if (buffers->allowance != NULL && bytes > 0) {
        buffers->allowance->give_back(buffers->allowance->ctx, bytes);
    }
}

static void drop_table(sl_value_buffers *buffers, sl_value_buffer *buffer)
{
    sl_free(buffer->table);
    value_buffer_give_back(buffers, buffer->table_bytes);
    buffer->table = NULL;
    buffer->table_bytes = 0;
}

static void drop_data(sl_value_buffers *buffers, sl_value_buffer *buffer)
{
    sl_free(buffer->data);
    value_buffer_give_back(buffers, buffer->bytes);
    buffer->data = NULL;
    buffer->bytes = 0;
    buffer->tagged = false;
}

void sl_value_buffers_empty(sl_value_buffers *buffers)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        drop_table(buffers, &buffers->of[i]);
        drop_data(buffers, &buffers->of[i]);
    }
}

void sl_value_buffers_close(sl_value_buffers *buffers)
{
    sl_value_buffers_empty(buffers);
    sl_frame_close(buffers->frame);
    memset(buffers, 0, sizeof(*buffers));
}

void sl_value_buffers_own(sl_value_buffers *buffers, const void *owner)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        buffers->of[i].tagged = buffers->of[i].tagged && buffers->of[i].owner == owner;
        buffers->of[i].owner = owner;
    }
}

bool sl_value_buffers_have(const sl_value_buffers *buffers, const uint8_t *data)
{
    for (uint32_t i = 0; i < SL_VALUE_ROOMS; i++) {
        const sl_value_buffer *buffer = &buffers->of[i];
        if (buffer->data != NULL && data >= buffer->data && data < buffer->data + buffer->bytes) {
            return true;
        }
    }
    return false;
}

sl_frame *sl_value_buffers_frame(sl_value_buffers *buffers)
{
    if (buffers->frame == NULL) {
        (void)sl_frame_open(&buffers->frame, NULL);
    }
    return buffers->frame;
}

/* ---- one buffer ---- */

bool sl_value_buffers_hold(sl_value_buffers *buffers, uint32_t number, uint64_t tag, size_t bytes,
                           uint64_t user)
{
    sl_value_buffer *buffer = &buffers->of[number];
    const bool holds = buffer->tagged && buffer->tag == tag && bytes <= buffer->bytes;
    buffer->shared = buffer->shared || (holds && buffer->user != user);
    return holds;
}

uint8_t *sl_value_buffers_take(sl_value_buffers *buffers, uint32_t number, size_t bytes)
{
    sl_value_buffer *buffer = &buffers->of[number];
    drop_table(buffers, buffer);
    buffer->tagged = false;
    if (bytes < buffer->bytes) {
        return buffer->data;
    }
    drop_data(buffers, buffer);
    if (bytes == SIZE_MAX || !value_buffer_charge(buffers, (uint64_t)bytes + 1)) {
        return NULL;
    }
    buffer->data = sl_malloc(bytes + 1);
    if (buffer->data == NULL) {
        value_buffer_give_back(buffers, (uint64_t)bytes + 1);
        return NULL;
    }
    buffer->bytes = bytes + 1;
    return buffer->data;
}

void sl_value_buffers_tag(sl_value_buffers *buffers, uint32_t number, uint64_t tag, uint64_t user)
{
    sl_value_buffer *buffer = &buffers->of[number];
    buffer->tagged = true;
    buffer->tag = tag;
    buffer->user = user;
    buffer->shared = buffer->had_table = false;
}

void *sl_value_buffers_take_table(sl_value_buffers *buffers, uint32_t number, size_t bytes)
{
    sl_value_buffer *buffer = &buffers->of[number];
    drop_table(buffers, buffer);
    buffer->had_table = true;
    if (!value_buffer_charge(buffers, bytes)) {
        return NULL;
    }
    buffer->table = sl_malloc(bytes);
    if (buffer->table == NULL) {
        value_buffer_give_back(buffers, bytes);
        return NULL;
    }
    buffer->table_bytes = bytes;
    return buffer->table;
}
