/* SPDX-License-Identifier: Apache-2.0 */
/*
 * datum: Caffe's Datum, a picture and its label.
 *
 * Purpose: the one place that knows the message (caffe.proto): channels = 1, height = 2, width = 3,
 * data = 4, label = 5, float_data = 6, encoded = 7. `data` is a picture's file, or u8 pixels, plane
 * by plane, of colours blue, green, red. Threads: pure. No allocation.
 */
#ifndef SL_DATUM_H
#define SL_DATUM_H

#include "error.h"
#include "view.h"

#include <stdbool.h>

typedef struct sl_datum {
    uint64_t shape[3]; /* channels, height, width; 0: not said */
    sl_bytes data;     /* of no bytes: none */
    bool labelled;
    int64_t label; /* 0 unless labelled, as protobuf has it */
    bool floats;   /* it has float_data */
    bool encoded;  /* it says so, or `data` is a picture's file by its first bytes and not what its
                      shape says */
    bool pixels;   /* `data` has as many bytes as its shape says */
    bool strange;  /* it has fields that a Datum has not */
} sl_datum;

/* Refuses what is no sound message. */
sl_refusal sl_datum_parse(sl_datum *datum, sl_bytes message);
/* Whether bytes are one, as far as that can be told: a sound message of its fields alone, which
 * holds a picture, pixels, or floats. */
bool sl_is_datum(sl_bytes bytes);

#endif
