/* SPDX-License-Identifier: Apache-2.0 */
/* draws: the columns of the sheet: each is an epoch of a loader, or with --each-step the first
 * one with one more step. Main thread. */
#ifndef TOOL_DRAWS_H
#define TOOL_DRAWS_H

#include "view_job.h"

/* Fills in sheet, rows and texts, which have space; leaves the loader of the last draw open.
 * Returns an exit code; reported. */
int draws_take(struct view *view);

#endif
