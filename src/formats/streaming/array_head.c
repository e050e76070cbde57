/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_head: parses the headers of arrays in MDS and LitData. Pure.
 *
 * The shape is untrusted and must match the bytes that follow.
 */
#include "array_head.h"

#include "dtype.h"
#include "little_endian.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t code;
    sluice_dtype dtype;
} mds_dtypes[] = {
    {"uint8", 8, SLUICE_U8},   {"int8", 9, SLUICE_I8},      {"uint16", 16, SLUICE_U16},
    {"int16", 17, SLUICE_I16}, {"float16", 18, SLUICE_F16}, {"uint32", 32, SLUICE_U32},
    {"int32", 33, SLUICE_I32}, {"float32", 34, SLUICE_F32}, {"uint64", 64, SLUICE_U64},
    {"int64", 65, SLUICE_I64}, {"float64", 66, SLUICE_F64},
};

enum { MDS_DTYPES = sizeof(mds_dtypes) / sizeof(mds_dtypes[0]) };

bool sl_array_mds_dtype(const char *name, size_t bytes, sluice_dtype *dtype)
{
    for (int i = 0; i < MDS_DTYPES; i++) {
        if (strlen(mds_dtypes[i].name) == bytes && memcmp(mds_dtypes[i].name, name, bytes) == 0) {
            *dtype = mds_dtypes[i].dtype;
            return true;
        }
    }
    return false;
}

static bool find_code(uint8_t code, sluice_dtype *dtype)
{
    for (int i = 0; i < MDS_DTYPES; i++) {
        if (mds_dtypes[i].code == code) {
            *dtype = mds_dtypes[i].dtype;
            return true;
        }
    }
    return false;
}

/* Marks numbers of unsupported dtypes: complex numbers, objects, texts. */
enum { NONE = -1 };

static bool array_head_take(const int8_t *list, size_t count, uint64_t number, sluice_dtype *dtype)
{
    if (number >= count || list[number] == NONE) {
        return false;
    }
    *dtype = (sluice_dtype)list[number];
    return true;
}

/* some dtypes have several names, each with its own number */
bool sl_array_torch_dtype(uint64_t number, sluice_dtype *dtype)
{
    static const int8_t list[] = {
        SLUICE_F32, SLUICE_F32, SLUICE_F64, SLUICE_F64,  NONE,       NONE,        NONE,
        NONE,       SLUICE_F16, SLUICE_F16, SLUICE_BF16, SLUICE_U8,  SLUICE_I8,   SLUICE_I16,
        SLUICE_I16, SLUICE_I32, SLUICE_I32, SLUICE_I64,  SLUICE_I64, SLUICE_BOOL, SLUICE_U16,
    };
    return array_head_take(list, sizeof(list), number, dtype);
}

bool sl_array_numpy_dtype(uint64_t number, sluice_dtype *dtype)
{
    static const int8_t list[] = {
        SLUICE_I8,  SLUICE_I16, SLUICE_I32, SLUICE_I64, SLUICE_U8, SLUICE_U16, SLUICE_U32,
        SLUICE_U64, SLUICE_F16, SLUICE_F32, SLUICE_F64, NONE,      NONE,       SLUICE_BOOL,
    };
    return array_head_take(list, sizeof(list), number, dtype);
}

/* ---- heads ---- */

static sl_refusal refuse_short(void)
{
    return sl_refuse("its array is truncated within its header", 0);
}

static sl_refusal array_head_refuse_dtype(size_t at)
{
    return sl_refuse_unknown("the dtype of its array is not supported", at);
}

static sl_refusal refuse_dims(size_t at)
{
    return sl_refuse_unknown("its array has more than 8 dimensions", at);
}

/* Checks that the remaining elements are as many as the shape says. */
static sl_refusal check_elements(const sl_array *array, sl_bytes bytes)
{
    const uint64_t left = bytes.size - array->data;
    uint64_t size = sl_dtype_bytes(array->dtype);
    bool empty = false;
    for (uint32_t i = 0; i < array->dims; i++) {
        empty = empty || array->shape[i] == 0;
    }
    for (uint32_t i = 0; !empty && i < array->dims; i++) {
        if (array->shape[i] > left / size) {
            return sl_refuse("size does not match the array's shape", array->data);
        }
        size *= array->shape[i];
    }
    return (empty ? 0 : size) == left
               ? sl_accept()
               : sl_refuse("size does not match the array's shape", array->data);
}

static uint64_t array_head_load(const uint8_t *from, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = bytes; i > 0; i--) {
        value = value << 8 | from[i - 1];
    }
    return value;
}

static sl_refusal parse_mds_shape(sl_array *array, sl_bytes bytes, uint32_t at)
{
    if (bytes.size <= at) {
        return refuse_short();
    }
    const uint32_t width = 1U << (bytes.data[at] & 3);
    array->dims = bytes.data[at] >> 2;
    if (array->dims > SLUICE_TENSOR_DIMS_MAX) {
        return refuse_dims(at);
    }
    at++;
    if (bytes.size - at < (size_t)array->dims * width) {
        return refuse_short();
    }
    for (uint32_t i = 0; i < array->dims; i++) {
        array->shape[i] = array_head_load(bytes.data + at, width);
        at += width;
    }
    array->data = at;
    return check_elements(array, bytes);
}

static sl_refusal parse_mds(sl_array *array, sl_bytes bytes)
{
    if (bytes.size == 0) {
        return refuse_short();
    }
    return find_code(bytes.data[0], &array->dtype) ? parse_mds_shape(array, bytes, 1)
                                                   : array_head_refuse_dtype(0);
}

static uint32_t array_head_load32(const uint8_t *from, bool big_endian)
{
    const uint32_t little = sl_load32(from);
    return big_endian
               ? little >> 24 | (little >> 8 & 0xff00) | (little << 8 & 0xff0000) | little << 24
               : little;
}

/* Numbers of dtypes and dimensions are below 256, so only one byte order gives valid values. */
static bool array_head_is_big_endian(const uint8_t *head)
{
    return array_head_load32(head, false) > 0xff || array_head_load32(head + 4, false) > 0xff;
}

static sl_refusal parse_litdata(sl_array *array, sl_bytes bytes, bool torch)
{
    uint32_t at = 8;
    if (bytes.size < at) {
        return refuse_short();
    }
    const bool big = torch && array_head_is_big_endian(bytes.data);
    const uint32_t number = array_head_load32(bytes.data, big);
    array->dims = array_head_load32(bytes.data + 4, big);
    if (!(torch ? sl_array_torch_dtype(number, &array->dtype)
                : sl_array_numpy_dtype(number, &array->dtype))) {
        return array_head_refuse_dtype(0);
    }
    if (array->dims > SLUICE_TENSOR_DIMS_MAX) {
        return refuse_dims(4);
    }
    if (bytes.size - at < (size_t)array->dims * 4) {
        return refuse_short();
    }
    for (uint32_t i = 0; i < array->dims; i++) {
        array->shape[i] = array_head_load32(bytes.data + at, big);
        at += 4;
    }
    array->data = at;
    return check_elements(array, bytes);
}

sl_refusal sl_array_parse(sl_array *array, sl_array_head head, sl_bytes bytes)
{
    switch (head) {
    case SL_ARRAY_MDS_SHAPE:
        return parse_mds_shape(array, bytes, 0);
    case SL_ARRAY_MDS:
        return parse_mds(array, bytes);
    case SL_ARRAY_TORCH:
        return parse_litdata(array, bytes, true);
    case SL_ARRAY_NUMPY:
        return parse_litdata(array, bytes, false);
    }
    return array_head_refuse_dtype(0);
}
