/* SPDX-License-Identifier: Apache-2.0 */
/* bench_write: the files that a benchmark writes: a trace, a page. Main thread. */
#ifndef TOOL_BENCH_WRITE_H
#define TOOL_BENCH_WRITE_H

#include "trace_capture.h"

#include <stdio.h>

struct bench_files {
    const char *trace, *report; /* paths; NULL: not wanted */
};

/* `write_json(figures, stream)` writes the output of --json. Returns an exit code. */
int bench_write_files(const struct bench_files *files,
                      void (*write_json)(const void *figures, FILE *stream), const void *figures,
                      const struct trace_capture *captures, size_t count);

#endif
