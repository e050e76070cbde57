/* SPDX-License-Identifier: Apache-2.0 */
/* subset_choice: reads ranges and files of numbers. */
#include "dtype.h"
#include "error.h"
#include "memory.h"
#include "npy_header.h"
#include "store.h"
#include "subset.h"

#define STAGE     "dataset"
#define FILE_MOST ((uint64_t)1 << 40)

static sluice_status subset_choice_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for a list of samples");
}

/* ---- ranges ---- */

/* Reads a number with an optional sign; false: none. */
static bool subset_choice_read_number(const char **text, bool *negative, uint64_t *value)
{
    const char *at = *text;
    *negative = *at == '-';
    at += *negative ? 1 : 0;
    const char *begin = at;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value)) {
            return false;
        }
    }
    *text = at;
    return at > begin;
}

/*
 * Reads an end of a range, or `otherwise` if it is omitted; false: not a number, or out of range.
 */
static bool subset_choice_read_end(const char **text, uint64_t samples, uint64_t otherwise,
                                   uint64_t *end)
{
    bool negative;
    uint64_t value;
    if (**text != '-' && (**text < '0' || **text > '9')) {
        *end = otherwise;
        return true;
    }
    if (!subset_choice_read_number(text, &negative, &value) || value > samples) {
        return false;
    }
    *end = negative ? samples - value : value;
    return true;
}

/* Reads "A:B", "A:", ":B" or "N". */
static bool subset_choice_read_range(const char **text, uint64_t samples, uint64_t *begin,
                                     uint64_t *end)
{
    const char *start = *text;
    if (!subset_choice_read_end(text, samples, 0, begin)) {
        return false;
    }
    if (**text == ':') {
        (*text)++;
        return subset_choice_read_end(text, samples, samples, end) && *begin <= *end;
    }
    *end = *begin + 1;
    return *text > start && *begin < samples;
}

sluice_status sl_subset_ranges(sl_index_map *map, const char *text, uint64_t samples,
                               sluice_error *error)
{
    const char *at = text;
    for (;;) {
        uint64_t begin;
        uint64_t end;
        const char *item = at;
        if (!subset_choice_read_range(&at, samples, &begin, &end) || (*at != ',' && *at != '\0')) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "\"%.40s\" is not a range of the dataset's %llu samples: expected "
                                "BEGIN:END, BEGIN:, :END or a number, separated by commas",
                                item, (unsigned long long)samples);
        }
        if (!sl_index_map_add(map, begin, end - begin)) {
            return subset_choice_no_memory(error);
        }
        if (*at == '\0') {
            return SLUICE_OK;
        }
        at++;
    }
}

/* ---- numbers ---- */

sluice_status sl_subset_indices(sl_index_map *map, const uint64_t *indices, uint64_t count,
                                uint64_t samples, sluice_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (indices[i] >= samples) {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "entry %llu of the list is out of range: %lld, the dataset has %llu samples",
                (unsigned long long)i, (long long)indices[i], (unsigned long long)samples);
        }
        if (!sl_index_map_add(map, indices[i], 1)) {
            return subset_choice_no_memory(error);
        }
    }
    return SLUICE_OK;
}

typedef struct index_file {
    const char *path;
    const uint8_t *data;
    size_t bytes;
    uint64_t samples;
} index_file;

static sluice_status subset_choice_refuse(const index_file *file, size_t offset, const char *why,
                                          sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, file->path, (int64_t)offset, "%s", why);
}

static sluice_status add_checked(sl_index_map *map, const index_file *file, size_t offset,
                                 uint64_t number, sluice_error *error)
{
    if (number >= file->samples) {
        return subset_choice_refuse(file, offset, "sample number out of range", error);
    }
    return sl_index_map_add(map, number, 1) ? SLUICE_OK : subset_choice_no_memory(error);
}

/* Reads numpy's integer, little-endian; UINT64_MAX: negative. */
static uint64_t npy_number(const uint8_t *at, sluice_dtype dtype)
{
    const size_t bytes = sl_dtype_bytes(dtype);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    const bool is_signed =
        dtype == SLUICE_I8 || dtype == SLUICE_I16 || dtype == SLUICE_I32 || dtype == SLUICE_I64;
    return is_signed && (at[bytes - 1] & 0x80) != 0 ? UINT64_MAX : value;
}

static bool subset_choice_is_whole(sluice_dtype dtype)
{
    return dtype == SLUICE_U8 || dtype == SLUICE_I8 || dtype == SLUICE_U16 || dtype == SLUICE_I16 ||
           dtype == SLUICE_U32 || dtype == SLUICE_I32 || dtype == SLUICE_U64 || dtype == SLUICE_I64;
}

static sluice_status read_npy(sl_index_map *map, const index_file *file, sluice_error *error)
{
    sl_npy npy = {0};
    const uint64_t length = file->bytes >= SL_NPY_PREFIX_BYTES ? sl_npy_length(file->data) : 0;
    if (length == 0 || length > file->bytes || length > SL_NPY_HEADER_MAX) {
        return subset_choice_refuse(
            file, 0, "its .npy header is truncated, or has an unknown version", error);
    }
    const sl_refusal why = sl_npy_parse(&npy, (sl_bytes){file->data, length});
    if (why.text != NULL) {
        return subset_choice_refuse(file, why.offset, why.text, error);
    }
    if (npy.dims != 1 || !subset_choice_is_whole(npy.dtype)) {
        return subset_choice_refuse(file, 0, "not a one-dimensional array of integers", error);
    }
    if (npy.data > file->bytes || npy.bytes != file->bytes - npy.data) {
        return subset_choice_refuse(file, (size_t)npy.data, "its size does not match its header",
                                    error);
    }
    const size_t each = sl_dtype_bytes(npy.dtype);
    for (size_t at = (size_t)npy.data; at < file->bytes; at += each) {
        const uint64_t number = npy_number(file->data + at, npy.dtype);
        const sluice_status status = add_checked(map, file, at, number, error);
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

static bool subset_choice_is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static sluice_status subset_choice_read_text(sl_index_map *map, const index_file *file,
                                             sluice_error *error)
{
    size_t at = 0;
    while (at < file->bytes) {
        if (subset_choice_is_blank(file->data[at])) {
            at++;
            continue;
        }
        const size_t begin = at;
        uint64_t value = 0;
        for (; at < file->bytes && file->data[at] >= '0' && file->data[at] <= '9'; at++) {
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, (uint64_t)(file->data[at] - '0'), &value)) {
                value = UINT64_MAX;
                break;
            }
        }
        if (value != UINT64_MAX &&
            (at == begin || (at < file->bytes && !subset_choice_is_blank(file->data[at])))) {
            return subset_choice_refuse(file, begin,
                                        "a line is not a sample number (counted from 0)", error);
        }
        const sluice_status status = add_checked(map, file, begin, value, error);
        if (status < 0) {
            return status;
        }
    }
    return SLUICE_OK;
}

sluice_status sl_subset_index_file(sl_index_map *map, const char *path, uint64_t samples,
                                   sluice_error *error)
{
    uint8_t *data = NULL;
    size_t bytes = 0;
    sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, FILE_MOST, &data, &bytes, error);
    if (status < 0) {
        return status;
    }
    const index_file file = {path, data, bytes, samples};
    status = sl_npy_is(data, bytes) ? read_npy(map, &file, error)
                                    : subset_choice_read_text(map, &file, error);
    sl_free(data);
    return status;
}
