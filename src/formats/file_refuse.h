/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_refuse: explains from its first bytes what a file is that is not a dataset, and what to do
 * with it. Also explains addresses where nothing was found.
 *
 * Threads: any; blocks while it reads the file's beginning.
 */
#ifndef SL_FILE_REFUSE_H
#define SL_FILE_REFUSE_H

#include "look.h"

#include <sluice/common.h>

/* Rejects the file with a description. Always INVALID. */
sluice_status sl_file_refuse(sl_look *look, sluice_error *error);
/*
 * Rejects a path that does not exist or whose store does not respond. Errors: IO; INVALID if the
 * address is malformed; CANCELED.
 */
sluice_status sl_missing_refuse(sl_look *look, sluice_error *error);
/* Returns whether an address that was not found on a web server lacks a folder's trailing slash. */
bool sl_missing_lacks_slash(const char *path, int failed);

#endif
