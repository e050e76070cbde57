/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_points: included before library files that hand work over without a lock (CMakeLists.txt
 * lists them), so that another fiber may run before each of their atomic operations. The operations
 * are stdatomic.h's own; between fibers they are sequentially consistent, like everything here. */
#ifndef SIM_ATOMIC_POINTS_H
#define SIM_ATOMIC_POINTS_H

#include <stdatomic.h>

#if !defined(__clang__) /* clang only parses them */
void sim_point(void);

#    undef atomic_load_explicit
#    undef atomic_store_explicit
#    undef atomic_exchange_explicit
#    undef atomic_fetch_add_explicit
#    undef atomic_fetch_or_explicit
#    undef atomic_fetch_sub_explicit

#    define atomic_load_explicit(object, order)         \
        __extension__({                                 \
            sim_point();                                \
            __auto_type sim_at = (object);              \
            __typeof__((void)0, *sim_at) sim_value;     \
            __atomic_load(sim_at, &sim_value, (order)); \
            sim_value;                                  \
        })

#    define atomic_store_explicit(object, value, order)       \
        __extension__({                                       \
            sim_point();                                      \
            __auto_type sim_at = (object);                    \
            __typeof__((void)0, *sim_at) sim_value = (value); \
            __atomic_store(sim_at, &sim_value, (order));      \
        })

#    define atomic_exchange_explicit(object, value, order)            \
        __extension__({                                               \
            sim_point();                                              \
            __auto_type sim_at = (object);                            \
            __typeof__((void)0, *sim_at) sim_value = (value);         \
            __typeof__((void)0, *sim_at) sim_was;                     \
            __atomic_exchange(sim_at, &sim_value, &sim_was, (order)); \
            sim_was;                                                  \
        })

#    define atomic_fetch_add_explicit(object, value, order) \
        __extension__({                                     \
            sim_point();                                    \
            __atomic_fetch_add((object), (value), (order)); \
        })

#    define atomic_fetch_or_explicit(object, value, order) \
        __extension__({                                    \
            sim_point();                                   \
            __atomic_fetch_or((object), (value), (order)); \
        })

#    define atomic_fetch_sub_explicit(object, value, order) \
        __extension__({                                     \
            sim_point();                                    \
            __atomic_fetch_sub((object), (value), (order)); \
        })
#endif

#endif
