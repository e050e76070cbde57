/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_make: builds small Arrow streams and files from the specification, without library code.
 *
 * The rows are those of row_model.h, starting with row `first`; "word" is dictionary-encoded.
 */
#ifndef SL_ARROW_MAKE_H
#define SL_ARROW_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arrow_options {
    unsigned first, batches, rows; /* rows per batch, at most 64 */
    bool file;                     /* the file format, with a footer */
    bool legacy;                   /* streams: the format before Arrow 0.15 */
} arrow_options;

/* Writes to `to`, which holds ARROW_MAKE_BYTES per batch and as much again. Returns the size. */
#define ARROW_MAKE_BYTES ((size_t)64 << 10)
size_t arrow_make(uint8_t *to, const arrow_options *options);
/* Writes a stream with one u64 column, "indices". */
size_t arrow_make_indices(uint8_t *to, const uint64_t *rows, unsigned count);

#endif
