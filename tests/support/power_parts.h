/* SPDX-License-Identifier: Apache-2.0 */
/* power_parts: the data of a recording, shared by power.c, which makes it, and power_states.c. */
#ifndef SL_POWER_PARTS_H
#define SL_POWER_PARTS_H

#include "power.h"

#include <stddef.h>

enum {
    POWER_OPERATIONS_MAX = 4096,
    POWER_NODES_MAX = 512, /* files */
    POWER_NAMES_MAX = 512,
    POWER_NAME_BYTES = 300,
    POWER_FOLDER = -1 /* takes a file's place */
};

typedef enum power_kind {
    POWER_WRITE,
    POWER_CUT, /* to `offset` bytes */
    POWER_SYNC,
    POWER_MAKE,
    POWER_MOVE,
    POWER_REMOVE,
    POWER_SYNC_FOLDER
} power_kind;

typedef struct power_operation {
    power_kind kind;
    int node;                    /* POWER_FOLDER: none */
    char name[POWER_NAME_BYTES]; /* relative to the root */
    char from[POWER_NAME_BYTES]; /* MOVE */
    uint64_t offset;
    uint8_t *data; /* WRITE */
    size_t bytes;
} power_operation;

typedef struct power_bytes {
    uint8_t *data;
    size_t bytes;
} power_bytes;

typedef struct power_start {
    char name[POWER_NAME_BYTES];
    int node;
} power_start;

typedef struct power_recording {
    power_operation operations[POWER_OPERATIONS_MAX];
    uint32_t count;
    power_bytes nodes[POWER_NODES_MAX]; /* contents when recording began */
    int node_count;
    power_start starts[POWER_NAMES_MAX]; /* names when recording began */
    uint32_t start_count;
} power_recording;

extern power_recording power_recorded;

/* Prints these words and aborts. */
_Noreturn void power_abort(const char *what);

static inline void power_must(bool good, const char *what)
{
    if (!good) {
        power_abort(what);
    }
}

#endif
