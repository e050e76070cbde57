/* SPDX-License-Identifier: Apache-2.0 */
/* values: the data of a row besides images, as text. Pure. */
#ifndef TOOL_VALUES_H
#define TOOL_VALUES_H

#include <sluice/loader.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct values_source {
    const char *column;
    bool is_text;   /* bytes to be shown as letters */
    bool is_padded; /* only the number given by COLUMN.lengths */
    bool is_drawn;  /* drawn over an image, so not needed as text there */
    bool in_legend; /* of boxes: likewise on a page */
};

/* Takes the column's array in a batch of one row, and the number of its elements in the row. */
sluice_status values_take(const sluice_batch *batch, const struct values_source *source,
                          sluice_tensor *tensor, uint64_t *count);
/* Returns element `i` of an array in host memory; whole numbers above 2^53 are rounded. */
double values_number(const sluice_tensor *tensor, uint64_t i);

/* Writes the values of a batch of one row in host memory: "1 2 3", or the text itself, cut to
 * the space. */
sluice_status values_describe(const sluice_batch *batch, const struct values_source *source,
                              char *text, size_t bytes);

#endif
