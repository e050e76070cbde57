/* SPDX-License-Identifier: Apache-2.0 */
#include "html_report.h"

#include "html_page.h"
#include "output_file.h"
#include "report.h"
#include "trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The page's placeholder for its data. */
static const char figures_mark[] = "@FIGURES@";
static const char timeline_mark[] = "@TIMELINE@";

/* Escapes "<", which could begin a tag that ends the script; JSON allows it. */
static void write_escaped(FILE *stream, const char *json)
{
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '<') {
            fputs("\\u003c", stream);
        } else {
            fputc(*at, stream);
        }
    }
}

/* Writes up to `mark`; returns the text after it. */
static const char *write_until(FILE *stream, const char *from, const char *mark)
{
    const char *at = strstr(from, mark);
    if (at == NULL) {
        return from; /* cannot happen: tests/cli has a page */
    }
    fwrite(from, 1, (size_t)(at - from), stream);
    return at + strlen(mark);
}

static void write_page(FILE *stream, const char *figures, const char *timeline)
{
    const char *rest = write_until(stream, html_page, figures_mark);
    write_escaped(stream, figures);
    rest = write_until(stream, rest, timeline_mark);
    write_escaped(stream, timeline);
    fputs(rest, stream);
}

static char *make_timeline(const struct trace_capture *captures, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL) {
        return NULL;
    }
    const bool fine = trace_file_write_timeline(memory, captures, count);
    if (fclose(memory) != 0 || !fine) {
        free(text);
        return NULL;
    }
    return text;
}

bool html_report_write(const char *path, const char *figures, const struct trace_capture *captures,
                       size_t count)
{
    char *timeline = make_timeline(captures, count);
    if (timeline == NULL) {
        report("%s: out of memory for the timeline", path);
        return false;
    }
    FILE *stream = output_file_open(path);
    bool fine = stream != NULL;
    if (fine) {
        write_page(stream, figures, timeline);
        fine = output_file_close(stream, path);
    }
    free(timeline);
    return fine;
}
