/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs: what a program makes of a canvas, by the entrance that workers take, for tests of
 * operations. Functions abort on failure. Threads: none.
 */
#ifndef SL_PROGRAMS_H
#define SL_PROGRAMS_H

#include "operations.h"

/* One operation with that first value, on a canvas of width x height. In place. */
void program_operate(const sl_operation_kind *kind, double value, uint8_t *pixels, uint32_t width,
                     uint32_t height);

/* The program's output, RGB bytes, of a picture of width x height. */
void program_bytes(const sl_params *params, sl_simd simd, const uint8_t *pixels, uint32_t width,
                   uint32_t height, uint8_t *out);

#endif
