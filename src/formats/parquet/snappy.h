/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy: unpacks blocks of the snappy format (google/snappy, format_description.txt).
 *
 * Purpose: most Parquet files are compressed with it. The original library is C++, and would make
 * every program that links this one depend on the C++ run-time library; unpacking is only a loop
 * over literals and copies, tested with blocks from the original. Threads: pure. No allocation.
 */
#ifndef SL_SNAPPY_H
#define SL_SNAPPY_H

#include "view.h"

#include <stdbool.h>

/* Unpacks exactly `size` bytes to `to`. False: the block is damaged, or has another size. */
bool sl_snappy_unpack(sl_bytes packed, uint8_t *to, size_t size);

#endif
