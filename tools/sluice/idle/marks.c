/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 128, NUMBERS_MAX = 2 };
/* 146 years: far from where sums of times could overflow. */
static const int64_t time_max = INT64_MAX / 2;

bool idle_marks_times(int64_t start, int64_t end, int64_t clock_offset, struct interval *times)
{
    return !__builtin_sub_overflow(start, clock_offset, &times->start) &&
           !__builtin_sub_overflow(end, clock_offset, &times->end) && times->start >= 0 &&
           times->end <= time_max && times->start <= times->end;
}

/* Reads whole numbers to the end of the line; returns the count, or -1. */
static int parse_numbers(const char *text, int64_t numbers[NUMBERS_MAX])
{
    int count = 0;
    for (;;) {
        text += strspn(text, " \t\r");
        if (*text == '\n') {
            return count;
        }
        if (count == NUMBERS_MAX || *text < '0' || *text > '9') {
            return -1;
        }
        char *end;
        errno = 0;
        numbers[count++] = strtoll(text, &end, 10);
        if (errno != 0) {
            return -1;
        }
        text = end;
    }
}

static bool parse_line(const char *line, struct idle_trace *trace)
{
    size_t word = strcspn(line, " \t\r\n");
    int64_t numbers[NUMBERS_MAX] = {0};
    int count = parse_numbers(line + word, numbers);
    struct interval times;
    if (count < 1 || !idle_marks_times(numbers[0], numbers[count - 1], 0, &times)) {
        return false;
    }
    if (word == 4 && memcmp(line, "step", word) == 0 && count == 1) {
        idle_trace_step(trace, times.start);
        return true;
    }
    if (word == 4 && memcmp(line, "wait", word) == 0 && count == 2) {
        intervals_add(&trace->waits, times.start, times.end);
        trace->wait_marks++;
        return true;
    }
    if (word == 5 && memcmp(line, "stall", word) == 0 && count == 2) {
        intervals_add(&trace->stalls, times.start, times.end);
        trace->stall_marks++;
        return true;
    }
    return false;
}

struct idle_marks_count idle_marks_read(FILE *file, struct idle_trace *trace)
{
    struct idle_marks_count count = {0};
    char line[LINE_ROOM];
    bool whole_before = true; /* the previous piece ended a line */
    while (fgets(line, sizeof line, file) != NULL) {
        bool whole = strchr(line, '\n') != NULL;
        bool starts = whole_before;
        whole_before = whole;
        if (starts && whole) {
            bool good = parse_line(line, trace);
            count.good += good;
            count.wrong += !good;
        } else if (whole) {
            count.wrong++; /* the end of an overlong line */
        }
    }
    return count;
}
