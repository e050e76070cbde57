/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_ptx: runs the library's conversion kernels in the executor (ptx.h).
 *
 * Purpose: the PTX is the build's own if the library is built with its kernels, otherwise
 * tests/data/conversion.ptx.zst, which nvcc made of the same sources (conversion_ptx.py checks
 * this).
 * Threads: pure.
 */
#ifndef CONVERSION_PTX_H
#define CONVERSION_PTX_H

#include "conversion_kernel.h"
#include "ptx.h"

/* Returns the text, which the caller frees. `file`: in tests/data. Fails the test if there is
 * none. */
char *conversion_ptx_text(const char *file);
/* Returns the text of the file even if the library has its own. */
char *conversion_ptx_unpack(const char *file);

/* Converts rows in host memory with kernel `kernel` of the module, launched as the library does.
 * Kernels see the arrays at separate addresses with nothing accessible around them. True if every
 * byte of the results was written and no check of ptx.h failed. */
bool conversion_ptx_run(const ptx_module *module, const sl_conversion *conversion,
                        const sl_conversion_rows *rows, uint64_t seed, ptx_failure *failure);

#endif
