/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements: columns of elements of a dtype: how many a row has, casts, and tensors of a sample.
 *
 * Threads: pure functions, or over the worker's row. Memory: the decoder's scratch, which is reset
 * only by the functions that say so.
 */
#ifndef SL_ELEMENTS_H
#define SL_ELEMENTS_H

#include "row.h"

#define SL_ROW_ELEMENTS_MAX (UINT64_C(1) << 40)

/* Once: finds the cast from the field's dtype to the requested one. */
sluice_status sl_column_elements(sl_column *column, sluice_error *error);
/* Once: multiplies a shape, SL_ROW_ELEMENTS_MAX at most. */
sluice_status sl_column_capacity(const sl_column *column, const int64_t *shape, uint32_t dims,
                                 uint64_t *elements, sluice_error *error);
/* As sl_column_bytes, for a tensor. CORRUPT: its bytes do not have its shape's size. Other fields
 * are tensors of bytes. */
sluice_status sl_column_tensor_bytes(const sl_column *column, sl_row *row, uint64_t *elements,
                                     sl_bytes *bytes, sluice_error *error);
/* Writes elements. UNSUPPORTED: one does not fit the dtype. */
sluice_status sl_column_cast(const sl_column *column, void *to, const uint8_t *from,
                             uint64_t elements, sluice_error *error);
/* Writes `number` as an element of that dtype; false: it is not one. */
bool sl_column_element(sluice_dtype dtype, double number, uint8_t to[8]);
/* True if a field beside the column's is a tensor [any] of ints. */
bool sl_beside_is_ints(const sl_beside *beside);
/* Reads these, one for each of `count` `things`, to scratch that is not reset. CORRUPT: there are
 * not as many. Blames the field. */
sluice_status sl_row_ints(sl_row *row, const sl_beside *beside, uint64_t count, const char *things,
                          const int64_t **ints, sluice_error *error);

#endif
