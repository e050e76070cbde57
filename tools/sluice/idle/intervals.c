/* SPDX-License-Identifier: Apache-2.0 */
#include "intervals.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static bool grow(struct interval_set *set)
{
    size_t capacity = set->capacity == 0 ? FIRST_ROOM : set->capacity * 2;
    struct interval *items = reallocarray(set->items, capacity, sizeof *items);
    if (items == NULL) {
        set->failed = true;
        return false;
    }
    set->items = items;
    set->capacity = capacity;
    return true;
}

void intervals_add(struct interval_set *set, int64_t start, int64_t end)
{
    if (start >= end || set->failed) {
        return;
    }
    if (set->count == set->capacity && !grow(set)) {
        return;
    }
    set->items[set->count++] = (struct interval){start, end};
}

static int by_start(const void *left, const void *right)
{
    const struct interval *a = left;
    const struct interval *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void intervals_normalise(struct interval_set *set)
{
    if (set->count < 2) {
        return;
    }
    qsort(set->items, set->count, sizeof *set->items, by_start);
    size_t last = 0;
    for (size_t i = 1; i < set->count; i++) {
        struct interval next = set->items[i];
        if (next.start > set->items[last].end) {
            set->items[++last] = next;
        } else if (next.end > set->items[last].end) {
            set->items[last].end = next.end;
        }
    }
    set->count = last + 1;
}

/* Finds the next border of a set: `place` counts starts and ends, so an odd one is inside. */
static bool next_border(const struct interval_set *set, size_t place, int64_t *when)
{
    if (place / 2 >= set->count) {
        return false;
    }
    const struct interval *item = &set->items[place / 2];
    *when = place % 2 == 0 ? item->start : item->end;
    return true;
}

static bool covered(bool in_a, bool in_b, enum interval_operation operation)
{
    switch (operation) {
    case INTERVALS_UNION:
        return in_a || in_b;
    case INTERVALS_INTERSECTION:
        return in_a && in_b;
    case INTERVALS_DIFFERENCE:
        break;
    }
    return in_a && !in_b;
}

struct interval_set intervals_combine(const struct interval_set *a, const struct interval_set *b,
                                      enum interval_operation operation)
{
    struct interval_set result = {.failed = a->failed || b->failed};
    size_t place_a = 0;
    size_t place_b = 0;
    bool inside = false;
    int64_t since = 0;
    for (;;) {
        int64_t when_a = INT64_MAX;
        int64_t when_b = INT64_MAX;
        bool more_a = next_border(a, place_a, &when_a);
        bool more_b = next_border(b, place_b, &when_b);
        if (!more_a && !more_b) {
            return result;
        }
        int64_t now = when_a < when_b ? when_a : when_b;
        /* Borders of both sets at one moment are passed together, or touching intervals would give
         * two pieces. */
        place_a += more_a && when_a == now;
        place_b += more_b && when_b == now;
        bool is_covered = covered(place_a % 2 == 1, place_b % 2 == 1, operation);
        if (inside && !is_covered) {
            intervals_add(&result, since, now);
        } else if (!inside && is_covered) {
            since = now;
        }
        inside = is_covered;
    }
}

struct interval_set intervals_clip(const struct interval_set *set, int64_t start, int64_t end)
{
    struct interval_set result = {.failed = set->failed};
    for (size_t i = 0; i < set->count; i++) {
        const struct interval *item = &set->items[i];
        intervals_add(&result, item->start > start ? item->start : start,
                      item->end < end ? item->end : end);
    }
    return result;
}

int64_t intervals_length(const struct interval_set *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++) {
        length += set->items[i].end - set->items[i].start;
    }
    return length;
}

void intervals_free(struct interval_set *set)
{
    free(set->items);
    *set = (struct interval_set){0};
}
