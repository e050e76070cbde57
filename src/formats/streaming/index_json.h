/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_json: the index.json of a folder of shards.
 *
 * Purpose: MDS and LitData both have a file of that name, and are told apart by what it lists;
 * which it is, where it is, and the files that it names, which are below its folder, unless they
 * may be anywhere. Threads: one owner. Ownership: sl_index_json_close.
 */
#ifndef SL_INDEX_JSON_H
#define SL_INDEX_JSON_H

#include "json_file.h"
#include "look.h"
#include "objects.h"

typedef struct sl_index_json {
    char path[SL_PATH_BYTES]; /* of the file */
    sl_json_tree tree;
    sl_boundary *boundary; /* its folder; NULL: the files may be anywhere */
} sl_index_json;

/*
 * Whether `path` is such a file, a folder with one, or a folder without one whose folders have it
 * (which sl_index_json_load refuses), and the first list in it is called `list`: "shards" or
 * "chunks".
 */
bool sl_index_json_probe(sl_look *look, const char *list);

/* What is to be opened: a path, for its list of that name. */
typedef struct sl_index_json_wanted {
    const char *path, *list;
    bool anywhere; /* where the files are that it names */
} sl_index_json_wanted;

/* `index` is all zero. Errors: INVALID (none; a list of another name; folders that have to be
 * named), those of sl_json_load. */
sluice_status sl_index_json_load(sl_index_json *index, const sl_index_json_wanted *wanted,
                                 sluice_error *error);
/* Leaves `from` closed. */
void sl_index_json_move(sl_index_json *to, sl_index_json *from);
/* May be zero-initialised. */
void sl_index_json_close(sl_index_json *index);

/* The path of a file that the index names. Errors: CORRUPT (it names none), INVALID (it leads out
 * of the folder; its path is too long). */
sluice_status sl_index_json_file(const sl_index_json *index, const char *name,
                                 char path[SL_PATH_BYTES], sluice_error *error);
/* How files are compressed as a whole of which an index says `compression`: "zstd", "gz", "br",
 * "snappy", also with a level behind a colon. NONE: that is NULL, or nothing that is known here. */
sl_packing sl_index_json_packing(const char *compression);
/* An error about the index: its status. `number`: of an entry of the list; -1: of none. */
sluice_status sl_index_json_refuse(const sl_index_json *index, sluice_status status, int64_t number,
                                   const char *why, sluice_error *error);

#endif
