/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lengths: how long the token sequences of a dataset are, and what packing them into rows gives.
 *
 * Purpose: measured before anything is printed, so that an error leaves no half of an output.
 * A dataset with one field of tokens whose lengths cost no more than its index is measured unasked.
 * One thread. Memory: 16 bytes a sample while it is measured.
 */
#ifndef INFO_LENGTHS_H
#define INFO_LENGTHS_H

#include "json.h"

#include <sluice/dataset.h>
#include <sluice/sequences.h>

#include <stdbool.h>

enum { PACK_LENGTHS_MAX = 16 };

/* What the command line asks for. */
struct lengths_args {
    const char *field;      /* NULL: the field of tokens, if there is one */
    const char *rows;       /* lengths of rows, "2048,8192"; NULL: none */
    uint64_t align;         /* 0: not given */
    uint64_t max_documents; /* likewise */
    int cut;                /* likewise -1 */
    uint64_t max_sample;    /* bytes of a sample that is read; 0: what the library takes */
};

/* Nothing is asked for. */
#define LENGTHS_ARGS_INIT \
    {                     \
        .cut = -1         \
    }

struct lengths_packing {
    uint64_t length;
    sluice_packing_report report;
};

struct lengths_found {
    char field[32]; /* "": nothing was measured, and there is nothing to say */
    int32_t source; /* a sluice_lengths_source */
    bool measured;  /* false: `field` has tokens; measuring them was not asked for, and costs */
    uint64_t samples, empty, tokens, median, p99, longest;
    struct lengths_args args;
    uint32_t packings;
    struct lengths_packing packing[PACK_LENGTHS_MAX];
};

/* True if any lengths are asked for. */
bool lengths_are_asked(const struct lengths_args *args);
/* The exit code; except for TOOL_FINE the reason was reported. */
int lengths_measure(const sluice_dataset *dataset, const struct lengths_args *args,
                    struct lengths_found *found);
void lengths_print(const struct lengths_found *found);
/* Writes an object "lengths"; nothing if nothing was measured. */
void lengths_write(struct json *json, const struct lengths_found *found);

#endif
