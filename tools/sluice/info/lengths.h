/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lengths: the lengths of a dataset's token sequences, and the result of packing them into rows.
 *
 * Purpose: measured before anything is printed, so that an error leaves no partial output. A
 * dataset with one field of tokens is measured without a request if its lengths are in its index.
 * One thread. Memory: 16 bytes a sample during the measurement.
 */
#ifndef INFO_LENGTHS_H
#define INFO_LENGTHS_H

#include "json.h"

#include <sluice/dataset.h>
#include <sluice/sequences.h>

#include <stdbool.h>

enum { PACK_LENGTHS_MAX = 16 };

/* The arguments on the command line. */
struct lengths_args {
    const char *field;      /* NULL: the field of tokens, if there is one */
    const char *rows;       /* lengths of rows, "2048,8192"; NULL: none */
    uint64_t align;         /* 0: not given */
    uint64_t max_documents; /* likewise */
    int cut;                /* likewise -1 */
    uint64_t max_sample;    /* bytes of a sample to read; 0: the library's limit */
};

/* Nothing is requested. */
#define LENGTHS_ARGS_INIT \
    {                     \
        .cut = -1         \
    }

struct lengths_packing {
    uint64_t length;
    sluice_packing_report report;
};

struct lengths_found {
    char field[32]; /* "": nothing was measured */
    int32_t source; /* a sluice_lengths_source */
    bool measured;  /* false: `field` has tokens; measuring them was not requested, and is slow */
    uint64_t samples, empty, tokens, median, p99, longest;
    struct lengths_args args;
    uint32_t packings;
    struct lengths_packing packing[PACK_LENGTHS_MAX];
};

/* Returns true if any lengths are requested. */
bool lengths_are_asked(const struct lengths_args *args);
/* Measures. Returns the exit code; except for TOOL_FINE the reason was reported. */
int lengths_measure(const sluice_dataset *dataset, const struct lengths_args *args,
                    struct lengths_found *found);
void lengths_print(const struct lengths_found *found);
/* Writes an object "lengths"; nothing if nothing was measured. */
void lengths_write(struct json *json, const struct lengths_found *found);

#endif
