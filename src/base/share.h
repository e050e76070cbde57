/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share: a sequence of things divided among parts as evenly as possible, without overflow. Pure.
 */
#ifndef SL_SHARE_H
#define SL_SHARE_H

#include <stdint.h>

/* Returns the first thing of part `part` of `parts` >= 1, which are at most 2^32; part = parts:
 * `count`. */
static inline uint64_t sl_share_first(uint64_t count, uint64_t part, uint64_t parts)
{
    return count / parts * part + count % parts * part / parts;
}

#endif
