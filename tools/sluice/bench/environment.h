/* SPDX-License-Identifier: Apache-2.0 */
/* environment: the machine and the time of a benchmark. Main thread. */
#ifndef TOOL_BENCH_ENVIRONMENT_H
#define TOOL_BENCH_ENVIRONMENT_H

#include "json.h"

struct bench_environment {
    char time[32]; /* UTC, "2026-01-31T12:00:00Z" */
    char cpu[96];  /* the CPU's own name; "" if unknown */
    char kernel[96];
    double load;           /* processes ready to run in the last minute; NaN: unknown */
    uint64_t memory_bytes; /* of the machine */
};

void bench_environment_read(struct bench_environment *environment);
void bench_environment_write(struct json *json, const struct bench_environment *environment);

#endif
