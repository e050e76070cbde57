/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden: names of files and folders that belong to a system or a tool, never to a dataset.
 *
 * Purpose: one rule for all readers of folders: names that begin with a dot (.DS_Store, ._0.jpg,
 * .ipynb_checkpoints), and leftovers of macOS, Windows, NAS systems and Python (__MACOSX,
 * Thumbs.db, @eaDir, __pycache__). Threads: pure.
 */
#ifndef SL_HIDDEN_H
#define SL_HIDDEN_H

#include <stdbool.h>

/* Returns whether a file or folder name, without its path, is hidden or a system's. */
bool sl_name_is_hidden(const char *name);
/*
 * Returns whether a component of a path in an archive is a system's or a tool's: __MACOSX,
 * .ipynb_checkpoints. Other components that begin with a dot may be the folder in which the archive
 * was made.
 */
bool sl_path_is_hidden(const char *path);

#endif
