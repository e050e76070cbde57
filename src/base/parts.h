/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts: the arrays of a batch. Plain data: the columns write by it, staging lays it out and copies
 * it, the consumer reads by it, and none knows the others.
 *
 * A PART is one array of a batch. A column has one or more: for example the values of a ragged one
 * and their offsets.
 *
 * A part whose length differs from batch to batch has a number, `ragged`, by which its size goes
 * along with the batch: of RAGGED its elements, of SIZED the height and width of its rows
 * (sl_sized), which have no space between them, even if row_bytes reserves more for the largest.
 */
#ifndef SL_PARTS_H
#define SL_PARTS_H

#include <sluice/common.h>

#include <stdbool.h>

#define SL_PARTS_MAX       256U
#define SL_PART_NAME_BYTES 64U
/* Parts whose length differs from batch to batch. */
#define SL_RAGGED_MAX 16U

typedef enum sl_part_role {
    SL_PART_ROWS = 0, /* rows x shape */
    SL_PART_RAGGED,   /* elements, as many as the batch has: with space for row_bytes a row */
    SL_PART_OFFSETS,  /* rows + 1 */
    SL_PART_HIDDEN,   /* rows x row_bytes for conversions only */
    SL_PART_LOCAL,    /* rows x row_bytes for workers only: copied nowhere */
    SL_PART_SIZED     /* rows x shape, whose two zeros are the batch's height and width */
} sl_part_role;

typedef struct sl_part {
    char name[SL_PART_NAME_BYTES];
    sl_part_role role;
    sluice_dtype dtype; /* as the consumer sees it */
    uint32_t dims;      /* of one row */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint64_t row_bytes; /* of one row as written */
    uint32_t ragged;    /* RAGGED, SIZED: its number among those of the batch */
    /* RAGGED: of one element, of `shape`; SIZED: of one pixel, as written */
    uint64_t element_bytes;
    bool converted; /* a device converts the written bytes for the consumer */
} sl_part;

/* Returns whether the consumer gets it. */
static inline bool sl_part_is_shown(const sl_part *part)
{
    return part->role != SL_PART_HIDDEN && part->role != SL_PART_LOCAL;
}

/* The arrays of one slot, by number of the part. */
typedef uint8_t *const *sl_part_view;

/* Returns the bytes of `elements` elements of a ragged part: each is a `shape`. */
static inline uint64_t sl_part_used(const sl_part *part, uint64_t elements)
{
    return elements * part->element_bytes;
}

/* Returns the size of a SIZED part. */
static inline uint64_t sl_sized(uint32_t height, uint32_t width)
{
    return (uint64_t)height << 32 | width;
}

static inline uint32_t sl_sized_height(uint64_t size)
{
    return (uint32_t)(size >> 32);
}

static inline uint32_t sl_sized_width(uint64_t size)
{
    return (uint32_t)size;
}

/* Returns the bytes of one of its rows. */
static inline uint64_t sl_sized_row(const sl_part *part, uint64_t size)
{
    return part->element_bytes * sl_sized_height(size) * sl_sized_width(size);
}

/* Returns the bytes of an array of `rows` rows as written. */
static inline uint64_t sl_part_bytes(const sl_part *part, uint64_t rows)
{
    return part->row_bytes * (part->role == SL_PART_OFFSETS ? rows + 1 : rows);
}

#endif
