/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_array: members of .npz files as arrays, fields and values.
 *
 * Purpose: a member NAME.npy of a zip archive is a .npy file; this is the one place that knows what
 * becomes of one. An array without dimensions is a number, others are tensors. Threads: pure. No
 * allocation; deflated headers take 64 KiB of the stack.
 */
#ifndef SL_NPZ_ARRAY_H
#define SL_NPZ_ARRAY_H

#include "npy_header.h"
#include "source_columns.h"
#include "zip_directory.h"

/* Of a member, unpacked: numpy's headers take 128. */
#define SL_NPZ_HEAD_BYTES 4096U

/* The array's name, without ".npy"; false: it is called otherwise, and no array. */
bool sl_npz_name(const sl_zip_member *member, sl_bytes *name);

/* The first bytes of what a member holds, by the first of its bytes in the file; they are there, or
 * in `capacity`. */
sl_bytes sl_npz_head(const sl_zip_member *member, sl_bytes packed,
                     uint8_t capacity[SL_NPZ_HEAD_BYTES]);
/*
 * Takes an array's header, by sl_npz_head of at least SL_NPZ_HEAD_BYTES, if there are so many.
 * UNSUPPORTED: no array that could be a field; else as zip archive and header agree.
 */
sl_refusal sl_npz_parse(sl_npy *npy, const sl_zip_member *member, sl_bytes head);

/* The field that an array is, or its rows along the first dimension, of which there is one then.
 * Its name is the caller's. */
void sl_npz_field(sl_field *field, const sl_npy *npy, bool of_rows);
/* An element as a value of an INT or FLOAT. */
sl_refusal sl_npz_number(sluice_dtype dtype, const uint8_t *bytes, sl_value *value);

/* Fields, and the arrays that they are called. */
typedef struct sl_npz_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    sluice_dtype dtypes[SL_FIELDS_MAX]; /* of the arrays, numbers as well */
    char names[SL_FIELDS_MAX][SL_SOURCE_NAME_BYTES];
} sl_npz_fields;

/* Where an array is that is stored. Of a place that is not known all is 0. */
typedef struct sl_npz_place {
    uint64_t data;       /* of its elements, in the file */
    uint32_t bytes;      /* of them */
    uint32_t head_bytes; /* before them: the member's local header, and the array's */
    uint32_t shape[SLUICE_TENSOR_DIMS_MAX];
} sl_npz_place;

/* Whether such an array can be found by its place: a tensor that is stored. */
bool sl_npz_place_of(sl_npz_place *place, const sl_zip_member *member, const sl_npy *npy);
/* Whether these are the bytes before a field's elements that a file had in that place when it was
 * looked at: a stored member, called as the field's array is, with the same dtype and shape. */
sl_refusal sl_npz_check_head(const sl_npz_fields *fields, uint32_t number,
                             const sl_npz_place *place, sl_bytes head);

/*
 * Takes an archive, all of its `bytes`, apart: the wanted fields, each held against its array's
 * header and, where it is stored, its checksum; deflated ones are passed on as they are.
 */
sl_refusal sl_npz_unpack(const sl_npz_fields *fields, sl_bytes bytes, sl_values *values);

#endif
