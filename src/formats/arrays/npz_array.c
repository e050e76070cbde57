/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_array: checks a .npy member and reads its values. Pure.
 *
 * Member and directory are untrusted: sizes must agree with the header before a value is returned.
 */
#include "npz_array.h"

#include "crc32.h"
#include "dtype.h"
#include "inflate.h"
#include "stored_number.h"

#include <string.h>

static const char suffix[4] = {'.', 'n', 'p', 'y'};

bool sl_npz_name(const sl_zip_member *member, sl_bytes *name)
{
    *name = member->name;
    if (name->size < sizeof(suffix) ||
        memcmp(name->data + name->size - sizeof(suffix), suffix, sizeof(suffix)) != 0) {
        return false;
    }
    name->size -= sizeof(suffix);
    return true;
}

sl_bytes sl_npz_head(const sl_zip_member *member, sl_bytes packed,
                     uint8_t capacity[SL_NPZ_HEAD_BYTES])
{
    if (member->method == SL_ZIP_DEFLATED) {
        return (sl_bytes){capacity, sl_inflate_head(packed, capacity, SL_NPZ_HEAD_BYTES)};
    }
    return (sl_bytes){packed.data,
                      packed.size < SL_NPZ_HEAD_BYTES ? packed.size : SL_NPZ_HEAD_BYTES};
}

sl_refusal sl_npz_parse(sl_npy *npy, const sl_zip_member *member, sl_bytes head)
{
    *npy = (sl_npy){.dims = 0};
    if (head.size < SL_NPY_PREFIX_BYTES || !sl_npy_is(head.data, head.size)) {
        return head.size < member->bytes && head.size < SL_NPZ_HEAD_BYTES
                   ? sl_refuse("its beginning is corrupt", 0)
                   : sl_refuse_unknown("not an array saved by numpy", 0);
    }
    const uint64_t length = sl_npy_length(head.data);
    if (length == 0) {
        return sl_refuse_unknown("unknown version of the .npy format", 0);
    }
    if (length > SL_NPZ_HEAD_BYTES) {
        return sl_refuse_unknown("its header has more than 4096 bytes", 0);
    }
    if (length > head.size) {
        return sl_refuse("its header is too long", 0);
    }
    const sl_refusal refusal = sl_npy_parse(npy, (sl_bytes){head.data, (size_t)length});
    if (refusal.text != NULL) {
        return refusal;
    }
    if (npy->dims > SLUICE_TENSOR_DIMS_MAX) {
        return sl_refuse_unknown("more than 8 dimensions", 0);
    }
    if (member->bytes < npy->data || member->bytes - npy->data != npy->bytes) {
        return sl_refuse("its size does not match its header", 0);
    }
    if (member->method == SL_ZIP_DEFLATED &&
        member->bytes / SL_INFLATE_RATIO_MAX > member->packed) {
        return sl_refuse("its size is impossible: deflate cannot produce that much from its bytes",
                         0);
    }
    return sl_accept();
}

/* ---- fields ---- */

void sl_npz_field(sl_field *field, const sl_npy *npy, bool of_rows)
{
    const uint32_t left_out = of_rows ? 1 : 0;
    *field = (sl_field){.type = SLUICE_FIELD_TENSOR,
                        .dtype = npy->dtype,
                        .dims = npy->dims - left_out,
                        .compression = SLUICE_COMPRESSION_NEVER};
    memcpy(field->shape, npy->shape + left_out, field->dims * sizeof(field->shape[0]));
    if (field->dims > 0) {
        return;
    }
    const bool is_float = sl_dtype_is_float(npy->dtype);
    field->type = is_float ? SLUICE_FIELD_FLOAT : SLUICE_FIELD_INT;
    field->dtype = is_float ? SLUICE_F64 : SLUICE_I64;
}

sl_refusal sl_npz_number(sluice_dtype dtype, const uint8_t *bytes, sl_value *value)
{
    const size_t size = sl_dtype_bytes(dtype);
    const bool is_signed = sl_dtype_is_signed(dtype);
    value->present = true;
    if (sl_dtype_is_float(dtype)) {
        value->number = sl_stored_float(bytes, size);
        return sl_accept();
    }
    value->integer = sl_stored_integer(bytes, size, is_signed);
    if (dtype == SLUICE_BOOL && value->integer > 1) {
        return sl_refuse("a bool is neither 0 nor 1", 0);
    }
    return is_signed || value->integer >= 0 ? sl_accept()
                                            : sl_refuse_unknown("a number is above 2^63 - 1", 0);
}

/* ---- places ---- */

bool sl_npz_place_of(sl_npz_place *place, const sl_zip_member *member, const sl_npy *npy)
{
    const uint64_t head = member->data + npy->data - member->header;
    *place = (sl_npz_place){.data = member->data + npy->data};
    if (member->method != SL_ZIP_STORED || npy->dims == 0 || npy->bytes == 0 ||
        npy->bytes > SL_RECORD_BYTES_MAX || head > SL_RECORD_BYTES_MAX) {
        return false;
    }
    place->bytes = (uint32_t)npy->bytes;
    place->head_bytes = (uint32_t)head;
    for (uint32_t i = 0; i < npy->dims; i++) {
        place->shape[i] = (uint32_t)npy->shape[i]; /* none is 0, so all are below 2^31 */
    }
    return true;
}

sl_refusal sl_npz_check_head(const sl_npz_fields *fields, uint32_t number,
                             const sl_npz_place *place, sl_bytes head)
{
    static const char changed[] = "the array changed since the file was opened";
    const char *wanted = fields->names[number];
    sl_zip_member member;
    sl_npy npy;
    sl_bytes name;
    if (!sl_zip_local(&member, head) || member.method != SL_ZIP_STORED ||
        !sl_npz_name(&member, &name) || name.size != strlen(wanted) ||
        memcmp(name.data, wanted, name.size) != 0) {
        return sl_refuse(changed, 0);
    }
    const size_t at = (size_t)member.data;
    const sl_bytes header = {head.data + at, head.size - at};
    if (header.size < SL_NPY_PREFIX_BYTES || sl_npy_length(header.data) != header.size ||
        sl_npy_parse(&npy, header).text != NULL || npy.dtype != fields->dtypes[number] ||
        npy.dims != fields->fields[number].dims) {
        return sl_refuse(changed, at);
    }
    for (uint32_t i = 0; i < npy.dims; i++) {
        if (npy.shape[i] != place->shape[i]) {
            return sl_refuse(changed, at);
        }
    }
    return sl_accept();
}

/* ---- values ---- */

/* State of unpacking an archive. */
typedef struct archive {
    const sl_npz_fields *fields;
    sl_bytes bytes;
    sl_values *values;
    uint64_t limit; /* offset of the directory */
    sl_zip_member taken[SL_FIELDS_MAX];
    uint32_t count;
} archive;

static sl_refusal check_array(const archive *a, uint32_t number, const sl_npy *npy)
{
    sl_field own;
    const sl_field *field = &a->fields->fields[number];
    sl_npz_field(&own, npy, false);
    if (npy->dtype != a->fields->dtypes[number] || own.dims != field->dims) {
        return sl_refuse(
            "its dtype or number of dimensions differs from that in the files sampled at opening",
            0);
    }
    for (uint32_t i = 0; i < field->dims; i++) {
        if (field->shape[i] != 0 && field->shape[i] != own.shape[i]) {
            return sl_refuse("its shape differs from that in all files sampled at opening", 0);
        }
    }
    return sl_accept();
}

/* Takes a stored array, or a number that is entirely in `head`. */
static sl_refusal take_plain(const sl_field *field, const sl_zip_member *member, const sl_npy *npy,
                             sl_bytes head, sl_value *value)
{
    if (head.size != member->bytes || sl_crc32(0, head.data, head.size) != member->crc) {
        return sl_refuse("its checksum (CRC-32) is wrong", 0);
    }
    if (field->type != SLUICE_FIELD_TENSOR) {
        return sl_npz_number(npy->dtype, head.data + npy->data, value);
    }
    value->offset = (uint32_t)(member->data + npy->data);
    value->bytes = (sl_bytes){head.data + npy->data, (size_t)npy->bytes};
    return sl_accept();
}

static sl_refusal npz_array_take_array(const archive *a, uint32_t number,
                                       const sl_zip_member *member)
{
    uint8_t capacity[SL_NPZ_HEAD_BYTES];
    sl_npy npy;
    const sl_field *field = &a->fields->fields[number];
    sl_value *value = &a->values->of[number];
    const sl_bytes packed = {a->bytes.data + member->data, (size_t)member->packed};
    if (member->refused != NULL) {
        return sl_refuse_unknown(member->refused, 0);
    }
    const sl_bytes head = sl_npz_head(member, packed, capacity);
    sl_refusal refusal = sl_npz_parse(&npy, member, head);
    if (refusal.text == NULL) {
        refusal = check_array(a, number, &npy);
    }
    if (refusal.text != NULL) {
        return refusal;
    }
    *value = (sl_value){.present = true};
    memcpy(value->shape, npy.shape, sizeof(value->shape));
    if (member->method == SL_ZIP_STORED) {
        return take_plain(field, member, &npy, packed, value);
    }
    if (field->type != SLUICE_FIELD_TENSOR) {
        return take_plain(field, member, &npy, head, value);
    }
    const sl_deflated stream = {.packed = packed,
                                .bytes = member->bytes,
                                .head_bytes = (uint32_t)npy.data,
                                .crc = member->crc};
    sl_inflate_later(&stream, value);
    value->offset = (uint32_t)member->data;
    return sl_accept();
}

/*
 * Enters each member, whether it is a field or not: damage to a name in the directory can make it
 * look like another one.
 */
static sl_refusal npz_array_enter(const archive *a, sl_zip_member *member)
{
    const size_t left = a->bytes.size - (size_t)member->header;
    sl_refusal refusal =
        sl_zip_enter(member, (sl_bytes){a->bytes.data + member->header, left}, a->limit);
    refusal.offset += refusal.text != NULL ? (uint32_t)member->header : 0;
    return refusal;
}

/* Adds a member that is one or more fields. */
static sl_refusal add_taken(archive *a, const sl_zip_member *member)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (sl_zip_overlap(&a->taken[i], member)) {
            return sl_refuse("two members of the zip archive overlap", (size_t)member->header);
        }
    }
    a->taken[a->count++] = *member;
    return sl_accept();
}

static sl_refusal npz_array_take_member(archive *a, sl_zip_member *member)
{
    sl_bytes name;
    bool taken = false;
    for (uint32_t i = 0; sl_npz_name(member, &name) && i < a->fields->count; i++) {
        if (!sl_values_want(a->values, i) || strlen(a->fields->names[i]) != name.size ||
            memcmp(a->fields->names[i], name.data, name.size) != 0) {
            continue;
        }
        sl_refusal refusal = taken ? sl_accept()
                             : a->values->of[i].present
                                 ? sl_refuse("duplicate array", (size_t)member->header)
                                 : add_taken(a, member);
        if (refusal.text == NULL) {
            taken = true;
            refusal = npz_array_take_array(a, i, member);
            refusal.offset += (uint32_t)member->data;
        }
        if (refusal.text != NULL) {
            refusal.field = a->fields->fields[i].name;
            return refusal;
        }
    }
    return sl_accept();
}

sl_refusal sl_npz_unpack(const sl_npz_fields *fields, sl_bytes bytes, sl_values *values)
{
    sl_zip_end end;
    sl_zip_walk walk;
    sl_zip_member member;
    bool found = true;
    archive a = {.fields = fields, .bytes = bytes, .values = values};
    for (uint32_t i = 0; i < fields->count; i++) {
        values->of[i] = (sl_value){.present = false};
    }
    sl_refusal refusal = sl_zip_find_end(&end, bytes, bytes.size);
    if (refusal.text != NULL) {
        return refusal;
    }
    a.limit = end.offset;
    sl_zip_begin(&walk, &end, (sl_bytes){bytes.data + end.offset, (size_t)end.bytes});
    while (found) {
        refusal = sl_zip_next(&walk, &member, &found);
        if (refusal.text != NULL) {
            refusal.offset += (uint32_t)end.offset;
        } else if (found) {
            refusal = npz_array_enter(&a, &member);
            refusal = refusal.text == NULL ? npz_array_take_member(&a, &member) : refusal;
        }
        if (refusal.text != NULL) {
            return refusal;
        }
    }
    return sl_accept();
}
