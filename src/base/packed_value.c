/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_value.h"

#include "error.h"
#include "inflate.h"
#include "split_bytes.h"
#include "step_list.h"

#define STAGE "unpack"

static uint64_t element_bytes(const sl_value *value)
{
    return value->list == SL_LIST_I64 ? 8 : 4;
}

static bool is_split(const sl_value *value)
{
    return value->list == SL_LIST_SPLIT;
}

static bool is_steps(const sl_value *value)
{
    return value->list > SL_LIST_SPLIT;
}

static sluice_status refuse(sluice_error *error)
{
    return sl_error_set(error, SLUICE_CORRUPT, STAGE, "the list is damaged");
}

static sluice_status refuse_size(const char *what, uint64_t size, uint64_t max_bytes,
                                 sluice_error *error)
{
    return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "the %s takes %llu bytes, more than %llu",
                        what, (unsigned long long)size, (unsigned long long)max_bytes);
}

static sluice_status inflate_to(const sl_value *value, sl_scratch *scratch, void *to,
                                sluice_error *error)
{
    const sl_deflated stream = {.packed = value->bytes,
                                .bytes = value->unpacked_bytes,
                                .head_bytes = value->head_bytes,
                                .crc = value->crc};
    return sl_inflate(&stream, scratch, to, error);
}

sluice_status sl_packed_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                             sluice_error *error)
{
    if (value->zstd) {
        return sl_frame_size(value->bytes, max_bytes, size, error);
    }
    if (value->deflate) {
        *size = value->unpacked_bytes - value->head_bytes;
        return *size <= max_bytes ? SLUICE_OK
                                  : refuse_size("deflate stream", *size, max_bytes, error);
    }
    sl_list_facts facts = {.count = 0};
    sl_step_facts steps = {.bytes = 0};
    if (is_steps(value)) {
        if (sl_steps_look((sl_list_kind)value->list, value->bytes, &steps) != NULL) {
            return refuse(error);
        }
        *size = steps.bytes;
    } else if (is_split(value)) {
        *size = sl_split_size(value->bytes);
    } else if (sl_list_look((sl_list_kind)value->list, value->bytes, &facts)) {
        *size = facts.count * element_bytes(value); /* no more numbers than bytes: cannot wrap */
    } else {
        return refuse(error);
    }
    if (*size > max_bytes) {
        return refuse_size(is_split(value)   ? "record that was stored in parts"
                           : is_steps(value) ? "list of steps"
                                             : "list of numbers",
                           *size, max_bytes, error);
    }
    return SLUICE_OK;
}

static bool list_to(const sl_value *value, void *to, uint64_t size)
{
    const sl_list_kind kind = (sl_list_kind)value->list;
    if (is_steps(value)) {
        return sl_steps_read(kind, value->bytes, to, size);
    }
    return is_split(value) ? sl_split_join(value->bytes, to, size)
                           : sl_list_read(kind, value->bytes, to, size / element_bytes(value));
}

sluice_status sl_packed_unpack_to(sl_frame *frame, const sl_value *value, void *to, uint64_t size,
                                  sluice_error *error)
{
    if (value->zstd) {
        return sl_frame_unpack_to(frame, value->bytes, to, size, error);
    }
    if (value->deflate) {
        return inflate_to(value, NULL, to, error);
    }
    return list_to(value, to, size) ? SLUICE_OK : refuse(error);
}

sluice_status sl_packed_unpack(sl_frame *frame, const sl_value *value, uint64_t max_bytes,
                               sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error)
{
    if (value->zstd) {
        return sl_frame_unpack(frame, value->bytes, max_bytes, scratch, unpacked, error);
    }
    uint64_t size = 0;
    const sluice_status status = sl_packed_size(value, max_bytes, &size, error);
    if (status < 0) {
        return status;
    }
    void *to = sl_scratch_take(scratch, size > 0 ? size : 1);
    if (to == NULL) {
        return sl_no_memory(error, STAGE, "unpacking %llu bytes", (unsigned long long)size);
    }
    *unpacked = (sl_bytes){to, size};
    if (value->deflate) {
        return inflate_to(value, scratch, to, error);
    }
    return sl_packed_unpack_to(frame, value, to, size, error);
}
