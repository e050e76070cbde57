/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence: memory between two inaccessible pages, so that reads or writes outside it crash. Functions
 * abort on failure. Threads: none.
 */
#ifndef SL_FENCE_H
#define SL_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fence {
    uint8_t *block;
    size_t bytes, page; /* bytes: in whole pages */
} fence;

/* Opens a fence of at least `bytes`. */
fence fence_open(size_t bytes);
/* Returns `bytes` that end at the upper page, or else begin at the lower one. */
uint8_t *fence_place(const fence *f, size_t bytes, bool end);
void fence_close(fence *f);

#endif
