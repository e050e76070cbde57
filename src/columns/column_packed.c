/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed sequences: pieces of documents back to back, each a member of the row, and the
 * arrays that say which element belongs to which. Members come in their order, on the worker that
 * makes the row; what the earlier ones wrote says where the next one begins. Padding is a document
 * of its own, whose number is that of pieces in the row.
 */
#include "elements.h"
#include "error.h"
#include "kinds.h"

#include <assert.h>
#include <string.h>

#define LENGTH_MAX        (UINT64_C(1) << 24)
#define DOCUMENTS_DEFAULT 32U

enum { TOKENS, TARGETS, POSITIONS, DOCUMENTS, LENGTHS, STARTS, ALIGNED, COUNT, LONGEST, PARTS };

/* As elements of the column's dtype. */
typedef struct packed_state {
    uint8_t pad[8], ignore[8];
} packed_state;

/* ---- once ---- */

static sluice_status check_request(const sl_column *column, const sl_column_set *set,
                                   sluice_error *error)
{
    const sl_column_request *request = &column->request;
    if (column->field.dims != 1) {
        return sl_column_refuse(column, error, "only tensors of one dimension can be packed");
    }
    if (request->length == 0 || request->length > LENGTH_MAX) {
        return sl_column_refuse(column, error, "a row of packed sequences has 1 to 2^24 elements");
    }
    if (request->length % request->align != 0) {
        return sl_error_set(error, SLUICE_INVALID, "columns",
                            "column \"%s\": length %llu is not a multiple of align %u: choose "
                            "length %llu or another align",
                            request->name, (unsigned long long)request->length, request->align,
                            (unsigned long long)(request->length / request->align + 1) *
                                request->align);
    }
    if (request->max_documents < request->unit) {
        return sl_column_refuse(column, error, "max_documents must be at least unit");
    }
    return set->packed.field == SL_FIELD_NONE
               ? SLUICE_OK
               : sl_column_refuse(column, error, "a loader has one column of packed sequences");
}

static sluice_status find_elements(sl_column *column, const sl_column_set *set, sluice_error *error)
{
    packed_state *state = column->state;
    sl_column_request *request = &column->request;
    request->dtype = request->dtype == 0 ? SLUICE_I64 : request->dtype;
    const sluice_dtype dtype = (sluice_dtype)request->dtype;
    if (dtype != SLUICE_I32 && dtype != SLUICE_I64) {
        return sl_column_refuse(column, error, "packed sequences are i32 or i64");
    }
    if (!sl_column_element(dtype, (double)request->pad, state->pad) ||
        !sl_column_element(dtype, (double)set->ignore, state->ignore)) {
        return sl_column_refuse(column, error, "pad and ignore_index must fit its dtype");
    }
    column->elements = request->length;
    return sl_column_elements(column, error);
}

static sluice_status column_packed_add_parts(sl_column *column, sl_column_set *set,
                                             sluice_error *error)
{
    const int64_t length = (int64_t)column->request.length;
    const int64_t most = column->request.max_documents;
    const struct {
        const char *suffix;
        int64_t elements; /* 0: one number a row */
    } parts[PARTS] = {[TOKENS] = {"", length},
                      [TARGETS] = {".targets", length},
                      [POSITIONS] = {".positions", length},
                      [DOCUMENTS] = {".documents", length},
                      [LENGTHS] = {".lengths", most},
                      [STARTS] = {".cu_seqlens", most + 1},
                      [ALIGNED] = {".cu_seqlens_padded", most + 1},
                      [COUNT] = {".count", 0},
                      [LONGEST] = {".max_seqlen", 0}};
    for (uint32_t i = 0; i < PARTS; i++) {
        const bool tokens = i == TOKENS || i == TARGETS;
        sl_part *part = sl_column_add_part(set, column, parts[i].suffix, error);
        if (part == NULL) {
            return SLUICE_INVALID;
        }
        part->dtype = tokens ? (sluice_dtype)column->request.dtype : SLUICE_I32;
        part->dims = parts[i].elements > 0;
        part->shape[0] = parts[i].elements;
        part->row_bytes = (uint64_t)(parts[i].elements > 0 ? parts[i].elements : 1) *
                          (tokens ? column->made_bytes : sizeof(int32_t));
    }
    return SLUICE_OK;
}

static sluice_status column_packed_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_column_request *request = &column->request;
    request->max_documents =
        request->max_documents > 0 ? request->max_documents : DOCUMENTS_DEFAULT;
    request->align = request->align > 0 ? request->align : 1;
    request->unit = request->unit > 0 ? request->unit : 1;
    sluice_status status = check_request(column, set, error);
    if (status == SLUICE_OK) {
        status = find_elements(column, set, error);
    }
    if (status == SLUICE_OK) {
        status = column_packed_add_parts(column, set, error);
    }
    set->packed = (sl_packed_shape){.field = column->field_number,
                                    .length = request->length,
                                    .max_documents = request->max_documents,
                                    .align = request->align,
                                    .unit = request->unit,
                                    .cut = request->cut};
    return status;
}

/* ---- each row ---- */

static int32_t *numbers(const sl_column *column, sl_part_view parts, uint32_t part, uint32_t row)
{
    return sl_column_row(column, parts, part, row);
}

static uint8_t *element(const sl_column *column, sl_part_view parts, uint32_t part, uint32_t row,
                        uint64_t at)
{
    return (uint8_t *)sl_column_row(column, parts, part, row) + at * column->made_bytes;
}

/* Elements [from, to) of a row that belong to no document. */
static void column_packed_pad(const sl_column *column, sl_part_view parts, uint32_t row,
                              uint64_t from, uint64_t to, uint32_t pieces)
{
    const packed_state *state = column->state;
    int32_t *positions = numbers(column, parts, POSITIONS, row);
    int32_t *documents = numbers(column, parts, DOCUMENTS, row);
    for (uint64_t i = from; i < to; i++) {
        memcpy(element(column, parts, TOKENS, row, i), state->pad, column->made_bytes);
        memcpy(element(column, parts, TARGETS, row, i), state->ignore, column->made_bytes);
        positions[i] = (int32_t)(i - from);
        documents[i] = (int32_t)pieces;
    }
}

/* Behind the last of its pieces, `end` elements into the row. */
static void column_packed_end_row(const sl_column *column, sl_part_view parts, uint32_t row,
                                  uint64_t end, uint32_t pieces)
{
    int32_t *lengths = numbers(column, parts, LENGTHS, row);
    int32_t *starts = numbers(column, parts, STARTS, row);
    int32_t *aligned = numbers(column, parts, ALIGNED, row);
    int32_t longest = 0;
    for (uint32_t i = 0; i < column->request.max_documents; i++) {
        if (i >= pieces) {
            lengths[i] = 0;
            starts[i + 1] = starts[pieces];
            aligned[i + 1] = aligned[pieces];
        }
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    *numbers(column, parts, COUNT, row) = (int32_t)pieces;
    *numbers(column, parts, LONGEST, row) = longest;
    column_packed_pad(column, parts, row, end, column->elements, pieces);
}

static void column_packed_blank(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    *numbers(column, parts, STARTS, at->number) = 0;
    *numbers(column, parts, ALIGNED, at->number) = 0;
    column_packed_end_row(column, parts, at->number, 0, 0);
}

/* A piece in its row. */
typedef struct placed {
    uint64_t begin, count; /* elements */
    const uint8_t *from;   /* as stored */
    bool goes_on;          /* its document has an element behind it, which follows in `from` */
} placed;

static sluice_status place_piece(const sl_column *column, sl_row *row, sl_part_view parts,
                                 placed *piece, sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    const uint64_t first = value->first;
    sl_bytes bytes;
    const sluice_status status = sl_column_bytes(column, row, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const uint64_t stored = bytes.size / column->stored_bytes;
    piece->begin = row->member == 0
                       ? 0
                       : (uint64_t)numbers(column, parts, ALIGNED, row->at.number)[row->member];
    piece->count = value->shape[0];
    if (first > stored || piece->count > stored - first ||
        piece->count > column->elements - piece->begin) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" does not have the elements that were planned",
                            column->field.name);
    }
    piece->from = bytes.data + first * column->stored_bytes;
    piece->goes_on = first + piece->count < stored;
    return SLUICE_OK;
}

/* Tokens, and the same shifted by one inside the document. */
static sluice_status write_tokens(const sl_column *column, sl_part_view parts, uint32_t row,
                                  const placed *piece, sluice_error *error)
{
    const packed_state *state = column->state;
    const uint64_t last = piece->begin + piece->count - 1;
    uint8_t *target = element(column, parts, TARGETS, row, last);
    const sluice_status status =
        sl_column_cast(column, element(column, parts, TOKENS, row, piece->begin), piece->from,
                       piece->count, error);
    if (status != SLUICE_OK) {
        return status;
    }
    memcpy(element(column, parts, TARGETS, row, piece->begin),
           element(column, parts, TOKENS, row, piece->begin + 1),
           (piece->count - 1) * column->made_bytes);
    if (piece->goes_on) {
        return sl_column_cast(column, target, piece->from + piece->count * column->stored_bytes, 1,
                              error);
    }
    memcpy(target, state->ignore, column->made_bytes);
    return SLUICE_OK;
}

static sluice_status column_packed_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    const uint32_t number = row->at.number;
    const uint32_t align = column->request.align;
    int32_t *positions = numbers(column, parts, POSITIONS, number);
    int32_t *documents = numbers(column, parts, DOCUMENTS, number);
    int32_t *starts = numbers(column, parts, STARTS, number);
    int32_t *aligned = numbers(column, parts, ALIGNED, number);
    placed piece = {.count = 0};
    assert(row->members <= column->request.max_documents);
    sluice_status status = place_piece(column, row, parts, &piece, error);
    if (status == SLUICE_OK && piece.count > 0) {
        status = write_tokens(column, parts, number, &piece, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (row->member == 0) {
        starts[0] = aligned[0] = 0;
    }
    for (uint64_t i = 0; i < piece.count; i++) {
        positions[piece.begin + i] = (int32_t)i;
        documents[piece.begin + i] = (int32_t)row->member;
    }
    const uint64_t end = piece.begin + (piece.count + align - 1) / align * align;
    numbers(column, parts, LENGTHS, number)[row->member] = (int32_t)piece.count;
    starts[row->member + 1] = starts[row->member] + (int32_t)piece.count;
    aligned[row->member + 1] = (int32_t)end;
    column_packed_pad(column, parts, number, piece.begin + piece.count, end, row->members);
    if (row->member + 1 == row->members) {
        column_packed_end_row(column, parts, number, end, row->members);
    }
    return SLUICE_OK;
}

const sl_column_kind sl_column_packed = {.name = "packed",
                                         .state_bytes = sizeof(packed_state),
                                         .takes = SL_TAKES(TENSOR),
                                         .composes = true,
                                         .packs = true,
                                         .bind = column_packed_bind,
                                         .make = column_packed_make,
                                         .blank = column_packed_blank};
