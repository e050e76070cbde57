/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_value: values whose stored bytes are not those that are meant: zstd frames, deflate
 * streams, lists of numbers and of steps, records in parts.
 *
 * Purpose: the one place that tells them apart. Threads, memory: those of frame.h and
 * inflate.h.
 */
#ifndef SL_PACKED_VALUE_H
#define SL_PACKED_VALUE_H

#include "frame.h"
#include "value.h"

static inline bool sl_is_packed(const sl_value *value)
{
    return value->zstd || value->deflate || value->list != SL_LIST_NONE;
}

/* Whether places in what is meant are none in the stored bytes. */
static inline bool sl_is_compressed(const sl_value *value)
{
    return value->zstd || value->deflate;
}

/* It is by its bytes what is meant, from now on. */
static inline void sl_set_unpacked(sl_value *value, sl_bytes bytes)
{
    value->zstd = value->deflate = false;
    value->list = SL_LIST_NONE;
    value->bytes = bytes;
}

/* The size of what is meant. Errors: CORRUPT, UNSUPPORTED (above max_bytes). */
sluice_status sl_packed_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                             sluice_error *error);
/* Writes it to `to`, which has room for the `size` bytes that sl_packed_size gave. `frame` NULL:
 * with a context for this call, for tools. */
sluice_status sl_packed_unpack_to(sl_frame *frame, const sl_value *value, void *to, uint64_t size,
                                  sluice_error *error);
/* Both, `*unpacked` in scratch. NOMEM when that is too small. */
sluice_status sl_packed_unpack(sl_frame *frame, const sl_value *value, uint64_t max_bytes,
                               sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error);

#endif
