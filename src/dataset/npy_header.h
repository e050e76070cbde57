/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_header: parses the beginning of a .npy file.
 *
 * Purpose: implements numpy's format, versions 1.0 to 3.0 (numpy/lib/format.py): a magic number,
 * the header's length, and a Python dict of "descr", "fortran_order" and "shape". Understands only
 * the Python that numpy writes; evaluates nothing. Arrays of objects are pickles, which are never
 * loaded. Threads: pure.
 */
#ifndef SL_NPY_HEADER_H
#define SL_NPY_HEADER_H

#include "error.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_NPY_PREFIX_BYTES 12U        /* enough to determine a header's length */
#define SL_NPY_HEADER_MAX   (1U << 20) /* numpy itself accepts at most 10000 */
#define SL_NPY_DIMS_MAX     32U

typedef struct sl_npy {
    uint64_t data; /* file offset of the array */
    sluice_dtype dtype;
    uint32_t dims;
    uint64_t shape[SL_NPY_DIMS_MAX];
    uint64_t bytes; /* size of the array */
} sl_npy;

/*
 * Translates numpy's name of a dtype: "<f4", "|u1". Returns NULL, or a literal: why it is not
 * supported.
 */
const char *sl_npy_dtype(const char *text, size_t bytes, sluice_dtype *dtype);

/* Returns whether a file begins like a .npy file. */
bool sl_npy_is(const uint8_t *bytes, size_t size);
/*
 * Returns the offset of the array, given at least SL_NPY_PREFIX_BYTES; 0: not a .npy file, or an
 * unknown version.
 */
uint64_t sl_npy_length(const uint8_t *prefix);
/* Parses a whole header, from the file's beginning. Also rejects arrays that are not in C order. */
sl_refusal sl_npy_parse(sl_npy *npy, sl_bytes header);

#define SL_NPY_MADE_MAX 320U /* size for an array of SLUICE_TENSOR_DIMS_MAX dimensions */
/*
 * Writes the header, version 1.0, of an array with at most that many dimensions (ignores `data` and
 * `bytes`); returns its length, a multiple of 64. bf16, which numpy lacks, is written as its bits:
 * u2.
 */
size_t sl_npy_make(const sl_npy *npy, char header[SL_NPY_MADE_MAX]);

#endif
