/* SPDX-License-Identifier: Apache-2.0 */
/* environment: on what, and when, a benchmark ran. Main thread. */
#ifndef TOOL_BENCH_ENVIRONMENT_H
#define TOOL_BENCH_ENVIRONMENT_H

#include "json.h"

struct bench_environment {
    char time[32]; /* UTC, "2026-01-31T12:00:00Z" */
    char cpu[96];  /* the processor's own name; "" when it does not say */
    char kernel[96];
    double load;           /* processes that wanted a processor in the last minute; NaN: unknown */
    uint64_t memory_bytes; /* of the machine */
};

void bench_environment_read(struct bench_environment *environment);
void bench_environment_write(struct json *json, const struct bench_environment *environment);

#endif
