/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx: runs kernels written in PTX on the host, and checks what they do.
 *
 * Purpose: the library's kernels run without a GPU, from the text that it ships. The executor knows
 * the instructions that these kernels use; any other instruction is a failure that names it. It
 * interprets one lane after the other. Warps of a block take turns and blocks follow each other in
 * an order drawn from the seed. Within a warp, the lanes at the earliest instruction run, also in a
 * drawn order.
 * Checks: every address is in memory that the launch lists or in the block's own, and is aligned to
 * the access; no byte and no register is read before it is written; two threads do not touch the
 * same byte, one of them writing, without a barrier in between; ld.global.nc reads nothing that the
 * launch writes; all threads reach each barrier; float instructions specify a rounding that every
 * assembler keeps. The first failure ends the launch.
 * Not checked: a driver's compiler, memory order between blocks beyond the rule above, time.
 * Threads: a module is immutable, so launches may share it; a launch belongs to its caller.
 * Global memory has the alignment of its `address`.
 */
#ifndef PTX_H
#define PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;

/* Reason for a failure: "line 12: st.global.u32 [%rd1], %r2: ..." */
typedef struct ptx_failure {
    char text[320];
} ptx_failure;

/* A range of global memory. */
typedef struct ptx_memory {
    uint64_t address; /* address that kernels see */
    size_t bytes;
    uint8_t *backing; /* the bytes */
    uint8_t *written; /* for each byte, nonzero: written; NULL: all written */
    bool writable;
} ptx_memory;

typedef struct ptx_launch {
    uint32_t grid[3], block[3];
    void *const *parameters; /* one address per parameter, as cuLaunchKernel takes them */
    const ptx_memory *memory;
    size_t memories;
    uint64_t seed;
    uint64_t steps; /* limit on the instructions of a warp [10 million] */
} ptx_launch;

/* Parses a module; NULL on failure. The text is copied. */
ptx_module *ptx_parse(const char *text, ptx_failure *failure);
void ptx_free(ptx_module *module);
/* Finds the kernel of that name; NULL: none. */
const ptx_kernel *ptx_find(const ptx_module *module, const char *wanted);
/* Returns the size of the parameters, each at its alignment; 0: no parameters. */
size_t ptx_parameter_bytes(const ptx_kernel *kernel);
/* Runs all blocks. False on failure, which leaves memory partly written. */
bool ptx_run(const ptx_kernel *kernel, const ptx_launch *launch, ptx_failure *failure);

#endif
