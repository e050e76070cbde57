/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden: names of files and folders that belong to a system or a tool, never to a dataset.
 *
 * Purpose: one rule for all readers of folders: what begins with a dot (.DS_Store, ._0.jpg,
 * .ipynb_checkpoints), and what macOS, Windows, NAS systems and Python leave behind (__MACOSX,
 * Thumbs.db, @eaDir, __pycache__). Threads: pure.
 */
#ifndef SL_HIDDEN_H
#define SL_HIDDEN_H

#include <stdbool.h>

/* Whether a file or folder of that name, without its path, is hidden or a system's. */
bool sl_name_is_hidden(const char *name);
/* Whether a part of an archive's path is a system's or a tool's: __MACOSX, .ipynb_checkpoints.
 * Other parts that begin with a dot may be where the archive was made. */
bool sl_path_is_hidden(const char *path);

#endif
