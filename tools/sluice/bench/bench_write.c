/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_write.h"

#include "exit_code.h"
#include "html_report.h"
#include "report.h"
#include "trace_file.h"

#include <stdlib.h>

static char *make_json(void (*write_json)(const void *figures, FILE *stream), const void *figures)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL) {
        return NULL;
    }
    write_json(figures, memory);
    if (fclose(memory) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int bench_write_files(const struct bench_files *files,
                      void (*write_json)(const void *figures, FILE *stream), const void *figures,
                      const struct trace_capture *captures, size_t count)
{
    bool fine = files->trace == NULL || trace_file_write(files->trace, captures, count);
    if (files->report != NULL) {
        char *json = make_json(write_json, figures);
        if (json == NULL) {
            report("%s: out of memory for the results", files->report);
        }
        fine = json != NULL && html_report_write(files->report, json, captures, count) && fine;
        free(json);
    }
    return fine ? TOOL_FINE : TOOL_FAILED;
}
