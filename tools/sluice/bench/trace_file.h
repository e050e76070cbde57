/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file: recordings as a file in Chrome's trace-event format, for ui.perfetto.dev and
 * chrome://tracing: a process for each arm and group, a track for each thread, slot and device. */
#ifndef TOOL_TRACE_FILE_H
#define TOOL_TRACE_FILE_H

#include "trace_capture.h"

#include <stdio.h>

/* Writes the file, without unnamed captures. False: reported. */
bool trace_file_write(const char *path, const struct trace_capture *captures, size_t count);

/* Writes the part of a page's data that draws the timeline: a JSON array of arms with their
 * spans. False: no memory. */
bool trace_file_write_timeline(FILE *stream, const struct trace_capture *captures, size_t count);

#endif
