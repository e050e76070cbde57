/* SPDX-License-Identifier: Apache-2.0 */
#include "histogram.h"

#include <assert.h>

size_t sl_depth_bin(size_t depth, size_t capacity)
{
    assert(capacity > 0);
    const size_t full = SL_DEPTH_BINS - 1;
    return depth >= capacity ? full : depth * full / capacity;
}

void sl_stage_add(sl_stage *stage, uint64_t busy_ns, uint64_t items)
{
    /* Relaxed: readers take sums, nothing is published through them. */
    atomic_fetch_add_explicit(&stage->busy_ns, busy_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&stage->items, items, memory_order_relaxed);
}
