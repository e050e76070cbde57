/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces: the ops of a dataset of parts of documents. Any thread: immutable once opened.
 *
 * A piece that is read by itself has `cut` set, and its description in the facts; otherwise the
 * facts are the base's, for later use. Lengths and `stored` share a fact: both are below 2^32.
 */
#include "pieces.h"

#include "dtype.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "over.h"

#define STAGE "dataset"

enum { FACT_DOCUMENT, FACT_FIRST, FACT_COUNT, FACT_LENGTHS, FACT_FROM, FACT_FORM };

typedef struct pieces {
    sl_dataset base; /* the dataset itself */
    sl_dataset *of;  /* dataset whose samples are the documents */
    sl_pieces_shape shape;
    uint32_t element_bytes;
} pieces;

static const pieces *pieces_from(const sl_dataset *dataset)
{
    return (const pieces *)(const void *)dataset;
}

static const char *field_name(const pieces *own)
{
    return own->of->fields[own->shape.field].name;
}

/* ---- one piece ---- */

static sl_refusal refuse_length(const pieces *own)
{
    sl_refusal why = sl_refuse("the document's length differs from the one used for packing it", 0);
    why.field = field_name(own);
    return why;
}

/* The stored elements [begin, end) of a document to read. */
typedef struct stored_range {
    uint64_t begin, end;
} stored_range;

static stored_range range_of(const sl_document_piece *piece)
{
    if (piece->mixed) {
        return (stored_range){0, piece->stored};
    }
    const uint64_t begin = piece->first > piece->before ? piece->first - piece->before : 0;
    const uint64_t behind = piece->first + piece->count - piece->before + 1;
    return (stored_range){sl_min_u64(begin, piece->stored - 1), sl_min_u64(behind, piece->stored)};
}

static void keep_cut_piece(sl_sample *sample, const sl_document_piece *piece, uint64_t from)
{
    sample->cut = true;
    sample->facts[FACT_DOCUMENT] = piece->document;
    sample->facts[FACT_FIRST] = piece->first;
    sample->facts[FACT_COUNT] = piece->count;
    sample->facts[FACT_LENGTHS] = piece->length << 32 | piece->stored;
    sample->facts[FACT_FROM] = from;
    sample->facts[FACT_FORM] = (uint64_t)piece->mixed << 32 | piece->before;
}

static sl_document_piece kept_piece(const sl_sample *sample)
{
    return (sl_document_piece){.document = sample->facts[FACT_DOCUMENT],
                               .first = sample->facts[FACT_FIRST],
                               .count = sample->facts[FACT_COUNT],
                               .length = sample->facts[FACT_LENGTHS] >> 32,
                               .stored = (uint32_t)sample->facts[FACT_LENGTHS],
                               .from = sample->facts[FACT_FROM],
                               .before = (uint32_t)sample->facts[FACT_FORM],
                               .mixed = sample->facts[FACT_FORM] >> 32 != 0};
}

/* Locates the piece by itself. UNSUPPORTED: it can only be read with its document. */
static sluice_status locate_piece(const pieces *own, const sl_document_piece *piece,
                                  sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const sl_dataset *of = own->of;
    sl_place *place = &sample->place;
    if (own->shape.whole || of->tensors == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    const sluice_status status =
        of->tensors->locate_field(of, piece->document, own->shape.field, place, lookup, why);
    if (status != SLUICE_OK) {
        return status;
    }
    const stored_range range = range_of(piece);
    if (place->bytes != piece->stored * own->element_bytes) {
        *lookup = *place;
        *why = refuse_length(own);
        return why->status;
    }
    place->offset += range.begin * own->element_bytes;
    /* at most the document's size, which fits */
    place->bytes = (uint32_t)((range.end - range.begin) * own->element_bytes);
    keep_cut_piece(sample, piece, range.begin);
    return SLUICE_OK;
}

static sluice_status pieces_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                   sl_place *lookup, sl_refusal *why)
{
    const pieces *own = pieces_from(dataset);
    sl_document_piece piece;
    *sample = (sl_sample){.index = index};
    if (!own->shape.find(own->shape.ctx, index, &piece)) {
        *lookup = (sl_place){.object = 0};
        *why = sl_refuse("no piece has that number", 0);
        return why->status;
    }
    const sluice_status status = locate_piece(own, &piece, sample, lookup, why);
    return status != SLUICE_UNSUPPORTED
               ? status
               : sl_dataset_locate(own->of, piece.document, sample, lookup, why);
}

static sl_refusal unpack_cut(const pieces *own, const sl_sample *sample, sl_bytes bytes,
                             sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the document is truncated", 0);
    }
    sl_value *value = &values->of[own->shape.field];
    *value = (sl_value){.present = true, .bytes = bytes};
    value->shape[0] = bytes.size / own->element_bytes;
    values->piece = kept_piece(sample);
    return sl_accept();
}

static sl_refusal pieces_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values)
{
    const pieces *own = pieces_from(dataset);
    const sl_value *value = &values->of[own->shape.field];
    sl_document_piece piece;
    if (sample->cut) {
        return unpack_cut(own, sample, bytes, values);
    }
    const sl_refusal why = sl_over_unpack(dataset, sample, bytes, values);
    if (why.text != NULL || !value->present || !sl_values_want(values, own->shape.field)) {
        return why;
    }
    if (!own->shape.find(own->shape.ctx, sample->index, &piece) ||
        value->shape[0] != piece.stored) {
        return refuse_length(own);
    }
    piece.from = 0;
    values->piece = piece;
    return why;
}

static sl_inner pieces_sample(const sl_dataset *dataset, uint64_t index)
{
    const pieces *own = pieces_from(dataset);
    sl_document_piece piece;
    const bool found = own->shape.find(own->shape.ctx, index, &piece);
    return (sl_inner){.of = own->of, .index = found ? piece.document : 0};
}

static sl_inner pieces_object(const sl_dataset *dataset, uint32_t object)
{
    (void)object;
    return (sl_inner){.of = pieces_from(dataset)->of};
}

static const sl_over pieces_over = {.sample = pieces_sample, .object = pieces_object};

static void close_pieces(sl_dataset *dataset)
{
    pieces *own = (pieces *)(void *)dataset;
    sl_dataset_close(own->of);
    if (own->shape.close != NULL) {
        own->shape.close(own->shape.ctx);
    }
    sl_free(own);
}

static const sl_dataset_ops pieces_ops = {
    .locate = pieces_locate,
    .piece = sl_over_piece,
    .learn = sl_over_learn,
    .unpack = pieces_unpack,
    .class_name = sl_over_class_name,
    .key = sl_over_key,
    .close = close_pieces,
};

/* ---- opening ---- */

static sluice_status check_base(const sl_dataset *base, const sl_pieces_shape *shape,
                                sluice_error *error)
{
    const sl_field *field = &base->fields[shape->field];
    if (field->type != SLUICE_FIELD_TENSOR || field->dims != 1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "\"%s\" cannot be packed: expected a one-dimensional tensor",
                            field->name);
    }
    if (base->mix != NULL && shape->mix == NULL) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "documents of a mix cannot be packed into rows: pack each of its datasets");
    }
    return SLUICE_OK;
}

sluice_status sl_pieces_open(sl_dataset **dataset, sl_dataset *base, const sl_pieces_shape *shape,
                             sluice_error *error)
{
    const sluice_status status = check_base(base, shape, error);
    if (status != SLUICE_OK) {
        return status;
    }
    pieces *own = sl_over_new(sizeof(*own), &pieces_ops, &pieces_over, base, error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    sl_dataset *made = &own->base;
    const uint64_t mean =
        shape->piece_bytes > 0 ? shape->piece_bytes : base->info.bytes / base->info.samples;
    made->whole_objects = base->whole_objects;
    made->shares_pages = base->shares_pages;
    made->pieces = base->pieces;
    made->mix = shape->mix;
    made->info.samples = shape->samples;
    if (__builtin_mul_overflow(mean, shape->samples, &made->info.bytes)) {
        made->info.bytes = INT64_MAX;
    }
    own->of = sl_dataset_ref(base);
    own->shape = *shape;
    own->element_bytes = (uint32_t)sl_dtype_bytes(base->fields[shape->field].dtype);
    *dataset = made;
    return SLUICE_OK;
}
