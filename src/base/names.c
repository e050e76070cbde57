/* SPDX-License-Identifier: Apache-2.0 */
/* What the public enums are called, and what DLPack calls dtypes. */
#include "dtype.h"

#include <sluice/common.h>

const char *sluice_status_name(sluice_status status)
{
    switch (status) {
    case SLUICE_OK:
        return "ok";
    case SLUICE_END:
        return "end";
    case SLUICE_AGAIN:
        return "again";
    case SLUICE_INVALID:
        return "invalid";
    case SLUICE_STATE:
        return "state";
    case SLUICE_NOMEM:
        return "nomem";
    case SLUICE_IO:
        return "io";
    case SLUICE_CORRUPT:
        return "corrupt";
    case SLUICE_UNSUPPORTED:
        return "unsupported";
    case SLUICE_DEVICE:
        return "device";
    case SLUICE_CANCELED:
        return "canceled";
    case SLUICE_INTERNAL:
        return "internal";
    }
    return "unknown";
}

/* DLPack's DLDataTypeCode. */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static const struct {
    const char *name;
    uint8_t code;
} dtypes[] = {
    [SLUICE_U8] = {"u8", DL_UINT},     [SLUICE_F32] = {"f32", DL_FLOAT},
    [SLUICE_F16] = {"f16", DL_FLOAT},  [SLUICE_BF16] = {"bf16", DL_BFLOAT},
    [SLUICE_I64] = {"i64", DL_INT},    [SLUICE_I32] = {"i32", DL_INT},
    [SLUICE_I16] = {"i16", DL_INT},    [SLUICE_I8] = {"i8", DL_INT},
    [SLUICE_U16] = {"u16", DL_UINT},   [SLUICE_U32] = {"u32", DL_UINT},
    [SLUICE_U64] = {"u64", DL_UINT},   [SLUICE_F64] = {"f64", DL_FLOAT},
    [SLUICE_BOOL] = {"bool", DL_BOOL},
};

size_t sluice_dtype_bytes(sluice_dtype dtype)
{
    return sl_dtype_bytes(dtype);
}

const char *sluice_dtype_name(sluice_dtype dtype)
{
    return sl_dtype_bytes(dtype) > 0 ? dtypes[dtype].name : "unknown";
}

sluice_status sluice_dtype_dlpack(sluice_dtype dtype, uint8_t *code, uint8_t *bits)
{
    if (sl_dtype_bytes(dtype) == 0 || code == NULL || bits == NULL) {
        return SLUICE_INVALID;
    }
    *code = dtypes[dtype].code;
    *bits = (uint8_t)(8 * sl_dtype_bytes(dtype));
    return SLUICE_OK;
}
