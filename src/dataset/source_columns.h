/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_columns: from the columns that files have, named and typed, to the fields of a dataset.
 *
 * Purpose: what a column is called as a field, and which columns are wanted, by one rule for all
 * formats that have columns:
 * - without choices each column is a field, called by its name. The only image is called "image"
 *   where no column is; the int "class", "cls", "fine_label", "target", "labels" or "y", the first
 *   of them that there is, "label" where no column is. Of a name that is too long the end is taken;
 *   signs that no field's name may have become '_';
 * - with sluice_dataset_options.fields the dataset has those. A type that is given has to be the
 *   column's, or be made of its bytes as they are: image, text, bytes, or a tensor.
 * Columns that cannot be a field (`refused`) are an error unless the choices leave them out, or say
 * of which type they are where that settles it (`typed`).
 * Threads: pure.
 */
#ifndef SL_SOURCE_COLUMNS_H
#define SL_SOURCE_COLUMNS_H

#include "error.h"
#include "value.h"

#define SL_SOURCE_NAME_BYTES  256U
#define SL_SOURCE_COLUMNS_MAX 1024U

typedef struct sl_source_column {
    char name[SL_SOURCE_NAME_BYTES];
    sl_field field;      /* what it is as a field; its name is not looked at, and its meaning is of
                            a column (field.meaning.of), which may get another name as a field */
    const char *refused; /* literal, what it holds and what to do: "pickled objects, which ..." */
    bool typed;          /* it is `refused` only while no type is chosen */
    bool asked;          /* it is a field only where it is chosen; with `refused`: it cannot be one,
                            and `refused` is what it holds: "lists of texts" */
} sl_source_column;

typedef struct sl_source_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    uint32_t column[SL_FIELDS_MAX]; /* that each is of */
} sl_source_fields;

/* `path` is named in errors: INVALID (a choice that does not fit, a name twice), UNSUPPORTED (a
 * column that is refused, more than 64). */
sluice_status sl_source_fields_find(sl_source_fields *fields, const sl_source_column *columns,
                                    uint32_t count, const sluice_dataset_options *options,
                                    const char *path, sluice_error *error);

/* Whether the choices have the column `name`, or there are none. */
bool sl_source_chosen(const char *name, const sluice_dataset_options *options);
/* Whether the choices are of an element of the list `name`, "name.0", ..., or there are none. */
bool sl_source_element_chosen(const char *name, const sluice_dataset_options *options);

/*
 * A value of `field` from the bytes of one that the format has as bytes, text or image: spans and
 * the shape, which for tensors follows from the size. The value's `bytes` and `offset` are filled
 * in before. Refuses what is not a multiple of the element size.
 */
sl_refusal sl_source_value(const sl_field *field, sl_value *value);

#endif
