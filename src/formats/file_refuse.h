/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_refuse: what a file is that is not a dataset, by its first bytes, and what to do with it.
 * Also, what is wrong with an address where nothing is found.
 *
 * Threads: any; blocks for a look at the file.
 */
#ifndef SL_FILE_REFUSE_H
#define SL_FILE_REFUSE_H

#include "look.h"

#include <sluice/common.h>

/* INVALID, always. */
sluice_status sl_file_refuse(sl_look *look, sluice_error *error);
/* Of a path that is missing, or does not answer. IO; INVALID if the address is not written as one
 * that can be read; CANCELED. */
sluice_status sl_missing_refuse(sl_look *look, sluice_error *error);
/* Whether an address on a web server, where there is nothing, lacks the slash of a folder. */
bool sl_missing_lacks_slash(const char *path, int failed);

#endif
