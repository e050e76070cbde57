/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_bytes: joins the bytes of a RecordIO record that is stored in parts.
 *
 * Purpose: RecordIO cuts a record wherever its bytes contain the magic number at a multiple of 4,
 * and omits the number. Each part but the first then begins with a head: the magic number, and 4
 * bytes of length. The stored bytes are thus the contents with 4 bytes inserted after each magic
 * number. Offsets count from a multiple of 4 of the record, where `stored` must begin; it extends
 * to the end of a part or to a multiple of 4. Threads: pure. No allocation.
 */
#ifndef SL_SPLIT_BYTES_H
#define SL_SPLIT_BYTES_H

#include "view.h"

#include <stdbool.h>

#define SL_RECORDIO_MAGIC 0xced7230aU
#define SL_RECORDIO_HEAD  8U /* head of a part: the magic number, then its length and kind */

/* Returns the size of the joined contents. */
uint64_t sl_split_size(sl_bytes stored);
/*
 * Returns the offset in `stored` of the contents' byte `bytes`, a multiple of 4, or the end of
 * `stored` if there are fewer.
 */
uint64_t sl_split_find(sl_bytes stored, uint64_t bytes);
/* Writes the joined contents. False: `size` differs from sl_split_size. */
bool sl_split_join(sl_bytes stored, void *to, uint64_t size);

/* Packing of values stored like this (packed_value.h). */
extern const struct sl_value_packing sl_value_packing_split;

#endif
