/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_index: locates the large values of a leaf, row by row.
 *
 * Purpose: reading a value takes one read. If values are stored in place (PLAIN, uncompressed), the
 * index knows their bytes, and only these are read. If pages are compressed, the page with the
 * value is read, or the dictionary's page. Opening steps from value to value, since each one's
 * location depends on the one before: it reads 4 bytes of each, in several threads, or everything
 * if values are small. For values of one size and for lists of numbers it reads only the levels.
 * For lists of images, the index has SLOTs: an element of a row's list, or an empty list; without
 * lists, slots are rows. The leaf of the elements' paths gives the slots of a row
 * (parquet_lists.h). Threads: several fill groups at once, each its own rows; then it is immutable.
 * Ownership: sl_parquet_index_close. Memory: 12 bytes per slot, 8 per row of lists, and 56 per
 * compressed page.
 */
#ifndef SL_PARQUET_INDEX_H
#define SL_PARQUET_INDEX_H

#include "parquet_page.h"
#include "parquet_side.h"

typedef enum sl_parquet_where {
    SL_PARQUET_EXACT,        /* cells: file offsets; sizes: bytes, or a constant below */
    SL_PARQUET_IN_PAGE,      /* cells: slot number relative to the page's first slot */
    SL_PARQUET_IN_DICTIONARY /* cells: numbers of values; sizes: 0, or NULL_SIZE */
} sl_parquet_where;

#define SL_PARQUET_NULL_SIZE UINT32_MAX       /* no value */
#define SL_PARQUET_HAS_NULL  (UINT32_MAX - 1) /* a list of numbers that contains a null */

/* Slots that are located in the same way. */
typedef struct sl_parquet_range {
    uint64_t first;  /* first slot */
    uint64_t offset; /* offset of the page */
    uint32_t bytes;  /* size of the page */
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
    uint32_t length_bytes; /* size of the length in front of each value */
    uint64_t *cells;       /* one per slot */
    uint32_t *sizes;
    uint64_t *starts; /* first slot of each row of lists, and the end; NULL: rows are slots */
    sl_parquet_ranges ranges; /* sorted by slot */
} sl_parquet_index;

/* Allocates `slots` for a leaf, and `rows` if they are lists of images. Errors: NOMEM. */
sluice_status sl_parquet_index_open(sl_parquet_index *index, const sl_parquet_leaf *leaf,
                                    uint64_t slots, uint64_t rows, sluice_error *error);
/* Releases `index`, which may be zeroed. */
void sl_parquet_index_close(sl_parquet_index *index);

/*
 * Finds the slots of a row group, starting at place->first. Adds ranges to `found`, which is zeroed
 * before; the caller frees it. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
sluice_status sl_parquet_index_fill(sl_parquet_index *index, const sl_parquet_place *place,
                                    uint32_t leaf, sl_parquet_ranges *found, sluice_error *error);
/*
 * Determines whether each value of a leaf in a row group is a separate byte range of the file:
 * PLAIN, uncompressed, and no list of numbers crosses a page boundary. Reads the page headers of an
 * uncompressed chunk. Errors: IO, CORRUPT, UNSUPPORTED, NOMEM.
 */
sluice_status sl_parquet_index_is_exact(const sl_parquet_place *place, uint32_t leaf, bool *exact,
                                        sluice_error *error);
/* Adds the found ranges, in slot order. Errors: NOMEM. */
sluice_status sl_parquet_index_add(sl_parquet_index *index, const sl_parquet_ranges *found,
                                   sluice_error *error);
static inline bool sl_parquet_index_has(const sl_parquet_index *index, uint64_t slot)
{
    return index->sizes[slot] < SL_PARQUET_HAS_NULL;
}

/* Returns the number of a slot's range. */
uint32_t sl_parquet_index_find(const sl_parquet_index *index, uint64_t slot);

#endif
