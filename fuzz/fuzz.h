/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz: what a fuzz target and its engine have in common.
 *
 * Purpose: a target is one file with LLVMFuzzerTestOneInput (run one input; a fault is a crash, an
 * abort, a sanitizer's report or a hang) and fuzz_seed. Engines: driver.c, which runs the seeds and
 * deterministic mutations of them, so that fuzzing is part of the tests; or libFuzzer
 * (SLUICE_FUZZ). Threads: one.
 */
#ifndef SL_FUZZ_H
#define SL_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_INPUT_MAX ((size_t)1 << 20)

/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Writes valid input number `index` to `buffer` (FUZZ_INPUT_MAX bytes) and returns its size; 0 when
 * there is none of that number.
 */
size_t fuzz_seed(unsigned index, uint8_t *buffer);

/* Ends the program with a message when a promise of the library does not hold. */
static inline void fuzz_expect(bool holds, const char *promise)
{
    if (!holds) {
        fprintf(stderr, "broken promise: %s\n", promise);
        abort();
    }
}

#endif
