/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_model: the rows of the tables that arrow_make and parquet_make write, and a check of a
 * dataset's samples against them.
 *
 * Row n: "image" is a structure of "bytes", n more than the table's base size, each n % 256 (absent
 * where n % 5 == 4), and "path"; "label" is the i64 n % 3 (absent where n % 7 == 6); "word" is
 * "odd" or "even"; "list" has n % 4 i32, all n; "pair" is a list of two f32, n and -n. Threads:
 * any.
 */
#ifndef SL_ROW_MODEL_H
#define SL_ROW_MODEL_H

#include <sluice/dataset.h>

#include <stdbool.h>
#include <stddef.h>

enum { ROW_IMAGE = 100 }; /* bytes of row 0's image unless specified */

static inline bool row_has_image(unsigned n)
{
    return n % 5 != 4;
}
static inline bool row_has_label(unsigned n)
{
    return n % 7 != 6;
}
static inline const char *row_word(unsigned n)
{
    return n % 2 != 0 ? "odd" : "even";
}

/* Fails the test unless sample `index` is row n of a table whose images have at least `image`
 * bytes. */
void row_check(const sluice_dataset *dataset, uint64_t index, unsigned n, unsigned image);

#endif
