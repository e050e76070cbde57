/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: what the public entry points share: callers' structs of other sizes, and error hand-over.
 *
 * Structs that callers give (options) may be smaller (an older header: the rest is 0, which means
 * the default) or larger (a newer header: refused when anything in the tail is not 0).
 * Threads: pure.
 */
#ifndef SL_API_H
#define SL_API_H

#include <sluice/sluice.h>

#include "dataset.h"
#include "label_file.h"

#include <stdbool.h>

/* What of a dataset that is read from front to back is refused. */
#define SL_API_ONE_BY_ONE "its samples cannot be read one by one: load them in order"

/* Whether a struct that a call is to fill says its size; and the same of `error`, which may be
 * NULL. */
bool sl_api_is_tagged(const void *result);
bool sl_api_can_tell(const sluice_error *error);
void sl_api_say_missing(sluice_error *error, const char *name);

/*
 * What calls begin with, before anything is done: INVALID is what they return when one of these is
 * true. Each says why in `error`, which may be NULL.
 *
 * lacks: `argument` is NULL, or else `error` itself does not say its size (nothing is said then).
 * is_untagged: `result`, a struct `name` that is to be filled, is not NULL and does not say its
 * size.
 */
static inline bool sl_api_lacks(sluice_error *error, const void *argument, const char *name)
{
    if (argument == NULL) { /* inline for analysers, which see that it is not, then */
        sl_api_say_missing(error, name);
    }
    return argument == NULL || !sl_api_can_tell(error);
}

bool sl_api_is_untagged(sluice_error *error, const void *result, const char *name);

/* Refuses a path for output that is an address: stores are only read. */
sluice_status sl_api_check_output(const char *path, sluice_error *error);

/*
 * Copies a caller's size-tagged struct to `to` (`size` bytes, struct_size set to that). `from`
 * NULL: all zero. INVALID: struct_size smaller than its own field; UNSUPPORTED: a tail that is not
 * zero. `name` is for the message.
 */
sluice_status sl_api_read_struct(void *to, size_t size, const void *from, const char *name,
                                 sluice_error *error);
/* Copies a full struct out to the caller's, at most its struct_size. INVALID when that is 0. */
sluice_status sl_api_write_struct(void *to, const void *from, size_t size);
/* The same, to one that a caller may leave out (NULL). */
sluice_status sl_api_write_optional(void *result, const void *from, size_t size);
/* Takes over a caller's field, checked as far as its struct goes. Errors: INVALID, UNSUPPORTED. */
sluice_status sl_api_read_field(sl_field *field, const sluice_field *given, sluice_error *error);
/* Takes over how samples are scanned; `given` may be NULL. Errors: INVALID, UNSUPPORTED. */
sluice_status sl_api_read_scan(sluice_scan_options *own, const sluice_scan_options *given,
                               sluice_error *error);
/* Hands `reason` out through `error` (may be NULL) and returns its status. */
sluice_status sl_api_fail(sluice_error *error, const sluice_error *reason);

/* How classes are to be joined; what is borrowed is the caller's. */
typedef struct sl_api_labels {
    const sl_class_request *labels; /* of below; NULL: nothing was said */
    sl_class_request own;
    sl_label_file file;
} sl_api_labels;

/* Errors: INVALID, UNSUPPORTED (a newer struct), and those of the file. To be closed in any case.
 */
sluice_status sl_api_read_labels(sl_api_labels *to, const sluice_label_options *given,
                                 sluice_error *error);
void sl_api_close_labels(sl_api_labels *labels);

/* The public handle is the internal object. */
static inline sl_dataset *sl_api_dataset(sluice_dataset *dataset)
{
    return (sl_dataset *)(void *)dataset;
}

static inline const sl_dataset *sl_api_const_dataset(const sluice_dataset *dataset)
{
    return (const sl_dataset *)(const void *)dataset;
}

#endif
