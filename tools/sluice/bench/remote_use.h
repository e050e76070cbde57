/* SPDX-License-Identifier: Apache-2.0 */
/* remote_use: a run's requests to object stores, their latency, and their cost. Main thread. */
#ifndef TOOL_BENCH_REMOTE_USE_H
#define TOOL_BENCH_REMOTE_USE_H

#include "json.h"

#include <sluice/remote.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_USE_NAME_BYTES = 400 };

struct remote_use {
    sluice_remote_stats before, stats; /* at the run's beginning and end */
    double epochs;                     /* epochs of samples decoded: 1.5 for one and a half */
    double price_get;                  /* of 1,000 requests, in any currency; 0: not given */
};

void remote_use_begin(struct remote_use *use);
void remote_use_end(struct remote_use *use);

/* Returns whether the run sent requests. */
bool remote_use_any(const struct remote_use *use);
/* Returns the number of requests of the run, or of one epoch. */
uint64_t remote_use_requests(const struct remote_use *use);
double remote_use_per_epoch(const struct remote_use *use);
/* Writes "HOST, first byte after 12.3 ms (p50), 80.1 ms (p99)". */
void remote_use_name(const struct remote_use *use, char *text, size_t bytes);

/* Prints the line "store" and the line "requests", if there were any. */
void remote_use_print(const struct remote_use *use);
/* Writes the member "remote": an object, or null if there were none. */
void remote_use_write(const struct remote_use *use, struct json *json);

#endif
