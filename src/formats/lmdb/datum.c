/* SPDX-License-Identifier: Apache-2.0 */
#include "datum.h"

#include "media.h"
#include "wire.h"

enum { CHANNELS = 1, WIDTH = 3, DATA = 4, LABEL = 5, FLOATS = 6, ENCODED = 7 };

/* Takes a field. False: it has the wrong type for a Datum. */
static bool datum_take(sl_datum *datum, const sl_wire_field *field)
{
    switch (field->number) {
    case DATA:
        datum->data = field->bytes;
        return field->type == SL_WIRE_BYTES;
    case LABEL:
        datum->labelled = true;
        datum->label = (int32_t)(uint32_t)field->varint;
        return field->type == SL_WIRE_VARINT;
    case FLOATS: /* one number, or many packed */
        datum->floats = true;
        return field->type == SL_WIRE_FIXED32 || field->type == SL_WIRE_BYTES;
    case ENCODED:
        datum->encoded = field->varint != 0;
        return field->type == SL_WIRE_VARINT;
    default:
        break;
    }
    if (field->number <= WIDTH) {
        datum->shape[field->number - CHANNELS] = field->varint;
        return field->type == SL_WIRE_VARINT && field->varint <= INT32_MAX;
    }
    datum->strange = true;
    return true;
}

/* Compares without multiplying, since the numbers may be anything. */
static bool fills(const uint64_t shape[3], uint64_t bytes)
{
    for (int i = 0; i < 3; i++) {
        if (shape[i] == 0 || bytes % shape[i] != 0) {
            return false;
        }
        bytes /= shape[i];
    }
    return bytes == 1;
}

sl_refusal sl_datum_parse(sl_datum *datum, sl_bytes message)
{
    sl_wire wire = sl_wire_of(message);
    sl_wire_field field = {.varint = 0};
    const uint8_t *at = wire.at;
    *datum = (sl_datum){.data = {message.data, 0}};
    while (sl_wire_next(&wire, &field)) {
        if (!datum_take(datum, &field)) {
            return sl_refuse("a field of its Caffe Datum has the wrong type",
                             (size_t)(at - message.data));
        }
        at = wire.at;
    }
    if (!sl_wire_ended(&wire)) {
        return sl_refuse("not a Caffe Datum, or a damaged one", (size_t)(at - message.data));
    }
    datum->pixels = datum->data.size > 0 && fills(datum->shape, datum->data.size);
    datum->encoded = datum->encoded || (!datum->pixels && sl_media_is_picture(datum->data));
    return sl_accept();
}

bool sl_is_datum(sl_bytes bytes)
{
    sl_datum datum;
    if (bytes.size == 0 || sl_datum_parse(&datum, bytes).text != NULL || datum.strange) {
        return false;
    }
    return datum.encoded ? sl_media_is_picture(datum.data) : datum.pixels || datum.floats;
}
