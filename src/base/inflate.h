/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inflate: values stored as a raw deflate stream, as in zip archives, or as gzip's members.
 *
 * Purpose: the one place that unpacks such streams, and the one check of them: exactly one stream,
 * of the size and CRC-32 in the archive; or any number of members, of the known total size and with
 * their own checksums. Reports are of stage "inflate".
 *
 * Threads: pure. Memory: 64 KiB at a time for zlib, from the stack, scratch or heap.
 */
#ifndef SL_INFLATE_H
#define SL_INFLATE_H

#include "scratch.h"
#include "value.h"

#include <stdbool.h>

/* At its best deflate makes 258 bytes from two bits. */
#define SL_INFLATE_RATIO_MAX 1032U

typedef struct sl_deflated {
    sl_bytes packed;
    uint64_t bytes;      /* unpacked size */
    uint32_t head_bytes; /* first unpacked bytes, which are not wanted */
    uint32_t crc;        /* of everything unpacked */
} sl_deflated;

/*
 * Unpacks to `to`, which has space for the bytes after the head. `scratch` NULL: with memory of its
 * own. Errors: CORRUPT (differs from the archive's entry), NOMEM.
 */
sluice_status sl_inflate(const sl_deflated *stream, sl_scratch *scratch, void *to,
                         sluice_error *error);
/* Makes `value` such a stream (packed_value.h), except for its offset. */
void sl_inflate_later(const sl_deflated *stream, sl_value *value);
extern const struct sl_value_packing sl_value_packing_deflate;
/* Unpacks the first `bytes`, or as many as there are, and returns their number. Damage ends them.
 * Takes 64 KiB of the stack. */
size_t sl_inflate_head(sl_bytes packed, void *to, size_t bytes);

/*
 * Unpacks streams with a header of their own, gzip's or zlib's, back to back: `bytes` in all. Takes
 * 64 KiB of the stack. False: they are damaged, or unpack to another size.
 */
bool sl_inflate_members(sl_bytes packed, void *to, size_t bytes);

#endif
