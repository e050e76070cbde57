/* SPDX-License-Identifier: Apache-2.0 */
/* values: what a row holds besides pictures, as text. Pure. */
#ifndef TOOL_VALUES_H
#define TOOL_VALUES_H

#include <sluice/loader.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct values_source {
    const char *column;
    bool is_text;   /* bytes that are to be read as letters */
    bool is_padded; /* only as many as COLUMN.lengths says */
    bool is_drawn;  /* over a picture, and need not be read there */
    bool in_legend; /* of boxes: likewise on a page */
};

/* The column's array in a batch of one row, and how many elements of it are the row's. */
sluice_status values_take(const sluice_batch *batch, const struct values_source *source,
                          sluice_tensor *tensor, uint64_t *count);
/* Element `i` of an array in host memory; whole numbers above 2^53 are rounded. */
double values_number(const sluice_tensor *tensor, uint64_t i);

/* The values of a batch of one row in host memory: "1 2 3", or the text itself; what does not fit
 * is cut off. */
sluice_status values_describe(const sluice_batch *batch, const struct values_source *source,
                              char *text, size_t bytes);

#endif
