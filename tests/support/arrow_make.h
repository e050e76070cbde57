/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_make: small Arrow streams and files, put together from the specification; nothing of the
 * library's.
 *
 * Row i of a file that begins with row `first`, with n = first + i: "image" is a structure of
 * "bytes", 100 + n of them, each n % 256 (absent where n % 5 == 4), and "path"; "label" is the i64
 * n % 3 (absent where n % 7 == 6); "word" is "odd" or "even", of a dictionary; "list" has n % 4
 * i32, all n; "pair" is a list of two f32, n and -n.
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
