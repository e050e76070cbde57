/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_file: reads JSON that other tools wrote, with jansson.
 *
 * Purpose: makes a tree of a file or text, with a size limit that is checked before reading, and
 * errors with file, line and reason; and reads members of untrusted trees. jansson allocates from
 * the C library: its hooks are global to the process, so the library must not set them. The memory
 * of a tree is computed from its text beforehand, and claimed from the thread's limit (memory.h).
 * Threads: pure. Ownership: json_decref by the caller.
 */
#ifndef SL_JSON_FILE_H
#define SL_JSON_FILE_H

#include "view.h"

#include <sluice/common.h>

#include <jansson.h>
#include <stdbool.h>

/*
 * Limit on a text that becomes a tree, which takes up to 75 times as much memory: the index of
 * 100,000 MDS shards has 60 MB.
 */
#define SL_JSON_TREE_BYTES_MAX ((uint64_t)128 << 20)

/* Returns the maximum memory of a text's tree, including building it. */
uint64_t sl_json_tree_bytes(sl_bytes text);

/* The tree of a file, an object or an array; zeroed: none. */
typedef struct sl_json_tree {
    json_t *root;
    uint64_t claimed; /* memory claimed from the thread's limit */
} sl_json_tree;

/*
 * Loads a file. Errors: IO, CORRUPT (invalid JSON), UNSUPPORTED (more than SL_JSON_TREE_BYTES_MAX),
 * NOMEM.
 */
sluice_status sl_json_load(sl_json_tree *tree, const char *path, sluice_error *error);
/* Releases a tree; call it under the same limit. */
void sl_json_drop(sl_json_tree *tree);
/* Parses a text. NULL: not valid JSON. */
json_t *sl_json_parse(sl_bytes text);
/*
 * Does the same and returns the reason: json_error_out_of_memory if it would take too much memory.
 */
json_t *sl_json_parse_why(sl_bytes text, json_error_t *why);
/* Does the same for any JSON value, not only objects and arrays. */
json_t *sl_json_parse_any(sl_bytes text, json_error_t *why);

/* Returns member `key` of a value that may be no object; NULL: missing, or null. */
const json_t *sl_json_member(const json_t *object, const char *key);
/* Returns a text member; NULL: not a text. */
const char *sl_json_text(const json_t *object, const char *key);
/* Returns a number member from 0 to INT64_MAX; false: not such a number. */
bool sl_json_count(const json_t *object, const char *key, uint64_t *count);

#endif
