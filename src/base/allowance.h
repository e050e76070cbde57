/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allowance: whoever bounds the memory of samples under way. Plain data.
 *
 * Purpose: what a sample takes besides its stored bytes is asked for before it is taken, of
 * somebody who knows what others have: a share that is refused, or a budget that is waited for.
 * Threads: the one that works on the sample.
 */
#ifndef SL_ALLOWANCE_H
#define SL_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sl_allowance {
    bool (*charge)(void *ctx, uint64_t bytes); /* may wait; false: that is not to be had */
    void (*give_back)(void *ctx, uint64_t bytes);
    void *ctx;
} sl_allowance;

#endif
