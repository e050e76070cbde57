/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: protobuf's encoding, field by field.
 *
 * Purpose: just what is needed of it to read messages that others wrote: tf.train.Example, Caffe's
 * Datum. A length never reaches beyond the bytes it stands in; groups, which nothing has used since
 * 2008, and varints of more than 10 bytes are refused. What a field means is up to the caller:
 * unknown ones are stepped over. Threads: pure. No allocation, no recursion.
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

/* What is left of a message. */
typedef struct sl_wire {
    const uint8_t *at, *end;
} sl_wire;

typedef struct sl_wire_field {
    uint32_t number;
    sl_wire_type type;
    uint64_t varint;
    sl_bytes bytes; /* of all other types */
} sl_wire_field;

static inline sl_wire sl_wire_of(sl_bytes message)
{
    return (sl_wire){message.data, message.size == 0 ? message.data : message.data + message.size};
}

/* The next field. False: there is none, or (`wire->at` is not its end, but where) it is damaged. */
bool sl_wire_next(sl_wire *wire, sl_wire_field *field);
/* False: there is none, or it is damaged. */
bool sl_wire_varint(sl_wire *wire, uint64_t *value);

static inline bool sl_wire_ended(const sl_wire *wire)
{
    return wire->at == wire->end;
}

#endif
