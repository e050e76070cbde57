/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: the interface between a fuzz target and its engine.
 *
 * Purpose: a target is one file with fuzz_run (runs one input; a fault is a crash, an abort, a
 * sanitizer's report or a hang) and fuzz_seed. guard.c is between the target and the engine: the
 * first byte of an input chooses code paths, the target gets the rest in memory of exact size, and
 * time and memory are limited. Engines: driver.c, which runs the seeds and deterministic mutations
 * of them, so that fuzzing is part of the tests; or libFuzzer (SLUICE_FUZZ). Threads: one. */
#ifndef SL_FUZZ_H
#define SL_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of a target's input, without the first byte, which chooses code paths. */
#define FUZZ_INPUT_MAX ((size_t)1 << 20)

/* The target: runs one input, whose memory ends with its last byte. Returns 0. */
int fuzz_run(const uint8_t *data, size_t size);

/* Writes valid input number `index` to `buffer` (FUZZ_INPUT_MAX bytes). Returns its size, or 0 if
 * there is no such number. */
size_t fuzz_seed(unsigned index, uint8_t *buffer);

/* The code paths of this input. The environment already sets the SIMD level: a decoder opened now
 * uses it. */
enum { FUZZ_LEVELS = 3 };
unsigned fuzz_level(void); /* 0 .. FUZZ_LEVELS-1: scalar, AVX2, the best */
uint32_t fuzz_avoid(void); /* an or of SL_PATH_*, for sl_decoder_avoid */

/* Ends the program with a message if the library breaks a promise. */
static inline void fuzz_expect(bool holds, const char *promise)
{
    if (!holds) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

#endif
