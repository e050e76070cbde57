/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: reads protobuf's encoding, field by field.
 *
 * Purpose: the subset needed for messages of others: tf.train.Example, Caffe's Datum. A length
 * never extends beyond its enclosing bytes. Groups, which have been obsolete since 2008, and
 * varints of more than 10 bytes are errors. The caller interprets fields and skips unknown ones.
 * Threads: pure. No allocation, no recursion.
 */
#ifndef SL_WIRE_H
#define SL_WIRE_H

#include "view.h"

#include <stdbool.h>

typedef enum sl_wire_type {
    SL_WIRE_VARINT = 0,
    SL_WIRE_FIXED64 = 1,
    SL_WIRE_BYTES = 2, /* a string, a message, a packed list */
    SL_WIRE_FIXED32 = 5
} sl_wire_type;

/* The unread rest of a message. */
typedef struct sl_wire {
    const uint8_t *at, *end;
} sl_wire;

typedef struct sl_wire_field {
    uint32_t number;
    sl_wire_type type;
    uint64_t varint;
    sl_bytes bytes; /* for all other types */
} sl_wire_field;

static inline sl_wire sl_wire_of(sl_bytes message)
{
    return (sl_wire){message.data, message.size == 0 ? message.data : message.data + message.size};
}

/* Reads the next field. False: no more, or (`wire->at` is not the end but the location) damaged. */
bool sl_wire_next(sl_wire *wire, sl_wire_field *field);
/* Reads a varint. False: no more, or damaged. */
bool sl_wire_varint(sl_wire *wire, uint64_t *value);

static inline bool sl_wire_ended(const sl_wire *wire)
{
    return wire->at == wire->end;
}

#endif
