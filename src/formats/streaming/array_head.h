/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_head: arrays that say themselves what they are.
 *
 * Purpose: what stands before the elements of an array in MDS and in LitData: its dtype, how many
 * dimensions, their sizes; and the numbers and names that they have for dtypes. Threads: pure.
 */
#ifndef SL_ARRAY_HEAD_H
#define SL_ARRAY_HEAD_H

#include "error.h"
#include "view.h"

#include <stdbool.h>

typedef enum sl_array_head {
    SL_ARRAY_MDS_SHAPE, /* MDS, of a dtype that is known: u8 dimensions x 4 + log2 of the bytes of
                           a size, then the sizes */
    SL_ARRAY_MDS,       /* u8 dtype, then as above */
    SL_ARRAY_TORCH,     /* LitData's "tensor": u32 dtype, u32 dimensions, u32 sizes; big-endian, or
                           little-endian as its writers before 0.2.58 have it */
    SL_ARRAY_NUMPY      /* LitData's "numpy": the same, little-endian, other numbers of dtypes */
} sl_array_head;

typedef struct sl_array {
    sluice_dtype dtype;
    uint32_t dims;
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint32_t data; /* where its elements begin */
} sl_array;

/*
 * `bytes` are all of an array; of SL_ARRAY_MDS_SHAPE array->dtype is filled in before. Refuses more
 * than 8 dimensions, dtypes that there are none of here, and elements that are not as many as the
 * shape says.
 */
sl_refusal sl_array_parse(sl_array *array, sl_array_head head, sl_bytes bytes);

/* MDS's name of a dtype, of `bytes` bytes. False: there is none here. */
bool sl_array_mds_dtype(const char *name, size_t bytes, sluice_dtype *dtype);
/* LitData's number of a dtype. */
bool sl_array_torch_dtype(uint64_t number, sluice_dtype *dtype);
bool sl_array_numpy_dtype(uint64_t number, sluice_dtype *dtype);

#endif
