/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datum: parses Caffe's Datum, an image and its label.
 *
 * Purpose: the only code that knows the message (caffe.proto): channels = 1, height = 2, width = 3,
 * data = 4, label = 5, float_data = 6, encoded = 7. `data` is an image file, or u8 pixels in planes
 * of blue, green and red. Threads: pure. No allocation.
 */
#ifndef SL_DATUM_H
#define SL_DATUM_H

#include "error.h"
#include "view.h"

#include <stdbool.h>

typedef struct sl_datum {
    uint64_t shape[3]; /* channels, height, width; 0: not given */
    sl_bytes data;     /* empty: none */
    bool labelled;
    int64_t label; /* 0 if not given, as in protobuf */
    bool floats;   /* true if it has float_data */
    bool encoded;  /* true if it says so, or if `data` begins like an image file and does not match
                      its shape */
    bool pixels;   /* true if the size of `data` matches its shape */
    bool strange;  /* true if it has fields that a Datum lacks */
} sl_datum;

/* Parses a message; rejects an invalid one. */
sl_refusal sl_datum_parse(sl_datum *datum, sl_bytes message);
/*
 * Returns whether bytes are probably a Datum: a valid message of its fields only, with an image,
 * pixels, or floats.
 */
bool sl_is_datum(sl_bytes bytes);

#endif
