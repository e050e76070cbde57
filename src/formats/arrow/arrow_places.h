/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_places: the locations of values in a column that is read with each sample.
 *
 * Purpose: a row's value takes one read, and so do the wanted images of its list, which are
 * adjacent. A location may be replaced by a reason why there is none. Threads: one adds those of a
 * file, in row order; then they are immutable. Ownership: sl_arrow_places_close. Memory: 12 bytes
 * per value, and 8 per row of lists.
 */
#ifndef SL_ARROW_PLACES_H
#define SL_ARROW_PLACES_H

#include "view.h"

#include <stdbool.h>

/* A reason in place of a value. */
typedef enum sl_arrow_lack {
    SL_ARROW_LACKS = 0, /* missing */
    SL_ARROW_LACKS_WHOLE,
    SL_ARROW_LACKS_SHAPE,
    SL_ARROW_LACKS_PICTURE,
    SL_ARROW_LACK_COUNT
} sl_arrow_lack;

typedef struct sl_arrow_places {
    uint64_t count, capacity; /* number of values */
    uint64_t *offsets;        /* file offset of each; UINT64_MAX minus an sl_arrow_lack */
    uint32_t *bytes;          /* size of each; UINT32_MAX: that, or more */
    bool lists;
    uint64_t rows, row_capacity; /* for lists */
    uint64_t *starts;            /* for lists: first value of each row */
} sl_arrow_places;

/* Releases `places`, which may be zeroed. */
void sl_arrow_places_close(sl_arrow_places *places);
/* Begins the next row of lists. False: no memory. */
bool sl_arrow_places_begin(sl_arrow_places *places);
/* Adds a value, or the reason why there is none. False: no memory. */
bool sl_arrow_places_put(sl_arrow_places *places, uint64_t offset, uint64_t bytes);
bool sl_arrow_places_lack(sl_arrow_places *places, sl_arrow_lack lack);

/*
 * Returns the extent of a row's values; for lists, of elements `low` to `high`. Size 0: nothing to
 * read.
 */
sl_extent sl_arrow_places_reach(const sl_arrow_places *places, uint64_t row, uint32_t low,
                                uint32_t high);
/*
 * Returns whether an element of a row (0 if it is not a list) is present, and its extent; otherwise
 * the reason.
 */
bool sl_arrow_places_have(const sl_arrow_places *places, uint64_t row, uint32_t element,
                          sl_extent *value, sl_arrow_lack *lack);
/* Returns why a row is a bad sample; NULL: it is not. */
const char *sl_arrow_lack_text(sl_arrow_lack lack);

#endif
