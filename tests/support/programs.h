/* SPDX-License-Identifier: Apache-2.0 */
/*
 * programs: runs a program on a canvas through the workers' entry point, for tests of operations.
 * Functions abort on failure. Threads: none.
 */
#ifndef SL_PROGRAMS_H
#define SL_PROGRAMS_H

#include "operations.h"

/* Applies one operation with that first value to a canvas of width x height, in place. */
void program_operate(const sl_operation_kind *kind, double value, uint8_t *pixels, uint32_t width,
                     uint32_t height);

/* Returns the program's output, as RGB bytes, for an image of width x height. */
void program_bytes(const sl_params *params, sl_simd simd, const uint8_t *pixels, uint32_t width,
                   uint32_t height, uint8_t *out);

#endif
