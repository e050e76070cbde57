/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_report: what `sluice view` prints of a sheet that is written: captions and values where the
 * file has none, and why rows are bad; or all of it as JSON. Main thread.
 */
#ifndef TOOL_VIEW_REPORT_H
#define TOOL_VIEW_REPORT_H

#include "view_job.h"

void view_report_print(const struct view *view);

#endif
