/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_values: what the values of an LMDB dataset are, and what a sample has of them.
 *
 * Purpose: LMDB knows bytes only, so that some values are looked at, and what comes later is held
 * against that. Values are one of: Caffe's Datums of pictures (columns image, label) or of pixels
 * (data, label), pictures (image), text (data), other bytes (data). Pickled values are refused:
 * loading them would run what they say. A few that look like it are, too, unless a type is chosen.
 * Text recognition has the column label besides, which is not
 * in the value. Threads: looked at by one; the rest is pure and does not allocate.
 */
#ifndef SL_LMDB_VALUES_H
#define SL_LMDB_VALUES_H

#include "datum.h"
#include "source_columns.h"

/* What a column is made of. */
typedef enum sl_lmdb_part {
    SL_LMDB_VALUE,        /* all of the value */
    SL_LMDB_DATUM_FILE,   /* the Datum's picture */
    SL_LMDB_DATUM_PIXELS, /* its pixels: a tensor of channels, height and width */
    SL_LMDB_DATUM_LABEL,
    SL_LMDB_LABEL /* kept beside the file */
} sl_lmdb_part;

/* What was seen, of values that are not empty. Of all zero: nothing. */
typedef struct sl_lmdb_look {
    uint32_t values, pictures, texts, datums, pickles;
    uint32_t files, floats, labels; /* of Datums */
    uint64_t shape[3];              /* of the Datums that are pixels; 0: they differ */
    bool shaped;
} sl_lmdb_look;

void sl_lmdb_look_at(sl_lmdb_look *look, sl_bytes value);

#define SL_LMDB_COLUMNS_MAX 2U

typedef struct sl_lmdb_columns {
    uint32_t count;
    sl_source_column of[SL_LMDB_COLUMNS_MAX];
    sl_lmdb_part parts[SL_LMDB_COLUMNS_MAX];
    const char *words; /* for people: what the values are */
} sl_lmdb_columns;

/* What the values are by what was seen. `label`: of text recognition; NULL: it is not that. */
void sl_lmdb_columns_make(sl_lmdb_columns *columns, const sl_lmdb_look *look,
                          const sl_field *label);

/*
 * A Datum's part as a value of `field`, but for its `offset`. Refuses what is not as the ones that
 * were looked at.
 */
sl_refusal sl_lmdb_datum_value(const sl_datum *datum, sl_lmdb_part part, const sl_field *field,
                               sl_value *value);

#endif
