/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_header: what the beginning of a .npy file says.
 *
 * Purpose: numpy's format, versions 1.0 to 3.0 (numpy/lib/format.py): a magic, the header's length,
 * a Python dict of "descr", "fortran_order" and "shape". Of Python only what numpy writes is
 * understood; nothing is evaluated. Arrays of objects are pickles, which are never loaded.
 * Threads: pure.
 */
#ifndef SL_NPY_HEADER_H
#define SL_NPY_HEADER_H

#include "error.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_NPY_PREFIX_BYTES 12U        /* enough to tell a header's length */
#define SL_NPY_HEADER_MAX   (1U << 20) /* numpy itself takes no more than 10000 */
#define SL_NPY_DIMS_MAX     32U

typedef struct sl_npy {
    uint64_t data; /* where the array begins in the file */
    sluice_dtype dtype;
    uint32_t dims;
    uint64_t shape[SL_NPY_DIMS_MAX];
    uint64_t bytes; /* of the array */
} sl_npy;

/* A dtype as numpy calls it: "<f4", "|u1". NULL, or a literal: why it is none that can be taken. */
const char *sl_npy_dtype(const char *text, size_t bytes, sluice_dtype *dtype);

/* Whether a file begins like this. */
bool sl_npy_is(const uint8_t *bytes, size_t size);
/* Bytes up to where the array begins, of at least SL_NPY_PREFIX_BYTES; 0: not such a file, or a
 * version that is not known. */
uint64_t sl_npy_length(const uint8_t *prefix);
/* All of the header, from the file's beginning. Refuses, too, what is in another order than C's. */
sl_refusal sl_npy_parse(sl_npy *npy, sl_bytes header);

#define SL_NPY_MADE_MAX 320U /* of an array of SLUICE_TENSOR_DIMS_MAX dimensions */
/* Writes the header, version 1.0, of such an array of at most that many dimensions (its `data` and
 * `bytes` do not count); its length, a multiple of 64. bf16, which numpy lacks, is its bits: u2. */
size_t sl_npy_make(const sl_npy *npy, char header[SL_NPY_MADE_MAX]);

#endif
