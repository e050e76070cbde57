/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_delta: numbers stored as differences (DELTA_BINARY_PACKED). Source: Encodings.md.
 * Threads: pure.
 */
#ifndef SL_PARQUET_DELTA_H
#define SL_PARQUET_DELTA_H

#include "view.h"

#include <stdbool.h>

/* How many numbers the bytes say that they are; false: they are damaged, or more than `most`. */
bool sl_parquet_delta_count(sl_bytes bytes, uint32_t most, uint32_t *count);
/* Reads all of them to `to`, which has space for `count` as told; `*used`: bytes that they take.
 * False: they are damaged. */
bool sl_parquet_delta_read(sl_bytes bytes, int64_t *to, uint32_t count, size_t *used);

#endif
