/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_values.h"

#include "media.h"
#include "unicode.h"

#include <string.h>

/* ---- looking ---- */

/* Recognises pickles of protocol 2 or later; earlier ones begin without a mark. */
static bool is_pickle(sl_bytes value)
{
    return value.size > 2 && value.data[0] == 0x80 && value.data[1] >= 2 && value.data[1] <= 5 &&
           value.data[value.size - 1] == '.';
}

static void look_at_datum(sl_lmdb_look *look, sl_bytes value)
{
    sl_datum datum;
    (void)sl_datum_parse(&datum, value);
    look->datums++;
    look->labels += datum.labelled;
    look->files += datum.encoded;
    look->floats += datum.floats;
    for (int i = 0; !datum.encoded && datum.pixels && i < 3; i++) {
        const bool same = !look->shaped || look->shape[i] == datum.shape[i];
        look->shape[i] = same ? datum.shape[i] : 0;
    }
    look->shaped = look->shaped || (!datum.encoded && datum.pixels);
}

void sl_lmdb_look_at(sl_lmdb_look *look, sl_bytes value)
{
    if (value.size == 0) {
        return;
    }
    look->values++;
    look->pickles += is_pickle(value);
    look->texts += sl_is_utf8(value);
    if (sl_media_is_picture(value)) {
        look->pictures++;
    } else if (sl_is_datum(value)) {
        look_at_datum(look, value);
    }
}

/* ---- columns ---- */

static sl_source_column *lmdb_values_add_column(sl_lmdb_columns *columns, const char *name,
                                                sluice_field_type type, sl_lmdb_part part)
{
    sl_source_column *column = &columns->of[columns->count];
    columns->parts[columns->count++] = part;
    memset(column, 0, sizeof(*column));
    memcpy(column->name, name, strlen(name));
    column->field = (sl_field){.type = type, .compression = SLUICE_COMPRESSION_NEVER};
    return column;
}

static void add_datum(sl_lmdb_columns *columns, const sl_lmdb_look *look)
{
    const bool files = look->files == look->datums;
    sl_source_column *column = lmdb_values_add_column(
        columns, files ? "image" : "data", files ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_TENSOR,
        files ? SL_LMDB_DATUM_FILE : SL_LMDB_DATUM_PIXELS);
    if (!files) {
        column->field.dtype = SLUICE_U8;
        column->field.dims = 3;
        memcpy(column->field.shape, look->shape, sizeof(look->shape));
    }
    if (look->floats > 0) {
        column->refused = "its Caffe Datums contain float_data, which is not supported: convert "
                          "them with sluice.Writer";
    } else if (look->files > 0 && !files) {
        column->refused = "some of its Caffe Datums contain encoded images, others pixels";
    }
    if (look->labels > 0) {
        (void)lmdb_values_add_column(columns, "label", SLUICE_FIELD_INT, SL_LMDB_DATUM_LABEL);
    }
    columns->words = files ? "Caffe Datums of images" : "Caffe Datums of pixels";
}

static void add_value(sl_lmdb_columns *columns, const sl_lmdb_look *look)
{
    if (look->values > 0 && look->pictures == look->values) {
        (void)lmdb_values_add_column(columns, "image", SLUICE_FIELD_IMAGE, SL_LMDB_VALUE);
        columns->words = "pictures";
        return;
    }
    const bool text = look->values > 0 && look->texts == look->values;
    sl_source_column *column = lmdb_values_add_column(
        columns, "data", text ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES, SL_LMDB_VALUE);
    columns->words = text ? "texts" : "bytes";
    if (look->pickles > 0) {
        column->refused = "it contains pickled Python objects, which are never loaded, since that "
                          "would run their code: load them with the program they were written for, "
                          "and convert them with sluice.Writer";
        column->typed = look->pickles <= look->values / 2;
        if (column->typed) {
            column->refused = "some of its values look like pickled Python objects, which are "
                              "never loaded, since that would run their code: if they are "
                              "something else, choose the type (data=data:bytes)";
        }
    }
}

void sl_lmdb_columns_make(sl_lmdb_columns *columns, const sl_lmdb_look *look, const sl_field *label)
{
    columns->count = 0;
    if (label == NULL && look->values > 0 && look->datums == look->values) {
        add_datum(columns, look);
        return;
    }
    add_value(columns, look);
    if (label != NULL) {
        (void)lmdb_values_add_column(columns, "label", label->type, SL_LMDB_LABEL);
        columns->words = "image-N with label-N";
    }
}

/* ---- values ---- */

static const char *lmdb_values_take_pixels(const sl_datum *datum, const sl_field *field,
                                           sl_value *value)
{
    if (datum->encoded || !datum->pixels) {
        return "its Caffe Datum contains no pixels, unlike those read at opening";
    }
    for (int i = 0; i < 3; i++) {
        if (field->shape[i] > 0 && field->shape[i] != datum->shape[i]) {
            return "the shape of its Caffe Datum differs from those read at opening";
        }
    }
    memcpy(value->shape, datum->shape, sizeof(datum->shape));
    value->bytes = datum->data;
    return NULL;
}

sl_refusal sl_lmdb_datum_value(const sl_datum *datum, sl_lmdb_part part, const sl_field *field,
                               sl_value *value)
{
    const char *why = NULL;
    *value = (sl_value){.present = true};
    if (part == SL_LMDB_DATUM_LABEL) {
        value->integer = datum->label;
        return sl_accept();
    }
    if (part == SL_LMDB_DATUM_PIXELS) {
        why = lmdb_values_take_pixels(datum, field, value);
        return why != NULL ? sl_refuse(why, 0) : sl_accept();
    }
    if (!datum->encoded) {
        return sl_refuse("its Caffe Datum contains no encoded image, unlike those read at opening",
                         0);
    }
    value->bytes = datum->data;
    return sl_source_value(field, value);
}
