/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy: unpacks blocks of the snappy format (google/snappy, format_description.txt).
 *
 * Purpose: what most Parquet files are compressed by. The library itself is C++, which would bring
 * that run-time library to everybody who links this one; unpacking alone is a loop over literals
 * and copies, tested with blocks that the library made. Threads: pure. No allocation.
 */
#ifndef SL_SNAPPY_H
#define SL_SNAPPY_H

#include "view.h"

#include <stdbool.h>

/* Unpacks to `to`, exactly `size` bytes. False: the block is damaged, or unpacks to another size.
 */
bool sl_snappy_unpack(sl_bytes packed, uint8_t *to, size_t size);

#endif
