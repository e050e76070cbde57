/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_walk: reads an object in a file, and the lists in it element by element.
 *
 * Purpose: annotations of a whole dataset are one JSON file of about 100 MB, but few of its members
 * are needed. The wanted members of an element become a tree (json_flat.h). The rest is skipped by
 * its quotes and brackets only, at one byte per nanosecond, so invalid JSON in it may go unnoticed.
 * One member can be requested unparsed, for callers with a faster parser. Memory: a window of 1
 * MiB, and the wanted part of one element (at most SL_JSON_ELEMENT_MAX) with its tree; the file may
 * have any size. Threads: pure.
 */
#ifndef SL_JSON_WALK_H
#define SL_JSON_WALK_H

#include "json_file.h"
#include "look.h"

#define SL_JSON_ELEMENT_MAX ((size_t)16 << 20)
/* Limit on the nesting of values. */
#define SL_JSON_DEPTH_MAX 2048U

/* An element, valid during the call. */
typedef struct sl_json_element {
    const char *path;
    const char *list; /* name of its list */
    uint64_t number;  /* position in the list */
    int64_t offset;   /* file offset */
    json_t *value;    /* an object of the wanted members */
    sl_bytes written; /* the unparsed member; empty: missing */
} sl_json_element;

/* A member that is a list of objects. */
typedef struct sl_json_list {
    const char *name;
    const char *const *wanted; /* wanted members of its objects; NULL-terminated */
    /* A member to be returned unparsed; NULL: none. */
    const char *written;
} sl_json_list;

typedef struct sl_json_visitor {
    void *ctx;
    const sl_json_list *lists; /* at most 32 */
    uint32_t count;
    sluice_status (*visit)(void *ctx, uint32_t list, const sl_json_element *element,
                           sluice_error *error);
} sl_json_visitor;

/*
 * Visits all elements of the lists in file order; skips other members. Errors: IO, CORRUPT (invalid
 * JSON, a list twice), UNSUPPORTED (too deep, too large), NOMEM, and those of `visit`.
 */
sluice_status sl_json_walk(const char *path, const sl_json_visitor *visitor, sluice_error *error);
/*
 * Returns whether the file begins like an object with one of the lists. Reads until it finds one;
 * opens the file only if its first bytes (look.h) do not decide.
 */
bool sl_json_lists(sl_look *look, const sl_json_list *lists, uint32_t count);
/*
 * Returns whether the whole file is an object without the list. False if it cannot be read: it may
 * have the list.
 */
bool sl_json_lacks(sl_look *look, const sl_json_list *list);
/* Writes " (id 7)" for an element with an id, else "". */
void sl_json_name_id(const sl_json_element *element, char *text, size_t bytes);
/* Fails with CORRUPT for an element. */
sluice_status sl_json_refuse(const sl_json_element *element, const char *why, sluice_error *error);

#endif
