/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_value: values whose content has to be made from their stored bytes.
 *
 * Purpose: the contract of a packing. Each is a const table beside its decoder, and a format that
 * stores such values points at it (sl_value.packing); no other code distinguishes packings. A value
 * has at most one packing: a list of numbers in a zstd frame would be a packing of its own. The
 * encoding of images (codec.h) is not a packing: a packing of theirs comes on top, and its content
 * is the encoded image. Threads, memory: calls are pure except for `frame` and `scratch`, which
 * belong to one thread each; other memory of a packing is on the stack, in `scratch`, or freed
 * before it returns.
 */
#ifndef SL_PACKED_VALUE_H
#define SL_PACKED_VALUE_H

#include "frame.h"
#include "value.h"

typedef struct sl_value_packing {
    const char *name; /* name of the stored form: "zstd frame" */
    /* Offsets in the content have no counterpart in the stored bytes. */
    bool compresses;
    /* Its checksum covers the content, so only unpacking checks it. */
    bool sums_content;
    /* Returns the size of the content, from the stored bytes; pure. Above `max_bytes` it may return
     * UNSUPPORTED itself, or leave that to the caller. Errors: CORRUPT, UNSUPPORTED. */
    sluice_status (*size)(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                          sluice_error *error);
    /*
     * Writes the content to `to`: the `size` bytes returned by `size`; CORRUPT if the content has
     * another size. `frame` NULL: with a context for this call; `scratch` NULL: with memory of the
     * heap. NOMEM.
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

/* Makes `bytes` its content. */
static inline void sl_set_unpacked(sl_value *value, sl_bytes bytes)
{
    value->packing = NULL;
    value->bytes = bytes;
}

/* For packings: records CORRUPT, for damage that only its decoder could describe. */
sluice_status sl_packed_refuse(const sl_value *value, sluice_error *error);

/* ---- of packed values ---- */

/* Returns the size of the content. Errors: CORRUPT, UNSUPPORTED (above max_bytes). */
sluice_status sl_packed_size(const sl_value *value, uint64_t max_bytes, uint64_t *size,
                             sluice_error *error);
/* Writes the content to `to`, which has space for the `size` bytes of sl_packed_size. `frame` NULL:
 * with a context for this call, for tools. */
sluice_status sl_packed_unpack_to(sl_frame *frame, const sl_value *value, void *to, uint64_t size,
                                  sluice_error *error);
/* Does both, with `*unpacked` in scratch. NOMEM if that is too small. */
sluice_status sl_packed_unpack(sl_frame *frame, const sl_value *value, uint64_t max_bytes,
                               sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error);

#endif
