/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_value: values whose stored bytes are not their content: it has to be made of them first.
 *
 * Purpose: the contract of a packing. Each is a const table beside its decoder, and a format that
 * stores values so points at it (sl_value.packing); nobody else knows one from another. A value has
 * one packing or none: a list of numbers in a zstd frame would be a packing of its own. Pictures
 * are encoded (codec.h), which is no packing: a packing of theirs comes on top, and what they are
 * encoded in is its content.
 * Threads, memory: calls are pure but for `frame` and `scratch`, which belong to one thread each;
 * what a packing needs besides is on the stack, in `scratch`, or freed before it returns.
 */
#ifndef SL_PACKED_VALUE_H
#define SL_PACKED_VALUE_H

#include "frame.h"
#include "value.h"

typedef struct sl_value_packing {
    const char *name; /* of what is stored, for people: "zstd frame" */
    /* Offsets in the content have no counterpart in the stored bytes. */
    bool compresses;
    /* Its checksum is of the content, and so is checked by unpacking only. */
    bool sums_content;
    /* The size of the content, by the stored bytes; pure. Above `max_bytes` it may say UNSUPPORTED
     * itself, or leave that to the caller. Errors: CORRUPT, UNSUPPORTED. */
    sluice_status (*size)(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                          sluice_error *error);
    /*
     * Writes the content to `to`: `size` bytes, as `size` told; CORRUPT when that is not what comes
     * out. `frame` NULL: with a context for this call; `scratch` NULL: with memory of the heap.
     * NOMEM.
     */
    sluice_status (*unpack_to)(const sl_value *value, sl_frame *frame, sl_scratch *scratch,
                               void *to, uint64_t size, sluice_error *error);
} sl_value_packing;

static inline bool sl_is_packed(const sl_value *value)
{
    return value->packing != NULL;
}

static inline bool sl_is_compressed(const sl_value *value)
{
    return sl_is_packed(value) && value->packing->compresses;
}

/* `bytes` are its content from now on. */
static inline void sl_set_unpacked(sl_value *value, sl_bytes bytes)
{
    value->packing = NULL;
    value->bytes = bytes;
}

/* For packings: what is CORRUPT that only its decoder could describe. */
sluice_status sl_packed_refuse(const sl_value *value, sluice_error *error);

/* ---- of packed values ---- */

/* The size of the content. Errors: CORRUPT, UNSUPPORTED (above max_bytes). */
sluice_status sl_packed_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                             sluice_error *error);
/* Writes it to `to`, which has space for the `size` bytes that sl_packed_size gave. `frame` NULL:
 * with a context for this call, for tools. */
sluice_status sl_packed_unpack_to(sl_frame *frame, const sl_value *value, void *to, uint64_t size,
                                  sluice_error *error);
/* Both, `*unpacked` in scratch. NOMEM when that is too small. */
sluice_status sl_packed_unpack(sl_frame *frame, const sl_value *value, uint64_t max_bytes,
                               sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error);

#endif
