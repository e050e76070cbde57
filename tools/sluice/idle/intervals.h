/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intervals: sets of half-open time intervals [start, end) in nanoseconds, and their arithmetic. A
 * set is filled with intervals_add in any order, then intervals_normalise makes it sorted and
 * disjoint (touching ones become one); the functions after it take and return normalised sets.
 * Empty and reversed intervals are dropped. A set without memory sets `failed`, and so does
 * everything computed from it; its contents are then undefined. No threads.
 */
#ifndef TOOL_INTERVALS_H
#define TOOL_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start, end;
};

/* All zero is an empty set. */
struct interval_set {
    struct interval *items;
    size_t count, capacity;
    bool failed;
};

enum interval_operation { INTERVALS_UNION, INTERVALS_INTERSECTION, INTERVALS_DIFFERENCE };

void intervals_add(struct interval_set *set, int64_t start, int64_t end);
void intervals_normalise(struct interval_set *set);

/* Returns a new set; DIFFERENCE: the part of `a` outside `b`. */
struct interval_set intervals_combine(const struct interval_set *a, const struct interval_set *b,
                                      enum interval_operation operation);
/* Returns a new set: the part inside [start, end). */
struct interval_set intervals_clip(const struct interval_set *set, int64_t start, int64_t end);
int64_t intervals_length(const struct interval_set *set);

/* Frees the memory, and leaves an empty set. */
void intervals_free(struct interval_set *set);

#endif
