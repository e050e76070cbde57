/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype: sizes and kinds of elements. Names are in names.h.
 *
 * Purpose: the one list of sizes, inline, so that loops over a constant dtype cost nothing.
 * Threads: pure.
 */
#ifndef SL_DTYPE_H
#define SL_DTYPE_H

#include <sluice/common.h>

#include <stdbool.h>

/* Returns the size; 0 for a value that is not a dtype. */
static inline size_t sl_dtype_bytes(sluice_dtype dtype)
{
    switch (dtype) {
    case SLUICE_U8:
    case SLUICE_I8:
    case SLUICE_BOOL:
        return 1;
    case SLUICE_F16:
    case SLUICE_BF16:
    case SLUICE_I16:
    case SLUICE_U16:
        return 2;
    case SLUICE_F32:
    case SLUICE_I32:
    case SLUICE_U32:
        return 4;
    case SLUICE_I64:
    case SLUICE_U64:
    case SLUICE_F64:
        return 8;
    }
    return 0;
}

static inline bool sl_dtype_is_float(sluice_dtype dtype)
{
    return dtype == SLUICE_F16 || dtype == SLUICE_BF16 || dtype == SLUICE_F32 ||
           dtype == SLUICE_F64;
}

/* True for integers that can be negative. */
static inline bool sl_dtype_is_signed(sluice_dtype dtype)
{
    return dtype == SLUICE_I8 || dtype == SLUICE_I16 || dtype == SLUICE_I32 || dtype == SLUICE_I64;
}

#endif
