/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_make: small Arrow streams and files, put together from the specification; nothing of the
 * library's.
 *
 * Its rows are those of row_model.h, the first one of number `first`; "word" is of a dictionary.
 */
#ifndef SL_ARROW_MAKE_H
#define SL_ARROW_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arrow_options {
    unsigned first, batches, rows; /* rows of each batch, 64 at most */
    bool file;                     /* the file format, with a footer */
    bool legacy;                   /* streams: as before Arrow 0.15 */
} arrow_options;

/* Writes to `to`, which has ARROW_MAKE_BYTES a batch, and that once more; the size. */
#define ARROW_MAKE_BYTES ((size_t)64 << 10)
size_t arrow_make(uint8_t *to, const arrow_options *options);
/* A stream with one column of u64, "indices". */
size_t arrow_make_indices(uint8_t *to, const uint64_t *rows, unsigned count);

#endif
