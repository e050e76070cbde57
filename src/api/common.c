/* SPDX-License-Identifier: Apache-2.0 */
/* common: the version, errors as text, and statuses and dtypes for other programs. */
#include "dtype.h"
#include "error.h"
#include "minmax.h"
#include "names.h"
#include "safe_text.h"

#include <sluice/common.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number) #number
#define DOTTED(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
#define REASON_BYTES    128

const char *sluice_version(void)
{
    return DOTTED(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH);
}

/* ---- statuses and dtypes ---- */

const char *sluice_status_name(sluice_status status)
{
    return sl_status_name(status);
}

size_t sluice_dtype_bytes(sluice_dtype dtype)
{
    return sl_dtype_bytes(dtype);
}

const char *sluice_dtype_name(sluice_dtype dtype)
{
    return sl_dtype_name(dtype);
}

/* DLPack's DLDataTypeCode. */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };

static const uint8_t dlpack_codes[] = {
    [SLUICE_U8] = DL_UINT,   [SLUICE_U16] = DL_UINT,  [SLUICE_U32] = DL_UINT,
    [SLUICE_U64] = DL_UINT,  [SLUICE_I8] = DL_INT,    [SLUICE_I16] = DL_INT,
    [SLUICE_I32] = DL_INT,   [SLUICE_I64] = DL_INT,   [SLUICE_F16] = DL_FLOAT,
    [SLUICE_F32] = DL_FLOAT, [SLUICE_F64] = DL_FLOAT, [SLUICE_BF16] = DL_BFLOAT,
    [SLUICE_BOOL] = DL_BOOL,
};

sluice_status sluice_dtype_dlpack(sluice_dtype dtype, uint8_t *code, uint8_t *bits)
{
    if (sl_dtype_bytes(dtype) == 0 || code == NULL || bits == NULL) {
        return SLUICE_INVALID;
    }
    *code = dlpack_codes[dtype];
    *bits = (uint8_t)(8 * sl_dtype_bytes(dtype));
    return SLUICE_OK;
}

/* ---- errors ---- */

/* A text written to a buffer that may be too small for it. */
typedef struct text {
    char *buffer;
    size_t bytes;  /* size of the buffer */
    size_t length; /* length of the whole text so far, including a truncated part */
} text;

static void common_add(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void common_add(text *to, const char *format, ...)
{
    const size_t at = sl_min_size(to->length, to->bytes);
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(to->bytes == at ? NULL : to->buffer + at, to->bytes - at, format, arguments);
    va_end(arguments);
    to->length += length < 0 ? 0 : (size_t)length;
}

/* Adds text that may come from data: `field` has `capacity` bytes, with or without a NUL. */
static void add_safe(text *to, const char *field, size_t capacity)
{
    const size_t at = sl_min_size(to->length, to->bytes);
    to->length +=
        sl_safe_text(to->bytes == at ? NULL : to->buffer + at, to->bytes - at, field, capacity);
}

/* Returns the known part of the caller's struct. */
static sluice_error whole(const sluice_error *given)
{
    sluice_error error;
    sl_error_clear(&error);
    memcpy(&error, given, given->struct_size < sizeof(error) ? given->struct_size : sizeof(error));
    return error;
}

size_t sluice_error_format(const sluice_error *given, char *buffer, size_t bytes)
{
    const sluice_error own = whole(given);
    const sluice_error *error = &own;
    text to = {.buffer = buffer, .bytes = bytes};
    const char *comma = "";
    if (bytes > 0) {
        buffer[0] = '\0';
    }
    if (error->stage[0] != '\0') {
        add_safe(&to, error->stage, sizeof(error->stage));
        common_add(&to, ": ");
    }
    const size_t before = to.length;
    if (error->file[0] != '\0') {
        add_safe(&to, error->file, sizeof(error->file));
        comma = ", ";
    }
    if (error->offset >= 0) {
        common_add(&to, "%soffset %" PRId64, comma, error->offset);
        comma = ", ";
    }
    if (error->sample >= 0) {
        common_add(&to, "%ssample %" PRId64, comma, error->sample);
    }
    common_add(&to, "%s", to.length > before ? ": " : "");
    add_safe(&to, error->text, sizeof(error->text));
    if (error->sys_errno != 0) {
        char reason[REASON_BYTES];
        common_add(&to, " (");
        add_safe(&to, strerror_r(error->sys_errno, reason, sizeof(reason)), REASON_BYTES);
        common_add(&to, ")");
    }
    return to.length;
}
