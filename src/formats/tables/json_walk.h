/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_walk: an object in a file, the lists in it element by element.
 *
 * Purpose: annotations of a whole dataset are one JSON file of some 100 MB, whose tree would take
 * ten times that. Memory: the file's bytes, SL_JSON_BYTES_MAX at most, and the tree of one element.
 * Threads: pure.
 */
#ifndef SL_JSON_WALK_H
#define SL_JSON_WALK_H

#include "json_file.h"

/* An element, valid during the call. */
typedef struct sl_json_element {
    const char *path;
    const char *list; /* its name */
    uint64_t number;  /* in it */
    int64_t offset;   /* in the file */
    json_t *value;
} sl_json_element;

typedef struct sl_json_visitor {
    void *ctx;
    const char *const *lists; /* names of members that are lists, NULL behind the last one */
    sluice_status (*visit)(void *ctx, uint32_t list, const sl_json_element *element,
                           sluice_error *error);
} sl_json_visitor;

/* Visits all elements of those lists, in the order of the file; other members are passed over.
 * Errors: as of sl_json_load, and of `visit`. */
sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error);
/* An error about an element: CORRUPT. */
sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error);

#endif
