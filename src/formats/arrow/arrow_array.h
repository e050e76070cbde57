/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_array: the array that a batch has of a column, row by row.
 *
 * Purpose: where a row's value is, through the structures and lists around it. What says so
 * (which values are there, offsets) is read; the values themselves where they are wanted. All that
 * offsets say is checked when a row is asked for. Buffers that are compressed are unpacked.
 * Threads: one owner. Ownership: sl_arrow_array_close. Memory: the buffers that are read.
 */
#ifndef SL_ARROW_ARRAY_H
#define SL_ARROW_ARRAY_H

#include "arrow_reader.h"
#include "frame.h"
#include "value.h"

/* Structures, then lists, down to the values. */
#define SL_ARROW_STRUCTS_MAX 6U
#define SL_ARROW_LEVELS_MAX  (SL_ARROW_STRUCTS_MAX + SLUICE_TENSOR_DIMS_MAX + 1U)

/* From a column's node to that of its values. */
typedef struct sl_arrow_chain {
    uint32_t count;
    uint32_t nodes[SL_ARROW_LEVELS_MAX];
    uint64_t items[SL_ARROW_LEVELS_MAX]; /* of each list on that level; 0: any number */
} sl_arrow_chain;

/* A batch, and where it is read from. */
typedef struct sl_arrow_body {
    sl_arrow_reader *reader;
    const sl_arrow_schema *schema;
    const sl_arrow_batch *batch;
    uint64_t at;     /* in the file */
    sl_frame *frame; /* where batches are compressed */
} sl_arrow_body;

typedef struct sl_arrow_level {
    const sl_arrow_node *node;
    uint64_t length;
    uint64_t items;    /* as in the chain */
    uint8_t *validity; /* NULL: all are there */
    uint8_t *offsets;
} sl_arrow_level;

typedef struct sl_arrow_data {
    uint8_t *bytes; /* NULL: it was not read */
    uint64_t at;    /* in the file, where it is not compressed */
    uint64_t size;
} sl_arrow_data;

typedef struct sl_arrow_array {
    uint64_t rows;
    uint32_t level_count;
    sl_arrow_level levels[SL_ARROW_LEVELS_MAX];
    sl_arrow_data *data;
    uint32_t data_count;
} sl_arrow_array;

typedef enum sl_arrow_state {
    SL_ARROW_ABSENT = 0,
    SL_ARROW_PRESENT,
    SL_ARROW_HAS_NULL,   /* a list with a null in it */
    SL_ARROW_OTHER_SHAPE /* a list with another number of elements than all have */
} sl_arrow_state;

typedef struct sl_arrow_span {
    sl_arrow_state state;
    uint32_t data; /* number of the buffer that it is in */
    uint64_t offset, bytes;
    uint64_t item; /* number of its first value among those of the array */
} sl_arrow_span;

/* `with_data`: the values are read, too. Errors: those of reading; CORRUPT; NOMEM. On failure it is
 * closed. */
sluice_status sl_arrow_array_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, bool with_data, sluice_error *error);
/* The array of a dictionary, whose values are as those of `node`. */
sluice_status sl_arrow_words_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_node *node, sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_array_close(sl_arrow_array *array);

/* The levels down to a list, whose elements are those of another array. Errors: as above. */
sluice_status sl_arrow_lists_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, sluice_error *error);
/* Elements of a row's list, from `*begin` to before `*end`: none, where there is no list. Refused:
 * offsets that do not fit. */
sl_refusal sl_arrow_lists_row(const sl_arrow_array *array, uint64_t row, uint64_t *begin,
                              uint64_t *end);

/* Refused: offsets that do not fit; the column is damaged. */
sl_refusal sl_arrow_array_row(const sl_arrow_array *array, uint64_t row, sl_arrow_span *span);
/* Value number `item` of an array of numbers that was read: `integer` or `number`. False: it is an
 * integer above 2^63 - 1. */
bool sl_arrow_array_number(const sl_arrow_array *array, uint64_t item, sl_value *value);

#endif
