/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_tree: lists the files below a folder by their relative paths.
 *
 * Purpose: for formats whose samples are files with the same base name in two folders. Ignores
 * hidden entries and folders like __MACOSX. Follows links; a folder that can be reached in several
 * ways counts once, by its first path. A dangling link counts as a file, and is a bad sample when
 * it is read. Opens no file. Memory: the paths, and 8 bytes each. Threads: built by one, immutable
 * afterwards. Ownership: sl_name_tree_close.
 */
#ifndef SL_NAME_TREE_H
#define SL_NAME_TREE_H

#include "omissions.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_name_tree {
    char *text;
    uint64_t used, capacity;
    uint64_t *files; /* offsets of the paths in `text`, in byte order of the paths */
    uint64_t count, file_capacity;
    sl_omissions *omissions;          /* counters of skipped files; NULL: not counted */
    const char *others;               /* reason for files that are not images; NULL: not counted */
    bool (*passes)(const char *name); /* selects files that are counted elsewhere; NULL: none */
} sl_name_tree;

/*
 * Lists the files that `takes` accepts by name: in the folder itself and, if `deep`, below it.
 * `tree` is zeroed, except for `omissions`, `others` and `passes`. Errors: IO, INVALID (a path is
 * too long), NOMEM.
 */
sluice_status sl_name_tree_open(sl_name_tree *tree, const char *folder, bool deep,
                                bool (*takes)(const char *name), sluice_error *error);
void sl_name_tree_close(sl_name_tree *tree); /* `tree` may be zeroed */

/*
 * Returns the first file whose path without extension is the first `bytes` of `path`; NULL: none.
 */
const char *sl_name_tree_find_stem(const sl_name_tree *tree, const char *path, size_t bytes);

/*
 * Fails with INVALID if the files are in folders of several splits, so that training and test data
 * are not joined by mistake. The error names `path`, and ROOT/FOLDER/SPLIT as what to open.
 */
sluice_status sl_name_tree_check_splits(const sl_name_tree *tree, const char *path,
                                        const char *root, const char *folder, sluice_error *error);

static inline const char *sl_name_tree_path(const sl_name_tree *tree, uint64_t file)
{
    return tree->text + tree->files[file];
}

#endif
