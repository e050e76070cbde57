/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_file: JSON that other tools wrote, by jansson.
 *
 * Purpose: a file or a text as a tree, with a limit of size before it is read, and errors that name
 * file, line and reason; and what a tree holds, where it may hold anything. jansson takes its
 * memory of the C library: its hooks are the whole process's, and so not ours to set. What a tree
 * will take is computed from its text before it is made, and claimed of the limit that the thread
 * works under (memory.h). Threads: pure. Ownership: json_decref by the caller.
 */
#ifndef SL_JSON_FILE_H
#define SL_JSON_FILE_H

#include "view.h"

#include <sluice/common.h>

#include <jansson.h>
#include <stdbool.h>

/* Of a text that becomes a tree, which takes up to 75 times as much: the index of 100,000 shards of
 * MDS has 60 MB. */
#define SL_JSON_TREE_BYTES_MAX ((uint64_t)128 << 20)

/* What the tree of a text takes at most, and making it. */
uint64_t sl_json_tree_bytes(sl_bytes text);

/* A file, an object or an array, as a tree; zeros: none. */
typedef struct sl_json_tree {
    json_t *root;
    uint64_t claimed; /* of the limit of memory that the thread works under */
} sl_json_tree;

/* Errors: IO, CORRUPT (no JSON), UNSUPPORTED (more than SL_JSON_TREE_BYTES_MAX), NOMEM. */
sluice_status sl_json_load(sl_json_tree *tree, const char *path, sluice_error *error);
/* Under the same limit. */
void sl_json_drop(sl_json_tree *tree);
/* NULL: not valid JSON. */
json_t *sl_json_parse(sl_bytes text);
/* The same, and why: json_error_out_of_memory where it would take too much. */
json_t *sl_json_parse_why(sl_bytes text, json_error_t *why);
/* The same, of what may be no object or array. */
json_t *sl_json_parse_any(sl_bytes text, json_error_t *why);

/* Member `key` of what may be no object; NULL: none, or null. */
const json_t *sl_json_member(const json_t *object, const char *key);
/* A text that is a member; NULL: it is none. */
const char *sl_json_text(const json_t *object, const char *key);
/* A number of 0 to INT64_MAX that is a member; false: it is none. */
bool sl_json_count(const json_t *object, const char *key, uint64_t *count);

#endif
