/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allowance: the limit on memory of samples in flight. Plain data.
 *
 * Purpose: a sample's memory besides its stored bytes is requested before it is taken, from an
 * owner that knows what others have: a share that is refused, or a budget that is waited for.
 *
 * Threads: the one that works on the sample.
 */
#ifndef SL_ALLOWANCE_H
#define SL_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sl_allowance {
    bool (*charge)(void *ctx, uint64_t bytes); /* may wait; false: not available */
    void (*give_back)(void *ctx, uint64_t bytes);
    void *ctx;
} sl_allowance;

#endif
