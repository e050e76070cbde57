/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include "error.h"
#include "minmax.h"
#include "store.h"

#include <string.h>

static const char untagged[] =
    "struct_size of %s is not set: initialise it with its _INIT macro or _init function";

sluice_status sl_api_check_output(const char *path, sluice_error *error)
{
    return sl_store_of(path)->remote
               ? sl_error_file(error, SLUICE_INVALID, "api", 0, path, -1,
                               "object stores are read-only: write to a local folder, and upload "
                               "it with a tool of the store")
               : SLUICE_OK;
}

bool sl_api_is_tagged(const void *result)
{
    uint32_t capacity;
    memcpy(&capacity, result, sizeof(capacity));
    return capacity >= sizeof(capacity);
}

bool sl_api_can_tell(const sluice_error *error)
{
    return error == NULL || sl_api_is_tagged(error);
}

void sl_api_say_missing(sluice_error *error, const char *name)
{
    sluice_error reason;
    sl_error_set(&reason, SLUICE_INVALID, "api", "%s is missing", name);
    sl_error_copy_out(error, &reason);
}

bool sl_api_is_untagged(sluice_error *error, const void *result, const char *name)
{
    sluice_error reason;
    if (result == NULL || sl_api_is_tagged(result)) {
        return false;
    }
    sl_error_set(&reason, SLUICE_INVALID, "api", untagged, name);
    sl_error_copy_out(error, &reason);
    return true;
}

sluice_status sl_api_read_struct(void *to, size_t size, const void *from, const char *name,
                                 sluice_error *error)
{
    memset(to, 0, size);
    const uint32_t own_size = (uint32_t)size;
    uint32_t given = own_size;
    if (from != NULL) {
        if (!sl_api_is_tagged(from)) {
            return sl_error_set(error, SLUICE_INVALID, "api", untagged, name);
        }
        memcpy(&given, from, sizeof(given));
        for (size_t i = size; i < given; i++) {
            if (((const uint8_t *)from)[i] != 0) {
                return sl_error_set(
                    error, SLUICE_UNSUPPORTED, "api",
                    "%s has an option that this version of the library does not support", name);
            }
        }
        memcpy(to, from, sl_min_u64(given, size));
    }
    memcpy(to, &own_size, sizeof(own_size));
    return SLUICE_OK;
}

sluice_status sl_api_write_struct(void *to, const void *from, size_t size)
{
    uint32_t capacity;
    memcpy(&capacity, to, sizeof(capacity));
    if (capacity < sizeof(capacity)) {
        return SLUICE_INVALID;
    }
    memcpy((uint8_t *)to + sizeof(capacity), (const uint8_t *)from + sizeof(capacity),
           sl_min_u64(capacity, size) - sizeof(capacity));
    return SLUICE_OK;
}

sluice_status sl_api_write_optional(void *result, const void *from, size_t size)
{
    return result != NULL ? sl_api_write_struct(result, from, size) : SLUICE_OK;
}

sluice_status sl_api_fail(sluice_error *error, const sluice_error *reason)
{
    sl_error_copy_out(error, reason);
    return (sluice_status)reason->status;
}

static bool is_word(int32_t number, int32_t last)
{
    return number >= 0 && number <= last;
}

static sluice_status read_meaning(sl_meaning *meaning, const sluice_field *given,
                                  sluice_error *error)
{
    if (!is_word(given->role, SLUICE_ROLE_HEIGHT) ||
        !is_word(given->box_format, SLUICE_BOX_CXCYWH) ||
        !is_word(given->coordinates, SLUICE_COORDINATES_INDICES) ||
        !is_word(given->orientation, SLUICE_ORIENTATION_BY_SIZE) || given->per_box > 1) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "field \"%.31s\": its role, box_format, coordinates, orientation or "
                            "per_box is not one of the header's values",
                            given->name);
    }
    *meaning = (sl_meaning){.role = (sluice_role)given->role,
                            .box_format = (sluice_box_format)given->box_format,
                            .coordinates = (sluice_coordinates)given->coordinates,
                            .orientation = (sluice_orientation)given->orientation,
                            .per_box = given->per_box != 0};
    memcpy(meaning->of, given->of, sizeof(meaning->of));
    meaning->of[sizeof(meaning->of) - 1] = '\0';
    return SLUICE_OK;
}

sluice_status sl_api_read_field(sl_field *field, const sluice_field *given, sluice_error *error)
{
    sluice_field own;
    sluice_status status = sl_api_read_struct(&own, sizeof(own), given, "sluice_field", error);
    if (status < 0) {
        return status;
    }
    if (own.reserved != 0 || own.reserved_32 != 0 || own.reserved_end != 0 ||
        own.dims > SLUICE_TENSOR_DIMS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "a field must have at most %d dims, and reserved must be 0",
                            SLUICE_TENSOR_DIMS_MAX);
    }
    *field = (sl_field){.type = (sluice_field_type)own.type,
                        .dtype = (sluice_dtype)own.dtype,
                        .dims = own.dims,
                        .compression = (sluice_compression)own.compression};
    memcpy(field->name, own.name, sizeof(field->name));
    status = read_meaning(&field->meaning, &own, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < own.dims; i++) {
        field->shape[i] = (uint64_t)own.shape[i]; /* a negative one is too large */
    }
    return SLUICE_OK;
}

/* ---- labels ---- */

static bool are_there(const char *const *names, uint32_t count)
{
    bool fine = (names != NULL) == (count > 0) && count <= SL_UNION_CLASSES_MAX;
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = names[i] != NULL;
    }
    return fine;
}

static sluice_status label_options_check(const sluice_label_options *own, sluice_error *error)
{
    const bool says_more = own->class_count > 0 || own->rename_count > 0;
    if (!are_there(own->classes, own->class_count) ||
        !are_there(own->rename_from, own->rename_count) ||
        (own->rename_to != NULL) != (own->rename_count > 0)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "labels: classes must have class_count names, rename_from "
                            "rename_count, and rename_to as many or NULL for some; at most 2^24");
    }
    if (own->allow_case_duplicates > 1 || (own->file != NULL && says_more)) {
        return sl_error_set(
            error, SLUICE_INVALID, "api",
            "labels: allow_case_duplicates must be 0 or 1, and a file excludes other names");
    }
    return SLUICE_OK;
}

sluice_status sl_api_read_labels(sl_api_labels *to, const sluice_label_options *given,
                                 sluice_error *error)
{
    *to = (sl_api_labels){.labels = NULL};
    if (given == NULL) {
        return SLUICE_OK;
    }
    sluice_label_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), given, "sluice_label_options", error);
    if (status == SLUICE_OK) {
        status = label_options_check(&own, error);
    }
    if (status == SLUICE_OK && own.file != NULL) {
        status = sl_label_file_read(&to->file, own.file, error);
    }
    if (status < 0) {
        return status;
    }
    to->own = own.file != NULL ? to->file.labels
                               : (sl_class_request){.classes = own.classes,
                                                    .from = own.rename_from,
                                                    .to = own.rename_to,
                                                    .class_count = own.class_count,
                                                    .rename_count = own.rename_count};
    to->own.allow_case_duplicates = own.allow_case_duplicates != 0;
    to->labels = &to->own;
    return SLUICE_OK;
}

void sl_api_close_labels(sl_api_labels *labels)
{
    sl_label_file_close(&labels->file);
    labels->labels = NULL;
}
