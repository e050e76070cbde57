/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_walk: an object in a file, the lists in it element by element.
 *
 * Purpose: annotations of a whole dataset are one JSON file of some 100 MB, most of which nobody
 * asks for. What is wanted of an element becomes a tree (json_flat.h); the rest is passed over, by
 * its quotes and brackets only, at a byte in a nanosecond: of that, what is no JSON may go
 * unnoticed. One member can be had as it is written, by who reads it better than as a tree. Memory:
 * a window of 1 MiB, and what is wanted of one element, SL_JSON_ELEMENT_MAX at most, with its tree;
 * the file may be of any size. Threads: pure.
 */
#ifndef SL_JSON_WALK_H
#define SL_JSON_WALK_H

#include "json_file.h"
#include "look.h"

#define SL_JSON_ELEMENT_MAX ((size_t)16 << 20)
/* Of values in each other. */
#define SL_JSON_DEPTH_MAX 2048U

/* An element, valid during the call. */
typedef struct sl_json_element {
    const char *path;
    const char *list; /* its name */
    uint64_t number;  /* in it */
    int64_t offset;   /* in the file */
    json_t *value;    /* an object, of the wanted members */
    sl_bytes written; /* the member that is wanted as it is; none: it is not there */
} sl_json_element;

/* A member that is a list of objects. */
typedef struct sl_json_list {
    const char *name;
    const char *const *wanted; /* members of its objects; NULL behind the last one */
    /* A member that is not parsed, only passed over, and wanted as it is written; NULL: none. */
    const char *written;
} sl_json_list;

typedef struct sl_json_visitor {
    void *ctx;
    const sl_json_list *lists; /* 32 at most */
    uint32_t count;
    sluice_status (*visit)(void *ctx, uint32_t list, const sl_json_element *element,
                           sluice_error *error);
} sl_json_visitor;

/* Visits all elements of those lists, in the order of the file; other members are passed over.
 * Errors: IO, CORRUPT (no JSON, a list twice), UNSUPPORTED (too deep, too large), NOMEM, and of
 * `visit`. */
sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error);
/* Whether the file begins as an object that has one of those lists. It is read until one is found,
 * and opened only if its first bytes (look.h) do not tell. */
bool sl_json_lists(sl_look *look, const sl_json_list *lists, uint32_t count);
/* Whether it is an object to its end, without that list; what cannot be read may have it. */
bool sl_json_lacks(sl_look *look, const sl_json_list *list);
/* " (id 7)" of an element that has an id, else "". */
void sl_json_name_id(const sl_json_element *element, char *text, size_t bytes);
/* An error about an element: CORRUPT. */
sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error);

#endif
