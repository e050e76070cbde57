/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_array: interprets members of .npz files as arrays, fields and values.
 *
 * Purpose: a member NAME.npy of a zip archive is a .npy file; only this code knows how to read one.
 * An array without dimensions is a number; others are tensors. Threads: pure. No allocation;
 * deflated headers take 64 KiB of the stack.
 */
#ifndef SL_NPZ_ARRAY_H
#define SL_NPZ_ARRAY_H

#include "npy_header.h"
#include "source_columns.h"
#include "zip_directory.h"

/* Size of a member's beginning, unpacked; numpy's headers need 128 bytes. */
#define SL_NPZ_HEAD_BYTES 4096U

/*
 * Returns the array's name, without ".npy"; false: the member has another name and is not an array.
 */
bool sl_npz_name(const sl_zip_member *member, sl_bytes *name);

/*
 * Returns the first unpacked bytes of a member, given its first bytes in the file; they point into
 * those or into `capacity`.
 */
sl_bytes sl_npz_head(const sl_zip_member *member, sl_bytes packed,
                     uint8_t capacity[SL_NPZ_HEAD_BYTES]);
/*
 * Parses an array's header. `head` comes from sl_npz_head and has SL_NPZ_HEAD_BYTES, or all bytes
 * of a shorter member. UNSUPPORTED: not an array that can be a field; other errors: zip archive and
 * header disagree.
 */
sl_refusal sl_npz_parse(sl_npy *npy, const sl_zip_member *member, sl_bytes head);

/*
 * Writes the field of an array, or of its rows along the first dimension, which must exist. The
 * caller keeps the name.
 */
void sl_npz_field(sl_field *field, const sl_npy *npy, bool of_rows);
/* Converts an element to an INT or FLOAT value. */
sl_refusal sl_npz_number(sluice_dtype dtype, const uint8_t *bytes, sl_value *value);

/* Fields and the names of their arrays. */
typedef struct sl_npz_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    sluice_dtype dtypes[SL_FIELDS_MAX]; /* dtypes of the arrays, also for numbers */
    char names[SL_FIELDS_MAX][SL_SOURCE_NAME_BYTES];
} sl_npz_fields;

/* Location of a stored array; all 0 if unknown. */
typedef struct sl_npz_place {
    uint64_t data;  /* offset of its elements in the file */
    uint32_t bytes; /* size of the elements */
    uint32_t
        head_bytes; /* size of the headers before them: the member's local header and the array's */
    uint32_t shape[SLUICE_TENSOR_DIMS_MAX];
} sl_npz_place;

/* Finds the location of an array that can be read directly: a stored tensor. False: it cannot. */
bool sl_npz_place_of(sl_npz_place *place, const sl_zip_member *member, const sl_npy *npy);
/*
 * Checks that the bytes before a field's elements are as they were when the file was opened: a
 * stored member with the field's array name, dtype and shape.
 */
sl_refusal sl_npz_check_head(const sl_npz_fields *fields, uint32_t number,
                             const sl_npz_place *place, sl_bytes head);

/*
 * Unpacks an archive of `bytes`: the wanted fields, each checked against its array's header and, if
 * stored, its checksum. Deflated fields are passed on compressed.
 */
sl_refusal sl_npz_unpack(const sl_npz_fields *fields, sl_bytes bytes, sl_values *values);

#endif
