/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_values: determines the kind of values in an LMDB dataset, and reads a sample's values.
 *
 * Purpose: LMDB stores plain bytes, so opening looks at some values, and later ones must match
 * them. Values are one of: Caffe Datums of images (columns image, label) or of pixels (data,
 * label), images (image), text (data), other bytes (data). Pickled values are rejected, since
 * loading them would run their code; so are values that only look pickled, unless a type is chosen.
 * Text recognition also has the column label, which is not in the value. Threads: looked at by one;
 * the rest is pure and does not allocate.
 */
#ifndef SL_LMDB_VALUES_H
#define SL_LMDB_VALUES_H

#include "datum.h"
#include "source_columns.h"

/* Source of a column. */
typedef enum sl_lmdb_part {
    SL_LMDB_VALUE,        /* the whole value */
    SL_LMDB_DATUM_FILE,   /* the Datum's image */
    SL_LMDB_DATUM_PIXELS, /* the Datum's pixels: a tensor of channels, height and width */
    SL_LMDB_DATUM_LABEL,
    SL_LMDB_LABEL /* kept beside the file */
} sl_lmdb_part;

/* Counts over the non-empty values looked at; zeroed: none. */
typedef struct sl_lmdb_look {
    uint32_t values, pictures, texts, datums, pickles;
    uint32_t files, floats, labels; /* counts over Datums */
    uint64_t shape[3];              /* shape of Datums with pixels; 0: differs */
    bool shaped;
} sl_lmdb_look;

void sl_lmdb_look_at(sl_lmdb_look *look, sl_bytes value);

#define SL_LMDB_COLUMNS_MAX 2U

typedef struct sl_lmdb_columns {
    uint32_t count;
    sl_source_column of[SL_LMDB_COLUMNS_MAX];
    sl_lmdb_part parts[SL_LMDB_COLUMNS_MAX];
    const char *words; /* description of the values, for users */
} sl_lmdb_columns;

/*
 * Determines the columns from the values seen. `label`: of text recognition; NULL: not text
 * recognition.
 */
void sl_lmdb_columns_make(sl_lmdb_columns *columns, const sl_lmdb_look *look,
                          const sl_field *label);

/*
 * Makes a value of `field` from a part of a Datum, except for its `offset`. Rejects a Datum unlike
 * those looked at.
 */
sl_refusal sl_lmdb_datum_value(const sl_datum *datum, sl_lmdb_part part, const sl_field *field,
                               sl_value *value);

#endif
