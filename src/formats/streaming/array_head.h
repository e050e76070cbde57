/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_head: parses arrays that describe themselves.
 *
 * Purpose: reads the header before the elements of an array in MDS and LitData: its dtype, its
 * dimensions and their sizes; and translates their numbers and names of dtypes. Threads: pure.
 */
#ifndef SL_ARRAY_HEAD_H
#define SL_ARRAY_HEAD_H

#include "error.h"
#include "view.h"

#include <stdbool.h>

typedef enum sl_array_head {
    SL_ARRAY_MDS_SHAPE, /* MDS, known dtype: u8 dimensions x 4 + log2 of the size of a dimension's
                           number, then the dimensions */
    SL_ARRAY_MDS,       /* u8 dtype, then as above */
    SL_ARRAY_TORCH,     /* LitData's "tensor": u32 dtype, u32 number of dimensions, u32 dimensions;
                           big-endian, or little-endian from writers before 0.2.58 */
    SL_ARRAY_NUMPY      /* LitData's "numpy": the same, little-endian, with other dtype numbers */
} sl_array_head;

typedef struct sl_array {
    sluice_dtype dtype;
    uint32_t dims;
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint32_t data; /* offset of the elements */
} sl_array;

/*
 * Parses an array from all of its `bytes`; for SL_ARRAY_MDS_SHAPE the caller sets array->dtype
 * first. Rejects more than 8 dimensions, unsupported dtypes, and a number of elements that differs
 * from the shape.
 */
sl_refusal sl_array_parse(sl_array *array, sl_array_head head, sl_bytes bytes);

/* Translates MDS's name of a dtype, of `bytes` length. False: unsupported. */
bool sl_array_mds_dtype(const char *name, size_t bytes, sluice_dtype *dtype);
/* Translates LitData's number of a dtype. */
bool sl_array_torch_dtype(uint64_t number, sluice_dtype *dtype);
bool sl_array_numpy_dtype(uint64_t number, sluice_dtype *dtype);

#endif
