/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_places: where the values are of a column that is read with each sample.
 *
 * Purpose: a row's value takes one read, and so do those pictures of its list that are wanted,
 * which are one behind the other. Instead of a place there may be a reason why there is none.
 * Threads: one adds those of a file, in the order of rows; then they are immutable. Ownership:
 * sl_arrow_places_close. Memory: 12 bytes a value, and 8 a row of lists.
 */
#ifndef SL_ARROW_PLACES_H
#define SL_ARROW_PLACES_H

#include "view.h"

#include <stdbool.h>

/* Instead of a value. */
typedef enum sl_arrow_lack {
    SL_ARROW_LACKS = 0, /* nothing is there */
    SL_ARROW_LACKS_WHOLE,
    SL_ARROW_LACKS_SHAPE,
    SL_ARROW_LACKS_PICTURE,
    SL_ARROW_LACK_COUNT
} sl_arrow_lack;

typedef struct sl_arrow_places {
    uint64_t count, capacity; /* of values */
    uint64_t *offsets;        /* of each in its file; UINT64_MAX less an sl_arrow_lack */
    uint32_t *bytes;          /* of it; UINT32_MAX: that, or more */
    bool lists;
    uint64_t rows, row_capacity; /* of lists */
    uint64_t *starts;            /* of each of them: its first value */
} sl_arrow_places;

/* Of all zero is fine. */
void sl_arrow_places_close(sl_arrow_places *places);
/* Of lists: the values from here on are the next row's. False: there is no memory. */
bool sl_arrow_places_begin(sl_arrow_places *places);
/* Adds a value, or why there is none. False: there is no memory. */
bool sl_arrow_places_put(sl_arrow_places *places, uint64_t offset, uint64_t bytes);
bool sl_arrow_places_lack(sl_arrow_places *places, sl_arrow_lack lack);

/* The bytes that a row's values are in, of lists from element `low` to `high`; 0 of them: there is
 * nothing to read. */
sl_extent sl_arrow_places_reach(const sl_arrow_places *places, uint64_t row, uint32_t low,
                                uint32_t high);
/* Whether an element of a row, 0 of what is no list, is there, and where; else what is the matter.
 */
bool sl_arrow_places_have(const sl_arrow_places *places, uint64_t row, uint32_t element,
                          sl_extent *value, sl_arrow_lack *lack);
/* Why a row is a bad sample; NULL: it is none. */
const char *sl_arrow_lack_text(sl_arrow_lack lack);

#endif
