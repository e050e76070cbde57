/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: where a consumer is in its run, in SLUICE_CURSOR_BYTES or fewer bytes.
 *
 * Little-endian: magic "SLUCURS1", dataset fingerprint, samples, seed, epoch, position (global, of
 * the first sample not consumed), shuffle, block, window, and an FNV-1a 64 of all that, against
 * accidents. Rank, world size, batch and worker count are not part of it: they may change. The
 * order of SHUFFLE_SHARDS depends on them: its cursor is version '2', with window_bytes, world size
 * and `batch` before the checksum. The order of buckets depends on them and on the size of a global
 * batch: its cursor is version '3', with both after the window. Another order (episodes) has
 * version '4', with a hash of everything it depends on there. Versions '5', '6' and '7' are 1, 3
 * and 4 with a hash of what rows are made of besides their own sample, before the checksum; the
 * others are from before this hash existed. After the checksum of '4' and '7' comes a note, if
 * there is space for it: the options that the order depends on, part by part (order_parts.h), and
 * the high 32 bits of an FNV-1a 64 of checksum and parts, each as a whole word. It is used in
 * messages only: a cursor is complete without it, and a note that does not fit is skipped. Threads:
 * pure.
 */
#ifndef SL_CURSOR_H
#define SL_CURSOR_H

#include <sluice/common.h>

typedef struct sl_cursor {
    uint64_t fingerprint, samples, seed, epoch, position;
    uint32_t shuffle, block, window;
    /* for SHUFFLE_SHARDS, else 0; batch: 0 if the epoch drops no samples, so the order is the
     * same */
    uint64_t window_bytes;
    uint32_t world, batch;
    /* A hash of each sample's bucket, and positions of a global batch; 0: no buckets. */
    uint64_t buckets, global;
    uint64_t order; /* a hash of what another order depends on; 0: no such order */
    uint64_t rows;  /* a hash of what rows are made of; 0: not known */
    uint64_t parts; /* of `order` (order_parts.h); 0: not known */
} sl_cursor;

/* `*bytes` in: space; out: written. INVALID if there is too little space; a note that does not
 * fit is left out. */
sluice_status sl_cursor_write(const sl_cursor *cursor, void *buffer, size_t *bytes);
/* Reads a cursor. CORRUPT: damaged, or not a cursor; UNSUPPORTED: another version. Bytes after
 * the cursor are ignored, so that a field of SLUICE_CURSOR_BYTES can be kept whole. */
sluice_status sl_cursor_read(sl_cursor *cursor, const void *buffer, size_t bytes);

#endif
