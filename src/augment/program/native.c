/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the owners of a native function. Any thread. */
#include "native.h"

#include "memory.h"

#include <string.h>

sl_native *sl_native_new(const sl_native *from)
{
    sl_native *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    made->function = from->function;
    made->user_data = from->user_data;
    made->free_user_data = from->free_user_data;
    memcpy(made->name, from->name, sizeof(made->name));
    atomic_init(&made->owners, 1);
    return made;
}

void sl_native_hold(sl_native *native)
{
    /* relaxed: the caller has one already */
    atomic_fetch_add_explicit(&native->owners, 1, memory_order_relaxed);
}

void sl_native_release(sl_native *native)
{
    /* acq_rel: pairs with itself, so that the last owner sees the writes of all others */
    if (native == NULL ||
        atomic_fetch_sub_explicit(&native->owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (native->free_user_data != NULL) {
        native->free_user_data(native->user_data);
    }
    sl_free(native);
}
