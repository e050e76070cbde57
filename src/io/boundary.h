/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boundary: the folder that must contain the files named by a list.
 *
 * Purpose: a list made by a stranger could name any file of this machine, so two things are
 * checked: a name as written, when the list is read, which touches no file; and an open file,
 * wherever links have led. The folder may be a link itself: its real path counts. In the cache of
 * Hugging Face's hub, each file of snapshots/REVISION is a link to one in the blobs beside it,
 * which belong to the folder, too. In a store without links (store.h) only the text of a name
 * counts.
 *
 * A NULL boundary contains everything. Threads: one opens it and checks names; any thread checks
 * files. Ownership: sl_boundary_close.
 */
#ifndef SL_BOUNDARY_H
#define SL_BOUNDARY_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* Advice about files outside. */
#define SL_BOUNDARY_ADVICE SL_OPTION("the option allow_outside") " allows that"

typedef struct sl_boundary sl_boundary;

/* Opens the boundary of `folder`, or of `below` it, a path from there that is not followed if it is
 * a link; "": the folder itself. Errors: IO, NOMEM. */
sluice_status sl_boundary_open(sl_boundary **boundary, const char *folder, const char *below,
                               sluice_error *error);
/* Opens the boundary of a file's folder. Errors: as sl_boundary_open. */
sluice_status sl_boundary_open_beside(sl_boundary **boundary, const char *file,
                                      sluice_error *error);
void sl_boundary_close(sl_boundary *boundary); /* NULL is fine */

/* Returns whether a relative path never leaves the folder `depth` levels above its beginning, by
 * its text alone. False for an absolute path. */
bool sl_boundary_stays(sl_bytes name, uint32_t depth);
/* Does the same for any path: an absolute one must begin with the folder. */
bool sl_boundary_has_name(sl_boundary *boundary, sl_bytes name, uint32_t depth);
/* Opens a file whose name was checked. Returns the descriptor, or -errno: EXDEV if the file is
 * outside. If no link leads to it, this costs no more than open(), which is called without a
 * boundary. */
int sl_boundary_open_file(const sl_boundary *boundary, const char *path, int flags);

/* Writes to `why` the reason a name is refused. */
void sl_boundary_explain(const sl_boundary *boundary, sl_bytes name, char *why, size_t bytes);
/* Refuses (INVALID) an existing file at `path`, named by `list`, that links lead outside. Opens it
 * for that, but not for reading. */
sluice_status sl_boundary_check(const sl_boundary *boundary, const char *list, const char *path,
                                sluice_error *error);
/* Sets the error of a file outside: UNSUPPORTED. */
sluice_status sl_boundary_refuse(const sl_boundary *boundary, const char *path,
                                 sluice_error *error);

#endif
