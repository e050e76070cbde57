/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_index: where the large values of a leaf are, row by row.
 *
 * Purpose: a value takes one read. Where values are stored as they are (PLAIN, not compressed),
 * that reads just its bytes: the index knows them. Where pages are compressed it reads the page
 * that the value is in, or the dictionary's. Opening goes from value to value, since only the value
 * before tells where the next one is: 4 bytes are read of each, by several threads, or all where
 * values are small. Of values of one size, and of lists of numbers, it reads the levels alone.
 * Lists of pictures: what is found is a SLOT, an element of a row's list, or that it has none;
 * without lists slots are rows. Which slots a row has the leaf of the elements' paths tells
 * (parquet_lists.h). Threads: groups are filled by several threads at once, each its own rows; then
 * it is immutable. Ownership: sl_parquet_index_close. Memory: 12 bytes a slot, 8 a row of lists,
 * and 56 for each page that is compressed.
 */
#ifndef SL_PARQUET_INDEX_H
#define SL_PARQUET_INDEX_H

#include "parquet_page.h"
#include "parquet_side.h"

typedef enum sl_parquet_where {
    SL_PARQUET_EXACT,        /* cells: offsets in the file; sizes: bytes, or one of those below */
    SL_PARQUET_IN_PAGE,      /* the slot counts from the page's first */
    SL_PARQUET_IN_DICTIONARY /* cells: numbers of values; sizes: 0, or NULL_SIZE */
} sl_parquet_where;

#define SL_PARQUET_NULL_SIZE UINT32_MAX       /* there is no value */
#define SL_PARQUET_HAS_NULL  (UINT32_MAX - 1) /* it is a list of numbers that holds a null */

/* Slots that are found in the same way. */
typedef struct sl_parquet_range {
    uint64_t first;  /* slot */
    uint64_t offset; /* of the page */
    uint32_t bytes;  /* of it */
    uint32_t file;
    uint8_t where; /* an sl_parquet_where */
    sl_page_pick pick;
} sl_parquet_range;

typedef struct sl_parquet_ranges {
    sl_parquet_range *of;
    uint32_t count, capacity;
} sl_parquet_ranges;

typedef struct sl_parquet_index {
    uint64_t slots;
    uint32_t length_bytes; /* in front of each value: its length */
    uint64_t *cells;       /* of each slot */
    uint32_t *sizes;
    uint64_t *starts; /* of each row of lists, and behind the last: its first slot; NULL: rows are
                         slots */
    sl_parquet_ranges ranges; /* in the order of slots */
} sl_parquet_index;

/* Space for `slots` of a leaf, and for `rows` of lists of pictures, if they are. Errors: NOMEM. */
sluice_status sl_parquet_index_open(sl_parquet_index *index, const sl_parquet_leaf *leaf,
                                    uint64_t slots, uint64_t rows, sluice_error *error);
/* Of all zero is fine. */
void sl_parquet_index_close(sl_parquet_index *index);

/*
 * Finds the slots of a row group, from place->first on. Ranges go to `found`, all zero before,
 * the caller's to free. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
sluice_status sl_parquet_index_fill(sl_parquet_index *index, const sl_parquet_place *place,
                                    uint32_t leaf, sl_parquet_ranges *found, sluice_error *error);
/*
 * Whether all values of a leaf in a row group are bytes of the file, each by itself: PLAIN, not
 * compressed, and of lists of numbers none begins in another page than it ends. Reads the headers
 * of pages, of a chunk that is not compressed. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
sluice_status sl_parquet_index_is_exact(const sl_parquet_place *place, uint32_t leaf, bool *exact,
                                        sluice_error *error);
/* Adds what was found, in the order of slots. Errors: NOMEM. */
sluice_status sl_parquet_index_add(sl_parquet_index *index, const sl_parquet_ranges *found,
                                   sluice_error *error);
static inline bool sl_parquet_index_has(const sl_parquet_index *index, uint64_t slot)
{
    return index->sizes[slot] < SL_PARQUET_HAS_NULL;
}

/* Number of the range that a slot is in. */
uint32_t sl_parquet_index_find(const sl_parquet_index *index, uint64_t slot);

#endif
