/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_refuse: what a file is that is not a dataset, by its first bytes, and what to do with it.
 *
 * Threads: any; blocks for a look at the file.
 */
#ifndef SL_FILE_REFUSE_H
#define SL_FILE_REFUSE_H

#include "look.h"

#include <sluice/common.h>

/* INVALID, always. */
sluice_status sl_file_refuse(sl_look *look, sluice_error *error);

#endif
