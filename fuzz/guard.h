/* SPDX-License-Identifier: Apache-2.0 */
/* guard: the layer between an engine and a target.
 *
 * Purpose: the first byte of an input chooses the SIMD level and the decoder's code path. The rest
 * is copied to memory of exact size, so that AddressSanitizer detects an overread. An input may
 * take CPU_SECONDS_MOST of CPU time and an amount of memory that depends on its size (if a
 * sanitizer counts it); exceeding either ends the program. Threads: one, the engine's. */
#ifndef SL_FUZZ_GUARD_H
#define SL_FUZZ_GUARD_H

#include "fuzz.h"

enum { GUARD_HEAD = 1 };
#define GUARD_INPUT_MAX (FUZZ_INPUT_MAX + GUARD_HEAD)

/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like fuzz_seed, for GUARD_INPUT_MAX bytes including the byte that chooses code paths. */
size_t guard_seed(unsigned index, uint8_t *buffer);

/* Writes all seeds to the folder as a corpus: seed0, seed1, ... */
void guard_write_seeds(const char *folder);

/* Does the same if the environment has FUZZ_SEEDS, and then ends the program. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Mutates by the grammar of the input's format; absent (NULL) in targets without one. `seed`
 * chooses the mutation. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
    __attribute__((weak));
/* Makes one of the engine's format-independent changes. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#endif
