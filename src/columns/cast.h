/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast: elements of one dtype made into another.
 *
 * Purpose: every dtype becomes itself (a copy), i32, i64 (integers only; checked) or a floating one
 * (rounded to nearest even). A bool that is neither 0 nor 1 fits no dtype, its own neither.
 * Threads: pure. Memory: elements to read are anywhere, those to write are aligned.
 */
#ifndef SL_CAST_H
#define SL_CAST_H

#include <sluice/common.h>

#include <stdbool.h>

/* false: one of the elements does not fit the dtype. `to` is written in any case. */
typedef bool (*sl_cast)(void *to, const uint8_t *from, size_t count);

/* NULL: there is no such cast. */
sl_cast sl_cast_find(sluice_dtype from, sluice_dtype to);

#endif
