/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_bytes: bytes of a RecordIO record that was stored in parts.
 *
 * Purpose: RecordIO cuts a record where its bytes hold the magic number at a multiple of 4, and
 * leaves the number out; each part but the first then begins with a head: the magic number, and 4
 * bytes of length. So what is stored is what is meant, with 4 bytes put in behind each magic number
 * (counted from a multiple of 4 of the record, where `stored` has to begin, to the end of a part or
 * a multiple of 4). Threads: pure. No allocation.
 */
#ifndef SL_SPLIT_BYTES_H
#define SL_SPLIT_BYTES_H

#include "view.h"

#include <stdbool.h>

#define SL_RECORDIO_MAGIC 0xced7230aU
#define SL_RECORDIO_HEAD  8U /* of a part: the magic number, and its length and kind */

/* How many bytes are meant. */
uint64_t sl_split_size(sl_bytes stored);
/* Where what is meant goes on after its first `bytes`, a multiple of 4, in what is stored; its end,
 * when there are less. */
uint64_t sl_split_find(sl_bytes stored, uint64_t bytes);
/* Writes what is meant, as many bytes as sl_split_size says. False: `size` is not that. */
bool sl_split_join(sl_bytes stored, void *to, uint64_t size);

/* Values that are such bytes (packed_value.h). */
extern const struct sl_value_packing sl_value_packing_split;

#endif
