/* SPDX-License-Identifier: Apache-2.0 */
#include "standstill.h"

#include "thread.h"

#include <assert.h>

void sl_standstill_join(sl_standstill *standstill)
{
    standstill->members++;
}

void sl_standstill_leave(sl_standstill *standstill, pthread_cond_t *cond)
{
    assert(standstill->members > 0);
    standstill->members--;
    sl_standstill_change(standstill, cond);
}

void sl_standstill_change(sl_standstill *standstill, pthread_cond_t *cond)
{
    standstill->changes++;
    standstill->settled = 0;
    sl_cond_broadcast(cond);
}

bool sl_standstill_wait(sl_standstill *standstill, pthread_cond_t *cond, pthread_mutex_t *mutex,
                        uint64_t deadline_ns)
{
    if (!standstill->found && ++standstill->settled == standstill->members) {
        standstill->found = true;
        sl_cond_broadcast(cond);
    }
    if (standstill->found) {
        return false;
    }
    const uint64_t seen = standstill->changes;
    if (deadline_ns == UINT64_MAX) {
        sl_cond_wait(cond, mutex);
    } else {
        (void)sl_cond_wait_until(cond, mutex, deadline_ns);
    }
    standstill->settled -= standstill->changes == seen;
    return !standstill->found;
}
