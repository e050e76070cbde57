/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "minmax.h"

enum { VARINT_BYTES = 10, TYPE_BITS = 3 };

bool sl_wire_varint(sl_wire *wire, uint64_t *value)
{
    const size_t left = (size_t)(wire->end - wire->at);
    const size_t most = sl_min_size(left, VARINT_BYTES);
    *value = 0;
    for (size_t i = 0; i < most; i++) {
        *value |= (uint64_t)(wire->at[i] & 0x7f) << 7 * i; /* only one bit of the tenth is left */
        if (wire->at[i] < 0x80) {
            wire->at += i + 1;
            return true;
        }
    }
    return false;
}

static bool wire_take(sl_wire *wire, uint64_t size, sl_bytes *bytes)
{
    if (size > (size_t)(wire->end - wire->at)) {
        return false;
    }
    *bytes = (sl_bytes){wire->at, (size_t)size};
    wire->at += size;
    return true;
}

static bool wire_read_field(sl_wire *wire, sl_wire_field *field)
{
    uint64_t tag;
    if (!sl_wire_varint(wire, &tag) || tag >> TYPE_BITS == 0 || tag > UINT32_MAX) {
        return false;
    }
    field->number = (uint32_t)(tag >> TYPE_BITS);
    switch (tag & ((1U << TYPE_BITS) - 1)) {
    case SL_WIRE_VARINT:
        field->type = SL_WIRE_VARINT;
        return sl_wire_varint(wire, &field->varint);
    case SL_WIRE_FIXED64:
        field->type = SL_WIRE_FIXED64;
        return wire_take(wire, 8, &field->bytes);
    case SL_WIRE_BYTES:
        field->type = SL_WIRE_BYTES;
        return sl_wire_varint(wire, &tag) && wire_take(wire, tag, &field->bytes);
    case SL_WIRE_FIXED32:
        field->type = SL_WIRE_FIXED32;
        return wire_take(wire, 4, &field->bytes);
    default: /* groups, and invalid types */
        return false;
    }
}

bool sl_wire_next(sl_wire *wire, sl_wire_field *field)
{
    const sl_wire before = *wire;
    if (wire->at == wire->end) {
        return false;
    }
    if (wire_read_field(wire, field)) {
        return true;
    }
    *wire = before;
    return false;
}
