/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_tree: the files below a folder, by their paths from there.
 *
 * Purpose: formats whose samples are files that are called alike in two folders. What is hidden
 * does not count, and neither do folders like __MACOSX; links are followed, and a folder that
 * several lead to counts once, where it was met first. A link that leads nowhere is a file, which
 * turns out bad when it is read. Nothing is opened. Memory: the paths, and 8 bytes each.
 * Threads: built by one, immutable afterwards. Ownership: sl_name_tree_close.
 */
#ifndef SL_NAME_TREE_H
#define SL_NAME_TREE_H

#include "omissions.h"

#include <sluice/common.h>

#include <stdbool.h>

typedef struct sl_name_tree {
    char *text;
    uint64_t used, capacity;
    uint64_t *files; /* where in `text` each path begins, in the order of the paths' bytes */
    uint64_t count, file_capacity;
    sl_omissions *omissions; /* where files that are passed over are counted; NULL: nowhere */
    const char *others;      /* the reason for files that are not images; NULL: not counted */
    bool (*passes)(const char *name); /* of those, what is counted elsewhere; NULL: nothing is */
} sl_name_tree;

/* Files that `takes` wants by their names; those of the folder itself, and of folders in it where
 * `deep`. `tree` is all zero, except `omissions`, `others` and `passes`. Errors: IO, INVALID (a
 * path is too long), NOMEM. */
sluice_status sl_name_tree_open(sl_name_tree *tree, const char *folder, bool deep,
                                bool (*takes)(const char *name), sluice_error *error);
void sl_name_tree_close(sl_name_tree *tree); /* of all zero is fine */

/* The first file of that path without its extension, of which `path` gives `bytes`; NULL: none. */
const char *sl_name_tree_find_stem(const sl_name_tree *tree, const char *path, size_t bytes);

/* INVALID where the files are in folders of several splits: those of training and of testing are
 * not to be one dataset by mistake. `path` is named, and ROOT/FOLDER/SPLIT as what to open. */
sluice_status sl_name_tree_check_splits(const sl_name_tree *tree, const char *path,
                                        const char *root, const char *folder, sluice_error *error);

static inline const char *sl_name_tree_path(const sl_name_tree *tree, uint64_t file)
{
    return tree->text + tree->files[file];
}

#endif
