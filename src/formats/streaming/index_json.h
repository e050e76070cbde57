/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_json: the index.json of a folder of shards.
 *
 * Purpose: MDS and LitData both use this file name and differ in its list. Determines the format,
 * the file's location, and the files that it names, which must be below its folder unless they may
 * be anywhere. Threads: one owner. Ownership: sl_index_json_close.
 */
#ifndef SL_INDEX_JSON_H
#define SL_INDEX_JSON_H

#include "json_file.h"
#include "look.h"
#include "objects.h"

typedef struct sl_index_json {
    char path[SL_PATH_BYTES]; /* path of the file */
    sl_json_tree tree;
    sl_boundary *boundary; /* its folder; NULL: the files may be anywhere */
} sl_index_json;

/*
 * Returns whether `path` is such a file, a folder with one, or a folder whose sub-folders have one
 * (which sl_index_json_load rejects), and its first list is named `list`: "shards" or "chunks".
 */
bool sl_index_json_probe(sl_look *look, const char *list);

/* A path to open, and the name of the expected list. */
typedef struct sl_index_json_wanted {
    const char *path, *list;
    bool anywhere; /* true if the named files may be anywhere */
} sl_index_json_wanted;

/*
 * `index` is zeroed. Errors: INVALID (no index; another list; several folders), those of
 * sl_json_load.
 */
sluice_status sl_index_json_load(sl_index_json *index, const sl_index_json_wanted *wanted,
                                 sluice_error *error);
/* Moves an index; `from` is closed afterwards. */
void sl_index_json_move(sl_index_json *to, sl_index_json *from);
/* Releases `index`, which may be zero-initialised. */
void sl_index_json_close(sl_index_json *index);

/*
 * Writes the path of a file that the index names. Errors: CORRUPT (no name), INVALID (it leads out
 * of the folder; its path is too long).
 */
sluice_status sl_index_json_file(const sl_index_json *index, const char *name,
                                 char path[SL_PATH_BYTES], sluice_error *error);
/*
 * Translates the `compression` of an index, which applies to whole files: "zstd", "gz", "br",
 * "snappy", also with a level after a colon. NONE: NULL, or unknown.
 */
sl_packing sl_index_json_packing(const char *compression);
/*
 * Reports an error in the index and returns its status. `number`: an entry of the list; -1: none.
 */
sluice_status sl_index_json_refuse(const sl_index_json *index, sluice_status status, int64_t number,
                                   const char *why, sluice_error *error);

#endif
