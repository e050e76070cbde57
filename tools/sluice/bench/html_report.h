/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_report: a benchmark as one self-contained page: no network, no other file. The page
 * (html_page.html) is part of the program; the results, as the JSON of --json, and the timeline are
 * inserted.
 */
#ifndef TOOL_HTML_REPORT_H
#define TOOL_HTML_REPORT_H

#include "trace_capture.h"

#include <stddef.h>

/* `figures`: JSON text. False: reported. */
bool html_report_write(const char *path, const char *figures, const struct trace_capture *captures,
                       size_t count);

#endif
