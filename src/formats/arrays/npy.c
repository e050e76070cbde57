/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy: .npy files: each row of the array (along its first dimension) is a sample, read in place.
 *
 * A one-dimensional array is a series, of tokens for example: its samples are ranges of SERIES
 * elements, and windows define the rows of a batch. Files with the same dtype and row shape are
 * joined.
 */
#include "dataset.h"
#include "dtype.h"
#include "flat.h"
#include "memory.h"
#include "npy_header.h"
#include "store.h"

#include <string.h>
#include <strings.h>

#define STAGE  "dataset"
#define SERIES ((uint64_t)1 << 20)

static bool npy_probe(sl_look *look)
{
    const sl_bytes head = sl_look_head(look, SL_NPY_PREFIX_BYTES);
    return head.size == SL_NPY_PREFIX_BYTES && sl_npy_is(head.data, head.size);
}

/* Recognises names in a folder, in upper or lower case. */
static bool npy_is_file(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".npy") == 0;
}

static sluice_status npy_refuse(const char *path, sl_refusal refusal, sluice_error *error)
{
    return sl_error_file(error, refusal.status, STAGE, 0, path, refusal.offset, "%s", refusal.text);
}

/* Reads the header of an open file of `bytes`. */
static sluice_status npy_read_header(const sl_handle *from, uint64_t bytes, sl_npy *npy,
                                     sluice_error *error)
{
    uint8_t prefix[SL_NPY_PREFIX_BYTES];
    const char *path = from->name.path;
    if (bytes < sizeof(prefix)) {
        return npy_refuse(path, sl_refuse("too short for a .npy file", 0), error);
    }
    sluice_status status = sl_handle_read(from, prefix, sizeof(prefix), 0, error);
    if (status < 0) {
        return status;
    }
    const uint64_t length = sl_npy_length(prefix);
    if (length == 0) {
        return npy_refuse(path,
                          sl_npy_is(prefix, sizeof(prefix))
                              ? sl_refuse_unknown("unknown version of the .npy format", 6)
                              : sl_refuse("not a .npy file, unlike the others", 0),
                          error);
    }
    if (length > SL_NPY_HEADER_MAX || length > bytes) {
        return npy_refuse(path, sl_refuse("its header is too long", 8), error);
    }
    uint8_t *header = sl_malloc(length);
    if (header == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, 0,
                             "out of memory for its header");
    }
    status = sl_handle_read(from, header, length, 0, error);
    if (status == SLUICE_OK) {
        const sl_refusal refusal = sl_npy_parse(npy, (sl_bytes){header, length});
        status = refusal.text != NULL ? npy_refuse(path, refusal, error) : SLUICE_OK;
    }
    sl_free(header);
    return status;
}

static sluice_status npy_check_size(const char *path, uint64_t bytes, const sl_npy *npy,
                                    sluice_error *error)
{
    if (npy->dims == 0 || npy->dims > SLUICE_TENSOR_DIMS_MAX) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, 0,
                             "its array has %u dimensions: expected 1 to %d", npy->dims,
                             SLUICE_TENSOR_DIMS_MAX);
    }
    if (bytes - npy->data == npy->bytes) {
        return SLUICE_OK;
    }
    return sl_error_file(
        error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)npy->data,
        "its array has %llu bytes according to its header, but the file holds %llu",
        (unsigned long long)npy->bytes, (unsigned long long)(bytes - npy->data));
}

static sluice_status npy_measure(sl_flat_part *part, const char *path, sl_npy *npy,
                                 sluice_error *error)
{
    sl_handle from;
    *part = (sl_flat_part){.path = path};
    sluice_status status = sl_handle_open(&from, (sl_file_name){STAGE, path}, &part->file, error);
    if (status < 0) {
        return status;
    }
    status = npy_read_header(&from, part->file.bytes, npy, error);
    sl_handle_close(&from);
    if (status == SLUICE_OK) {
        status = npy_check_size(path, part->file.bytes, npy, error);
    }
    part->begin = npy->data;
    part->bytes = npy->bytes;
    return status;
}

/* Describes a row. */
static void set_field(sl_field *field, const sl_npy *npy)
{
    *field = (sl_field){.name = "tensor", .type = SLUICE_FIELD_TENSOR, .dtype = npy->dtype};
    if (npy->dims == 1) {
        field->dims = 1;
        field->shape[0] = SERIES;
        return;
    }
    field->dims = npy->dims - 1;
    memcpy(field->shape, npy->shape + 1, field->dims * sizeof(field->shape[0]));
}

static bool npy_is_same_field(const sl_field *a, const sl_field *b)
{
    return a->dtype == b->dtype && a->dims == b->dims &&
           memcmp(a->shape, b->shape, a->dims * sizeof(a->shape[0])) == 0;
}

static sluice_status measure_all(sl_flat_part *parts, const char *const *paths, size_t count,
                                 sl_field *field, sluice_error *error)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        sl_npy npy = {0};
        sl_field own;
        const sluice_status status = npy_measure(&parts[i], paths[i], &npy, error);
        if (status < 0) {
            return status;
        }
        set_field(&own, &npy);
        if (i > 0 && !npy_is_same_field(&own, field)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[i], 0,
                                 "the dtype or shape of its rows differs from that of %s",
                                 paths[0]);
        }
        *field = own;
        bytes += npy.bytes;
    }
    return bytes > 0
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], 0, "the array is empty");
}

static sluice_status open_npy(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    static const sl_flat_kind rows = {"npy", "arrays (.npy), one sample per row"};
    static const sl_flat_kind series = {
        "npy", "arrays (.npy) of one dimension, in runs of 2^20 elements (for windows)"};
    sl_field field = {.dims = 0};
    (void)options;
    sl_flat_part *parts = sl_calloc(count, sizeof(*parts));
    if (parts == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = measure_all(parts, paths, count, &field, error);
    if (status == SLUICE_OK) {
        const bool is_series = field.dims == 1 && field.shape[0] == SERIES;
        status =
            sl_flat_open_parts(dataset, parts, count, &field, is_series ? &series : &rows, error);
    }
    sl_free(parts);
    return status;
}

SL_FORMAT(npy) = {
    .name = "npy",
    .files = ".npy files",
    .known = ".npy",
    .probe = npy_probe,
    .is_file = npy_is_file,
    .is_binary = true,
    .open = open_npy,
};
