/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast: converts elements of one dtype to another.
 *
 * Purpose: every dtype can become itself (a copy), i32, i64 (integers only; checked) or a floating
 * one (rounded to nearest even). A bool that is neither 0 nor 1 fits no dtype, not even its own.
 *
 * Threads: pure. Memory: elements to read are unaligned, those to write are aligned.
 */
#ifndef SL_CAST_H
#define SL_CAST_H

#include <sluice/common.h>

#include <stdbool.h>

/* Converts elements. Returns false if one of them does not fit the dtype; `to` is written in any
 * case. */
typedef bool (*sl_cast)(void *to, const uint8_t *from, size_t count);

/* Returns the cast; NULL: there is none. */
sl_cast sl_cast_find(sluice_dtype from, sluice_dtype to);

#endif
