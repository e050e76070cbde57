/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: common code of the public entry points: callers' structs of other sizes, and returning
 * errors.
 *
 * Structs from callers (options) may be smaller (an older header: the rest is 0, which means the
 * default) or larger (a newer header: an error if anything in the tail is not 0). Threads: pure.
 */
#ifndef SL_API_H
#define SL_API_H

#include <sluice/sluice.h>

#include "dataset.h"
#include "label_file.h"

#include <stdbool.h>

/* Reason why a dataset that is read front to back rejects an operation. */
#define SL_API_ONE_BY_ONE "its samples cannot be read one by one: load them in order"

/*
 * Returns whether a struct that a call fills has its size set; the same for `error`, which may be
 * NULL.
 */
bool sl_api_is_tagged(const void *result);
bool sl_api_can_tell(const sluice_error *error);
void sl_api_say_missing(sluice_error *error, const char *name);

/*
 * Checks at the beginning of a call, before anything is done: if one returns true, the call returns
 * INVALID. Each writes the reason to `error`, which may be NULL.
 *
 * lacks: `argument` is NULL, or `error` itself does not have its size set (which cannot be
 * reported). is_untagged: `result`, a struct `name` to be filled, is not NULL and does not have its
 * size set.
 */
static inline bool sl_api_lacks(sluice_error *error, const void *argument, const char *name)
{
    if (argument == NULL) { /* inline, so that analysers see that it is not NULL afterwards */
        sl_api_say_missing(error, name);
    }
    return argument == NULL || !sl_api_can_tell(error);
}

bool sl_api_is_untagged(sluice_error *error, const void *result, const char *name);

/* Rejects an address as an output path: stores are only read. */
sluice_status sl_api_check_output(const char *path, sluice_error *error);

/*
 * Copies a caller's size-tagged struct to `to` (`size` bytes, struct_size set to that). `from`
 * NULL: all zero. INVALID: struct_size is smaller than its own field; UNSUPPORTED: the tail is not
 * zero. `name`: for the message.
 */
sluice_status sl_api_read_struct(void *to, size_t size, const void *from, const char *name,
                                 sluice_error *error);
/* Copies a full struct to the caller's, at most its struct_size. INVALID if that is 0. */
sluice_status sl_api_write_struct(void *to, const void *from, size_t size);
/* Does the same for a struct that a caller may omit (NULL). */
sluice_status sl_api_write_optional(void *result, const void *from, size_t size);
/* Converts a caller's field, checked as far as its struct extends. Errors: INVALID, UNSUPPORTED. */
sluice_status sl_api_read_field(sl_field *field, const sluice_field *given, sluice_error *error);
/* Reads a caller's scan options; `given` may be NULL. Errors: INVALID, UNSUPPORTED. */
sluice_status sl_api_read_scan(sluice_scan_options *own, const sluice_scan_options *given,
                               sluice_error *error);
/* Returns the status of `reason`, and copies it to `error` (may be NULL). */
sluice_status sl_api_fail(sluice_error *error, const sluice_error *reason);

/* How classes are joined; borrows the caller's data. */
typedef struct sl_api_labels {
    const sl_class_request *labels; /* points to the members below; NULL: not given */
    sl_class_request own;
    sl_label_file file;
} sl_api_labels;

/* Errors: INVALID, UNSUPPORTED (a newer struct), and those of the file. Close `to` in any case. */
sluice_status sl_api_read_labels(sl_api_labels *to, const sluice_label_options *given,
                                 sluice_error *error);
void sl_api_close_labels(sl_api_labels *labels);

/* the public handle is the internal object */
static inline sl_dataset *sl_api_dataset(sluice_dataset *dataset)
{
    return (sl_dataset *)(void *)dataset;
}

static inline const sl_dataset *sl_api_const_dataset(const sluice_dataset *dataset)
{
    return (const sl_dataset *)(const void *)dataset;
}

#endif
