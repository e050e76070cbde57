/* SPDX-License-Identifier: Apache-2.0 */
/* Writes spans as JSON events, and those of a window for the timeline. Main thread; keeps
 * nothing. */
#include "trace_file.h"

#include "json.h"
#include "output_file.h"
#include "report.h"
#include "trace_spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Maximum steps that a page draws (or a time, without steps), and spans of a group: the page
 * must stay small. */
enum { TIMELINE_STEPS = 12, TIMELINE_SPANS = 4000 };
static const double timeline_s = 0.3;

struct writer {
    FILE *stream;
    double origin; /* time 0 of the file, in seconds */
    bool follows;
};

static void lead(struct writer *writer)
{
    fputs(writer->follows ? ",\n" : "\n", writer->stream);
    writer->follows = true;
}

static void write_name(struct writer *writer, const char *what, unsigned process, uint32_t track,
                       const char *name)
{
    lead(writer);
    fprintf(writer->stream,
            "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%" PRIu32 ",\"args\":{\"name\":",
            what, process, track);
    struct json json; /* a separate value: for the escapes */
    json_begin(&json, writer->stream);
    json_text(&json, NULL, name);
    fputs("}}", writer->stream);
}

static double micros(const struct writer *writer, double seconds)
{
    return (seconds - writer->origin) * 1e6;
}

static void write_args(FILE *stream, const struct trace_span *span)
{
    const bool step = span->group == GROUP_STEPS;
    fprintf(stream, "\"args\":{");
    if (span->kind == SPAN_READ) {
        fprintf(stream, "\"bytes\":%" PRIu64, span->bytes);
    } else {
        fprintf(stream, "\"%s\":%" PRIu64, step ? "step" : "batch", span->number);
    }
    if (span->sample >= 0) {
        fprintf(stream, ",\"sample\":%" PRId64, span->sample);
    }
    fputs("}}", stream);
}

/* Reads overlap on their track, so they are asynchronous events: a pair with an id. */
static void write_read(struct writer *writer, const struct trace_span *span, unsigned process,
                       size_t id)
{
    static const char *const phases[] = {"b", "e"};
    const double times[] = {span->begin, span->end};
    for (int i = 0; i < 2; i++) {
        lead(writer);
        fprintf(writer->stream,
                "{\"ph\":\"%s\",\"cat\":\"read\",\"name\":\"read\",\"id\":%zu,\"pid\":%u,\"tid\":0,"
                "\"ts\":%.3f,",
                phases[i], id, process, micros(writer, times[i]));
        write_args(writer->stream, span);
    }
}

static void write_span(struct writer *writer, const struct trace_span *span, unsigned process)
{
    lead(writer);
    fprintf(writer->stream,
            "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%" PRIu32
            ",\"ts\":%.3f,\"dur\":%.3f,",
            trace_span_names[span->kind], process, span->track, micros(writer, span->begin),
            (span->end - span->begin) * 1e6);
    write_args(writer->stream, span);
}

static void name_track(struct writer *writer, const struct trace_capture *capture,
                       const struct trace_span *span, unsigned process)
{
    static const char *const of_steps[] = {"consumer", "accelerator"};
    char text[32];
    const char *name = text;
    if (span->group == GROUP_STEPS) {
        name = of_steps[span->track];
    } else if (span->group == GROUP_THREADS) {
        name = capture->threads[span->track];
    } else if (span->group == GROUP_READS) {
        name = "reads";
    } else {
        snprintf(text, sizeof text, "slot %" PRIu32, span->track);
    }
    write_name(writer, "thread_name", process, span->track, name);
}

static void write_capture(struct writer *writer, const struct trace_capture *capture,
                          const struct trace_spans *spans, unsigned first_process)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct trace_span *span = &spans->at[i];
        const unsigned process = first_process + (unsigned)span->group;
        const struct trace_span *before = i > 0 ? span - 1 : NULL;
        if (before == NULL || before->group != span->group) {
            char name[64];
            snprintf(name, sizeof name, "%s: %s", capture->name, trace_group_names[span->group]);
            write_name(writer, "process_name", process, 0, name);
        }
        if (before == NULL || before->group != span->group || before->track != span->track) {
            name_track(writer, capture, span, process);
        }
        if (span->kind == SPAN_READ) {
            write_read(writer, span, process, i);
        } else {
            write_span(writer, span, process);
        }
    }
}

static double first_moment(const struct trace_capture *captures, size_t count)
{
    double first = INFINITY;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < captures[k].count; i++) {
            first = fmin(first, (double)captures[k].events[i].begin_ns * 1e-9);
        }
        for (size_t i = 0; i < captures[k].step_count; i++) {
            first = fmin(first, captures[k].steps[i].asked);
        }
    }
    return isinf(first) ? 0 : first;
}

static bool write_captures(struct writer *writer, const struct trace_capture *captures,
                           size_t count)
{
    bool fine = true;
    uint64_t lost = 0;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", writer->stream);
    for (size_t k = 0; k < count && fine; k++) {
        struct trace_spans spans;
        if (captures[k].name == NULL) {
            continue;
        }
        lost += captures[k].lost;
        fine = trace_spans_make(&spans, &captures[k]);
        if (fine) {
            write_capture(writer, &captures[k], &spans, (unsigned)(1 + TRACE_GROUPS * k));
        }
        trace_spans_free(&spans);
    }
    fprintf(writer->stream, "\n],\"otherData\":{\"events_lost\":%" PRIu64 "}}\n", lost);
    return fine;
}

bool trace_file_write(const char *path, const struct trace_capture *captures, size_t count)
{
    FILE *stream = output_file_open(path);
    if (stream == NULL) {
        return false;
    }
    struct writer writer = {.stream = stream, .origin = first_moment(captures, count)};
    const bool fine = write_captures(&writer, captures, count);
    if (!fine) {
        report("%s: out of memory for the trace", path);
    }
    return output_file_close(stream, path) && fine;
}

/* ---- timeline of a page ---- */

/* Chooses steps from the middle of the arm on, when the pipeline is full, or the first one that
 * is fully recorded. */
static void choose_steps(const struct trace_capture *capture, double *from, double *to)
{
    size_t first = capture->step_count / 2;
    while (first + 1 < capture->step_count && capture->steps[first].asked < capture->whole_from) {
        first++;
    }
    const size_t last =
        first + TIMELINE_STEPS < capture->step_count ? first + TIMELINE_STEPS : capture->step_count;
    *from = capture->steps[first].asked;
    *to = capture->steps[last - 1].end;
}

/* Chooses a time in the recording in the same way. */
static void choose_time(const struct trace_capture *capture, double *from, double *to)
{
    double first = INFINITY;
    double last = 0;
    for (size_t i = 0; i < capture->count; i++) {
        first = fmin(first, (double)capture->events[i].begin_ns * 1e-9);
        last = fmax(last, (double)capture->events[i].end_ns * 1e-9);
    }
    first = fmin(first, last);
    *from = fmax((first + last) / 2, capture->whole_from);
    *from = fmax(fmin(*from, last - timeline_s), first);
    *to = fmin(*from + timeline_s, last);
}

static bool is_inside(const struct trace_span *span, double from, double to)
{
    return span->end > from && span->begin < to && span->end > span->begin;
}

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns where the window must end if a group has more spans than a page can show. */
static double end_of_group(const struct trace_spans *spans, enum trace_group group, double from,
                           double to, double *begins)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        if (spans->at[i].group == group && is_inside(&spans->at[i], from, to)) {
            begins[count++] = spans->at[i].begin;
        }
    }
    if (count <= TIMELINE_SPANS) {
        return to;
    }
    qsort(begins, count, sizeof *begins, compare_times);
    return begins[TIMELINE_SPANS] > from ? begins[TIMELINE_SPANS] : to;
}

/* Chooses a window that all lanes fill to its end; shorter if they have too many spans for a
 * page. */
static bool choose_window(const struct trace_capture *capture, const struct trace_spans *spans,
                          double *from, double *to)
{
    double *begins = calloc(spans->count + 1, sizeof *begins);
    if (begins == NULL) {
        return false;
    }
    if (capture->step_count > 0) {
        choose_steps(capture, from, to);
    } else {
        choose_time(capture, from, to);
    }
    for (int group = 0; group < TRACE_GROUPS; group++) {
        *to = end_of_group(spans, (enum trace_group)group, *from, *to, begins);
    }
    free(begins);
    return true;
}

static void write_spans(FILE *stream, const struct trace_spans *spans, double from, double to)
{
    const char *separator = "";
    for (size_t i = 0; i < spans->count; i++) {
        const struct trace_span *span = &spans->at[i];
        if (!is_inside(span, from, to)) {
            continue;
        }
        fprintf(stream, "%s\n[%d,%d,%" PRIu32 ",%.3f,%.3f,%" PRIu64 ",%" PRId64 "]", separator,
                (int)span->group, (int)span->kind, span->track, (span->begin - from) * 1e3,
                (span->end - from) * 1e3, span->number, span->sample);
        separator = ",";
    }
}

static bool write_arm(FILE *stream, const struct trace_capture *capture,
                      const struct trace_spans *spans)
{
    double from = 0;
    double to = 0;
    if (!choose_window(capture, spans, &from, &to)) {
        return false;
    }
    fprintf(stream, "{\"arm\":\"%s\",\"ms\":%.3f,\"spans\":[", capture->name, (to - from) * 1e3);
    write_spans(stream, spans, from, to);
    fputs("]}", stream);
    return true;
}

bool trace_file_write_timeline(FILE *stream, const struct trace_capture *captures, size_t count)
{
    bool fine = true;
    bool follows = false;
    fputc('[', stream);
    for (size_t k = 0; k < count && fine; k++) {
        struct trace_spans spans;
        if (captures[k].name == NULL) {
            continue;
        }
        fputs(follows ? "," : "", stream);
        fine = trace_spans_make(&spans, &captures[k]) && write_arm(stream, &captures[k], &spans);
        follows = true;
        trace_spans_free(&spans);
    }
    fputc(']', stream);
    return fine;
}
