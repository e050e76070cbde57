/* SPDX-License-Identifier: Apache-2.0 */
/* view_report: the output of `sluice view` about a written sheet: captions and values if the
 * file has none, and why rows are bad; or everything as JSON. Main thread. */
#ifndef TOOL_VIEW_REPORT_H
#define TOOL_VIEW_REPORT_H

#include "view_job.h"

void view_report_print(const struct view *view);

#endif
