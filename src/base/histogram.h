/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram: queue depths as sixteenths of a capacity, and busy time of a stage.
 * Threads: sl_stage_add from any thread (relaxed atomics: only sums are read).
 */
#ifndef SL_HISTOGRAM_H
#define SL_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SL_DEPTH_BINS 17

/* Returns the bin of `depth` in a queue of `capacity`: depth * 16 / capacity, 16 only when full. */
size_t sl_depth_bin(size_t depth, size_t capacity);

typedef struct sl_stage {
    _Atomic uint64_t busy_ns;
    _Atomic uint64_t items;
} sl_stage;

void sl_stage_add(sl_stage *stage, uint64_t busy_ns, uint64_t items);

#endif
