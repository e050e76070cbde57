/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard: what stands between an engine and a target.
 *
 * Purpose: the first byte of an input chooses the SIMD level and the decoder's code path. The rest
 * is copied to memory of exact size, so that AddressSanitizer sees a read past its end. An input
 * may take CPU_SECONDS_MOST of CPU time, and so much memory as its size allows (where a sanitizer
 * counts it); more ends the program. Threads: one, the engine's.
 */
#ifndef SL_FUZZ_GUARD_H
#define SL_FUZZ_GUARD_H

#include "fuzz.h"

enum { GUARD_HEAD = 1 };
#define GUARD_INPUT_MAX (FUZZ_INPUT_MAX + GUARD_HEAD)

/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As fuzz_seed, of GUARD_INPUT_MAX bytes with the byte of paths. */
size_t guard_seed(unsigned index, uint8_t *buffer);

/* Writes them all to the folder, as a corpus: seed0, seed1, ... */
void guard_write_seeds(const char *folder);

/* The same, if the environment has a FUZZ_SEEDS; then the program ends. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Mutates by the grammar of the input's format; absent (NULL) in targets that have none. `seed`
 * chooses the mutation. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
    __attribute__((weak));
/* One change that knows no format, of the engine. */
/* NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#endif
