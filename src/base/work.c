/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "error.h"

#define STAGE "columns"

bool sl_work_is_stopped(const sl_work *work)
{
    /* relaxed: a hint that nobody waits; the thread that sets it waits for the row in another
     * way */
    return work != NULL && work->stop != NULL &&
           atomic_load_explicit(work->stop, memory_order_relaxed);
}

sluice_status sl_work_take(sl_work *work, uint64_t units, sluice_error *error)
{
    if (sl_work_is_stopped(work)) {
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    }
    if (work == NULL || units <= work->left) {
        if (work != NULL) {
            work->left -= units;
        }
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_UNSUPPORTED, STAGE,
        "the row's shapes take too much work: more than 64 times the pixels of its output, and "
        "more than 268 million; leave out shapes or merge overlapping ones");
}
