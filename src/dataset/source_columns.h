/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_columns: turns the named and typed columns of files into the fields of a dataset.
 *
 * Purpose: one rule selects and names columns for all formats that have columns:
 * - Without choices, each column is a field with the column's name. The only image is renamed to
 *   "image" if no column has that name; the first existing int of "class", "cls", "fine_label",
 *   "target", "labels" and "y" becomes "label" if no column has that name. Of a name that is too
 *   long, the end is kept; characters that are not allowed in field names become '_'.
 * - With sluice_dataset_options.fields, the dataset has these fields. A given type must be the
 *   column's, or be a view of its unconverted bytes: image, text, bytes, or a tensor.
 * Columns that cannot be a field (`refused`) are an error unless the choices leave them out, or
 * give a type that resolves it (`typed`).
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
    sl_field field;      /* its field; the name is ignored, and its meaning refers to a column
                            (field.meaning.of), whose field may have another name */
    const char *refused; /* literal: its contents and what to do: "pickled objects, which ..." */
    bool typed;          /* true if it is `refused` only without a chosen type */
    bool asked; /* true if it is a field only if chosen; with `refused`: it cannot be one, and
                   `refused` is its contents: "lists of texts" */
} sl_source_column;

typedef struct sl_source_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    uint32_t column[SL_FIELDS_MAX]; /* column of each field */
} sl_source_fields;

/*
 * Finds the fields. Errors name `path`: INVALID (an unsuitable choice, a duplicate name),
 * UNSUPPORTED (a refused column, more than 64).
 */
sluice_status sl_source_fields_find(sl_source_fields *fields, const sl_source_column *columns,
                                    uint32_t count, const sluice_dataset_options *options,
                                    const char *path, sluice_error *error);

/* Returns whether column `name` is chosen, or there are no choices. */
bool sl_source_chosen(const char *name, const sluice_dataset_options *options);
/*
 * Returns whether an element of the list `name`, "name.0", ..., is chosen, or there are no choices.
 */
bool sl_source_element_chosen(const char *name, const sluice_dataset_options *options);

/*
 * Makes a value of `field` from bytes that the format has as bytes, text or image: sets spans and
 * the shape, which for tensors follows from the size. The caller sets `bytes` and `offset` first.
 * Rejects a size that is not a multiple of the element size.
 */
sl_refusal sl_source_value(const sl_field *field, sl_value *value);

#endif
