/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: where a consumer stands in its run, in SLUICE_CURSOR_BYTES or fewer bytes.
 *
 * Little-endian: magic "SLUCURS1", dataset fingerprint, samples, seed, epoch, position (global, of
 * the first sample not consumed), shuffle, block, window, and an FNV-1a 64 of all that, against
 * accidents. Rank, world size, batch and worker count are not part of it: they may change. With
 * SHUFFLE_SHARDS the order hangs on them: it is version '2' then, with window_bytes, world size and
 * `batch` before the checksum. With buckets it hangs on these and on the size of a global batch: it
 * is version '3' then, with both behind the window. With another order of its own (episodes) it is
 * version '4', with a hash of what that depends on there. Versions '5', '6' and '7' are 1, 3 and 4
 * with a hash of what rows are made of besides their own sample, before the checksum; others are of
 * before there was one.
 * Behind the checksum of '4' and '7' is a note, if there is space for it: what the order depends on
 * part by part (order_parts.h), and the high 32 bits of an FNV-1a 64 of checksum and parts, each
 * taken whole. It is for messages: a cursor is whole without it, and a note that does not fit is
 * passed over. Threads: pure.
 */
#ifndef SL_CURSOR_H
#define SL_CURSOR_H

#include <sluice/common.h>

typedef struct sl_cursor {
    uint64_t fingerprint, samples, seed, epoch, position;
    uint32_t shuffle, block, window;
    /* SHUFFLE_SHARDS, else 0; batch: 0 where the epoch drops no samples, which makes it one. */
    uint64_t window_bytes;
    uint32_t world, batch;
    /* Which bucket each sample is in, as a hash, and positions of a global batch; 0: there are no
     * buckets. */
    uint64_t buckets, global;
    uint64_t order; /* a hash of what another order depends on; 0: it is not such an order */
    uint64_t rows;  /* a hash of what rows are made of; 0: not known */
    uint64_t parts; /* of `order` (order_parts.h); 0: not known */
} sl_cursor;

/* `*bytes` in: space; out: written. INVALID when there is too little space; a note alone is left
 * out then. */
sluice_status sl_cursor_write(const sl_cursor *cursor, void *buffer, size_t *bytes);
/* CORRUPT when it is corrupt or not a cursor; UNSUPPORTED for another version. Bytes behind the
 * cursor are ignored, so that a field of SLUICE_CURSOR_BYTES can be kept whole. */
sluice_status sl_cursor_read(sl_cursor *cursor, const void *buffer, size_t bytes);

#endif
