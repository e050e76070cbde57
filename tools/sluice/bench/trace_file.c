/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_file.h"

#include "json.h"
#include "report.h"
#include "trace_spans.h"
#include "written.h"

#include <inttypes.h>
#include <math.h>

/* Steps that a page draws (a time, where there are none), and spans of a group at most: it is to
 * stay a page. */
enum { TIMELINE_STEPS = 12, TIMELINE_SPANS = 4000 };
static const double timeline_s = 0.3;

struct writer {
    FILE *stream;
    double origin; /* seconds that are 0 in the file */
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
    struct json json; /* a value on its own: for the escapes */
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
    FILE *stream = written_open(path);
    if (stream == NULL) {
        return false;
    }
    struct writer writer = {.stream = stream, .origin = first_moment(captures, count)};
    const bool fine = write_captures(&writer, captures, count);
    if (!fine) {
        report("%s: no memory for the trace", path);
    }
    return written_close(stream, path) && fine;
}

/* ---- timeline of a page ---- */

/* From the middle of the arm on: the pipeline is full there. */
static void choose_window(const struct trace_capture *capture, double *from, double *to)
{
    if (capture->step_count > 0) {
        const size_t half = capture->step_count / 2;
        const size_t last = half + TIMELINE_STEPS < capture->step_count ? half + TIMELINE_STEPS
                                                                        : capture->step_count;
        *from = capture->steps[half].asked;
        *to = capture->steps[last - 1].end;
        return;
    }
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < capture->count; i++) {
        first = capture->events[i].begin_ns < first ? capture->events[i].begin_ns : first;
        last = capture->events[i].end_ns > last ? capture->events[i].end_ns : last;
    }
    *from = ((double)first + (double)last) / 2 * 1e-9;
    *to = *from + timeline_s;
}

static void write_spans(FILE *stream, const struct trace_spans *spans, double from, double to)
{
    size_t written[TRACE_GROUPS] = {0};
    const char *separator = "";
    for (size_t i = 0; i < spans->count; i++) {
        const struct trace_span *span = &spans->at[i];
        const bool inside = span->end > from && span->begin < to && span->end > span->begin;
        if (!inside || written[span->group]++ >= TIMELINE_SPANS) {
            continue;
        }
        fprintf(stream, "%s\n[%d,%d,%" PRIu32 ",%.3f,%.3f,%" PRIu64 ",%" PRId64 "]", separator,
                (int)span->group, (int)span->kind, span->track, (span->begin - from) * 1e3,
                (span->end - from) * 1e3, span->number, span->sample);
        separator = ",";
    }
}

static void write_arm(FILE *stream, const struct trace_capture *capture,
                      const struct trace_spans *spans)
{
    double from;
    double to;
    choose_window(capture, &from, &to);
    fprintf(stream, "{\"arm\":\"%s\",\"ms\":%.3f,\"spans\":[", capture->name, (to - from) * 1e3);
    write_spans(stream, spans, from, to);
    fputs("]}", stream);
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
        fine = trace_spans_make(&spans, &captures[k]);
        fputs(follows ? "," : "", stream);
        write_arm(stream, &captures[k], &spans);
        follows = true;
        trace_spans_free(&spans);
    }
    fputc(']', stream);
    return fine;
}
