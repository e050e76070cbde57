/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_array: a batch's array for one column, row by row.
 *
 * Purpose: locates a row's value through the structures and lists around it. Reads validity and
 * offsets, and the values themselves on request. Offsets are checked when a row is requested.
 * Compressed buffers are unpacked. Threads: one owner. Ownership: sl_arrow_array_close. Memory: the
 * buffers that are read.
 */
#ifndef SL_ARROW_ARRAY_H
#define SL_ARROW_ARRAY_H

#include "arrow_reader.h"
#include "frame.h"
#include "value.h"

/* Structures, then lists, down to the values. */
#define SL_ARROW_STRUCTS_MAX 6U
#define SL_ARROW_LEVELS_MAX  (SL_ARROW_STRUCTS_MAX + SLUICE_TENSOR_DIMS_MAX + 1U)

/* The path from a column's node to that of its values. */
typedef struct sl_arrow_chain {
    uint32_t count;
    uint32_t nodes[SL_ARROW_LEVELS_MAX];
    uint64_t
        items[SL_ARROW_LEVELS_MAX]; /* number of items of each list on that level; 0: variable */
} sl_arrow_chain;

/* A batch and its location. */
typedef struct sl_arrow_body {
    sl_arrow_reader *reader;
    const sl_arrow_schema *schema;
    const sl_arrow_batch *batch;
    uint64_t at;     /* file offset */
    sl_frame *frame; /* for compressed batches */
} sl_arrow_body;

typedef struct sl_arrow_level {
    const sl_arrow_node *node;
    uint64_t length;
    uint64_t items;    /* as in the chain */
    uint8_t *validity; /* NULL: all values are present */
    uint8_t *offsets;
} sl_arrow_level;

typedef struct sl_arrow_data {
    uint8_t *bytes; /* NULL: not read */
    uint64_t at;    /* file offset, if not compressed */
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
    SL_ARROW_HAS_NULL,   /* a list that contains a null */
    SL_ARROW_OTHER_SHAPE /* a list with a different number of elements */
} sl_arrow_state;

typedef struct sl_arrow_span {
    sl_arrow_state state;
    uint32_t data; /* number of the buffer */
    uint64_t offset, bytes;
    uint64_t item; /* number of its first value in the array */
} sl_arrow_span;

/*
 * Opens the array of a column. `with_data`: reads the values too. Errors: those of reading;
 * CORRUPT; NOMEM. Closed on failure.
 */
sluice_status sl_arrow_array_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, bool with_data, sluice_error *error);
/* Opens the array of a dictionary, whose values have the type of `node`. */
sluice_status sl_arrow_words_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_node *node, sluice_error *error);
/* Releases `array`, which may be zeroed. */
void sl_arrow_array_close(sl_arrow_array *array);

/* Opens the levels down to a list whose elements are in another array. Errors: as above. */
sluice_status sl_arrow_lists_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, sluice_error *error);
/*
 * Returns the elements of a row's list, `*begin` to before `*end`; empty if there is no list. Fails
 * for invalid offsets.
 */
sl_refusal sl_arrow_lists_row(const sl_arrow_array *array, uint64_t row, uint64_t *begin,
                              uint64_t *end);

/* Locates a row's value. Fails for invalid offsets; the column is then damaged. */
sl_refusal sl_arrow_array_row(const sl_arrow_array *array, uint64_t row, sl_arrow_span *span);
/*
 * Reads value `item` of a number array as `integer` or `number`. False: an integer above 2^63 - 1.
 */
bool sl_arrow_array_number(const sl_arrow_array *array, uint64_t item, sl_value *value);

#endif
