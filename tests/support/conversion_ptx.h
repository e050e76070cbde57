/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_ptx: the library's conversion kernels, as it ships them, run by the executor (ptx.h).
 *
 * Purpose: the PTX is the build's own where the library is built with its kernels, else
 * tests/data/conversion.ptx.zst, which nvcc made of the same sources (conversion_ptx.py sees to
 * it). Threads: pure.
 */
#ifndef CONVERSION_PTX_H
#define CONVERSION_PTX_H

#include "conversion_kernel.h"
#include "ptx.h"

/* The text, which the caller frees. `file`: of tests/data. Ends the test when there is none. */
char *conversion_ptx_text(const char *file);
/* That of the file, whatever the library has. */
char *conversion_ptx_unpack(const char *file);

/* One conversion of rows in host memory by kernel `kernel` of the module, as the library launches
 * it. Kernels see the arrays at addresses of their own, with nothing beside them. True: every byte
 * of the results was written, and none of the checks of ptx.h failed. */
bool conversion_ptx_run(const ptx_module *module, const sl_conversion *conversion,
                        const sl_conversion_rows *rows, uint64_t seed, ptx_failure *failure);

#endif
