/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_set: a set of different image sizes.
 *
 * Purpose: a dataset of a million images has some thousand sizes; each is checked once. Threads: a
 * set has one owner. Memory: 16 bytes for each size, at most 32, which the set owns.
 */
#ifndef SL_SIZE_SET_H
#define SL_SIZE_SET_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct sl_size_set {
    uint64_t *slots; /* width and height; 0: a free slot */
    uint64_t capacity, count;
} sl_size_set;

/* Sides are at least 1. */
bool sl_size_set_has(const sl_size_set *set, uint32_t width, uint32_t height);
/* Adds a new size. False: no memory. A zeroed set is empty. */
bool sl_size_set_add(sl_size_set *set, uint32_t width, uint32_t height);
/* Leaves it empty. */
void sl_size_set_close(sl_size_set *set);

#endif
