/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31) {
        return fraction > 0 ? NAN : sign * INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static double brain(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define NUMBER(type) (((const type *)data)[i])

double values_number(const sluice_tensor *tensor, uint64_t i)
{
    const void *data = tensor->data;
    switch ((sluice_dtype)tensor->dtype) {
    case SLUICE_U8:
    case SLUICE_BOOL:
        return NUMBER(uint8_t);
    case SLUICE_I8:
        return NUMBER(int8_t);
    case SLUICE_U16:
        return NUMBER(uint16_t);
    case SLUICE_I16:
        return NUMBER(int16_t);
    case SLUICE_U32:
        return NUMBER(uint32_t);
    case SLUICE_I32:
        return NUMBER(int32_t);
    case SLUICE_U64:
        return (double)NUMBER(uint64_t);
    case SLUICE_I64:
        return (double)NUMBER(int64_t);
    case SLUICE_F16:
        return half(NUMBER(uint16_t));
    case SLUICE_BF16:
        return (double)brain(NUMBER(uint16_t));
    case SLUICE_F32:
        return (double)NUMBER(float);
    case SLUICE_F64:
        return NUMBER(double);
    default:
        return NAN;
    }
}

/* Writes "12", "-0.5": element `i` of an array. */
static void format_element(char *text, size_t bytes, const sluice_tensor *tensor, uint64_t i)
{
    const void *data = tensor->data;
    switch ((sluice_dtype)tensor->dtype) {
    case SLUICE_U8:
    case SLUICE_BOOL:
        snprintf(text, bytes, "%d", NUMBER(uint8_t));
        break;
    case SLUICE_I8:
        snprintf(text, bytes, "%d", NUMBER(int8_t));
        break;
    case SLUICE_U16:
        snprintf(text, bytes, "%d", NUMBER(uint16_t));
        break;
    case SLUICE_I16:
        snprintf(text, bytes, "%d", NUMBER(int16_t));
        break;
    case SLUICE_U32:
        snprintf(text, bytes, "%" PRIu32, NUMBER(uint32_t));
        break;
    case SLUICE_I32:
        snprintf(text, bytes, "%" PRId32, NUMBER(int32_t));
        break;
    case SLUICE_U64:
        snprintf(text, bytes, "%" PRIu64, NUMBER(uint64_t));
        break;
    case SLUICE_I64:
        snprintf(text, bytes, "%" PRId64, NUMBER(int64_t));
        break;
    case SLUICE_F16:
        snprintf(text, bytes, "%.4g", half(NUMBER(uint16_t)));
        break;
    case SLUICE_BF16:
        snprintf(text, bytes, "%.3g", brain(NUMBER(uint16_t)));
        break;
    case SLUICE_F32:
        snprintf(text, bytes, "%.6g", (double)NUMBER(float));
        break;
    case SLUICE_F64:
        snprintf(text, bytes, "%.6g", NUMBER(double));
        break;
    default:
        snprintf(text, bytes, "?");
        break;
    }
}

static void join(const sluice_tensor *tensor, uint64_t count, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < count; i++) {
        char element[32];
        format_element(element, sizeof element, tensor, i);
        const int more = snprintf(text + length, bytes - length, "%s%s", i > 0 ? " " : "", element);
        length += more > 0 ? (size_t)more : 0;
        if (length >= bytes) {
            return;
        }
    }
}

/* Copies a text as one line. */
static void copy_letters(const char *from, uint64_t count, char *text, size_t bytes)
{
    const size_t length = count < bytes - 1 ? (size_t)count : bytes - 1;
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)((unsigned char)from[i] < ' ' ? ' ' : from[i]);
    }
    text[length] = '\0';
}

static sluice_status find_length(const sluice_batch *batch, const char *column, uint64_t *length)
{
    char name[64];
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    snprintf(name, sizeof name, "%s.lengths", column);
    const sluice_status status = sluice_batch_tensor(batch, name, &tensor);
    if (status == SLUICE_OK) {
        *length = (uint64_t) * (const int64_t *)tensor.data;
    }
    return status;
}

sluice_status values_take(const sluice_batch *batch, const struct values_source *source,
                          sluice_tensor *tensor, uint64_t *count)
{
    sluice_status status = sluice_batch_tensor(batch, source->column, tensor);
    *count = 0;
    if (status < 0) {
        return status;
    }
    *count = tensor->size_bytes / sluice_dtype_bytes((sluice_dtype)tensor->dtype);
    if (source->is_padded && tensor->dims > 1 && tensor->shape[1] > 0) {
        uint64_t length = 0;
        const uint64_t step = *count / (uint64_t)tensor->shape[1];
        status = find_length(batch, source->column, &length);
        *count = length * step;
    }
    return status;
}

sluice_status values_describe(const sluice_batch *batch, const struct values_source *source,
                              char *text, size_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    uint64_t count = 0;
    const sluice_status status = values_take(batch, source, &tensor, &count);
    if (status < 0) {
        return status;
    }
    if (source->is_text) {
        copy_letters(tensor.data, count, text, bytes);
    } else {
        join(&tensor, count, text, bytes);
    }
    return status;
}
