/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inflate: values that are stored as a raw deflate stream, as zip archives have them, or as gzip's
 * members.
 *
 * Purpose: the one place that unpacks such streams, and the one verdict on them: exactly one, of
 * just the size and the CRC-32 that the archive says; of members as many as there are, of just the
 * size that is known, and the checksums in them. Reports are of stage "inflate".
 * Threads: pure. Memory: 64 KiB at a time for zlib, from the stack, scratch or heap.
 */
#ifndef SL_INFLATE_H
#define SL_INFLATE_H

#include "scratch.h"
#include "value.h"

#include <stdbool.h>

/* At its best deflate makes 258 bytes of two bits. */
#define SL_INFLATE_RATIO_MAX 1032U

typedef struct sl_deflated {
    sl_bytes packed;
    uint64_t bytes;      /* that come out of it */
    uint32_t head_bytes; /* of them, the first: not wanted */
    uint32_t crc;        /* of all that come out */
} sl_deflated;

/*
 * Unpacks to `to`, which has space for the bytes behind the head. `scratch` NULL: with memory of
 * its own. Errors: CORRUPT (not what the archive says), NOMEM.
 */
sluice_status sl_inflate(const sl_deflated *stream, sl_scratch *scratch, void *to,
                         sluice_error *error);
/* Values that are such a stream (packed_value.h): `value` is one from now on, but for its offset.
 */
void sl_inflate_later(const sl_deflated *stream, sl_value *value);
extern const struct sl_value_packing sl_value_packing_deflate;
/* The first `bytes` that come out, or as many as there are: how many. What is damaged ends there.
 * Takes 64 KiB of the stack. */
size_t sl_inflate_head(sl_bytes packed, void *to, size_t bytes);

/*
 * Unpacks streams that have a head of their own, gzip's or zlib's, one behind the other: `bytes` in
 * all. Takes 64 KiB of the stack. False: they are damaged, or unpack to another size.
 */
bool sl_inflate_members(sl_bytes packed, void *to, size_t bytes);

#endif
