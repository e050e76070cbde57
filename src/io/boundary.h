/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boundary: the folder that the files which a list names have to be in.
 *
 * Purpose: a list that a stranger made could name any file of this machine, so two things are
 * checked: a name as it is written, when the list is read, which touches no file; and a file that
 * is open, wherever links have led. The folder may be a link itself: its real path counts. In the
 * cache of Hugging Face's hub, where each file of snapshots/REVISION is a link to one in the blobs
 * beside it, these belong to it.
 * Of a store without links (store.h) the text of a name is all that counts.
 * A boundary that is NULL has everything. Threads: one opens it and checks names; files are checked
 * from any thread. Ownership: sl_boundary_close.
 */
#ifndef SL_BOUNDARY_H
#define SL_BOUNDARY_H

#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>

/* What is said of files outside. */
#define SL_BOUNDARY_ADVICE SL_OPTION("the option allow_outside") " allows that"

typedef struct sl_boundary sl_boundary;

/* `folder`, or `below` it, which is its path from there and is not followed where it is a link; "":
 * the folder itself. Errors: IO, NOMEM. */
sluice_status sl_boundary_open(sl_boundary **boundary, const char *folder, const char *below,
                               sluice_error *error);
/* The folder of a file. Errors: as before. */
sluice_status sl_boundary_open_beside(sl_boundary **boundary, const char *file,
                                      sluice_error *error);
void sl_boundary_close(sl_boundary *boundary); /* NULL is fine */

/* Whether a relative path never leaves the folder that is `depth` folders above where it begins, by
 * its text alone. False of an absolute one. */
bool sl_boundary_stays(sl_bytes name, uint32_t depth);
/* The same of any path: an absolute one has to begin with the folder. */
bool sl_boundary_has_name(sl_boundary *boundary, sl_bytes name, uint32_t depth);
/* Opens a file whose name was checked; the descriptor, or -errno: EXDEV where it is elsewhere.
 * Where no link leads to it, that costs no more than open(), which is called without a boundary. */
int sl_boundary_open_file(const sl_boundary *boundary, const char *path, int flags);

/* Why a name is refused, in `why`. */
void sl_boundary_explain(const sl_boundary *boundary, sl_bytes name, char *why, size_t bytes);
/* Refuses (INVALID) what `list` names at `path`, if there is anything and it is elsewhere, by
 * links. Opens it for that, but not for reading. */
sluice_status sl_boundary_check(const sl_boundary *boundary, const char *list, const char *path,
                                sluice_error *error);
/* An error about a file that is elsewhere: UNSUPPORTED. */
sluice_status sl_boundary_refuse(const sl_boundary *boundary, const char *path,
                                 sluice_error *error);

#endif
