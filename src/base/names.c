/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include "dtype.h"

const char *sl_status_name(sluice_status status)
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

const char *const sl_dtype_names[] = {
    [SLUICE_U8] = "u8",     [SLUICE_F32] = "f32",
    [SLUICE_F16] = "f16",   [SLUICE_BF16] = "bf16",
    [SLUICE_I64] = "i64",   [SLUICE_I32] = "i32",
    [SLUICE_I16] = "i16",   [SLUICE_I8] = "i8",
    [SLUICE_U16] = "u16",   [SLUICE_U32] = "u32",
    [SLUICE_U64] = "u64",   [SLUICE_F64] = "f64",
    [SLUICE_BOOL] = "bool", NULL,
};

const char *sl_dtype_name(sluice_dtype dtype)
{
    return sl_dtype_bytes(dtype) > 0 ? sl_dtype_names[dtype] : "unknown";
}
