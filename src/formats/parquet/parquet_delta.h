/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_delta: decodes numbers stored as differences (DELTA_BINARY_PACKED). Source: Encodings.md.
 * Threads: pure.
 */
#ifndef SL_PARQUET_DELTA_H
#define SL_PARQUET_DELTA_H

#include "view.h"

#include <stdbool.h>

/* Reads the number of values; false: damaged, or more than `most`. */
bool sl_parquet_delta_count(sl_bytes bytes, uint32_t most, uint32_t *count);
/*
 * Reads all values to `to`, which has space for the `count` from sl_parquet_delta_count; `*used`:
 * their size in bytes. False: damaged.
 */
bool sl_parquet_delta_read(sl_bytes bytes, int64_t *to, uint32_t count, size_t *used);

#endif
