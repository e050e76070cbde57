/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed sequences: pieces of documents back to back, each a member of the row, and the
 * arrays that assign elements to documents. Members come in order, on the worker that makes the
 * row; the parts written for earlier ones give the beginning of the next one. Padding counts as a
 * document, numbered by the number of pieces in the row. A piece is written run by run of its
 * document's layout (document_layout.h).
 */
#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "kinds.h"
#include "option_text.h"
#include "packed_mask.h"
#include "packed_media.h"

#include <assert.h>
#include <string.h>

#define LENGTH_MAX        (UINT64_C(1) << 24)
#define DOCUMENTS_DEFAULT 32U
#define NO_SAMPLE         (-1)

enum {
    TOKENS,
    TARGETS,
    POSITIONS,
    DOCUMENTS,
    LENGTHS,
    STARTS,
    ALIGNED,
    COUNT,
    LONGEST,
    LOSS_MASK,
    SAMPLES,
    PARTS
};

typedef struct packed_state {
    uint8_t pad[8], ignore[8], ids[SL_IDS][8]; /* as elements of the column's dtype */
    sl_packed_media media;
} packed_state;

/* ---- once ---- */

static sluice_status check_request(const sl_column *column, const sl_column_set *set,
                                   sluice_error *error)
{
    const sl_column_request *request = &column->request;
    if (column->field.dims != 1) {
        return sl_column_refuse(column, error, "only one-dimensional tensors can be packed");
    }
    if (request->length == 0 || request->length > LENGTH_MAX) {
        return sl_column_refuse(column, error,
                                "the length of packed sequences must be from 1 to 2^24 elements");
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
               : sl_column_refuse(column, error,
                                  "a loader can have only one column of packed sequences");
}

/* Checks ids: a target equal to the ignored value would be left out. */
static sluice_status find_ids(const sl_column *column, const sl_column_set *set,
                              packed_state *state, sluice_error *error)
{
    static const char *const names[SL_IDS] = {[SL_ID_BOS] = "bos",
                                              [SL_ID_EOS] = "eos",
                                              [SL_ID_FIM_PREFIX] = "fim_prefix",
                                              [SL_ID_FIM_MIDDLE] = "fim_middle",
                                              [SL_ID_FIM_SUFFIX] = "fim_suffix"};
    const sl_document_rule *rule = &column->request.rule;
    for (uint32_t i = 0; i < SL_IDS; i++) {
        const sluice_dtype dtype = (sluice_dtype)column->request.dtype;
        if (sl_rule_has(rule, i) && rule->id[i] == set->ignore) {
            return sl_error_set(error, SLUICE_INVALID, "columns",
                                "column \"%s\": %s is %lld, the same as the loader's " SL_OPTION(
                                    "ignore_index") ", which would leave out its targets: choose "
                                                    "another value for that",
                                column->request.name, names[i], (long long)rule->id[i]);
        }
        if (!sl_column_element(dtype, (double)rule->id[i], state->ids[i])) {
            return sl_error_set(error, SLUICE_INVALID, "columns",
                                "column \"%s\": %s is %lld, which does not fit its dtype",
                                column->request.name, names[i], (long long)rule->id[i]);
        }
    }
    return SLUICE_OK;
}

static sluice_status find_elements(sl_column *column, const sl_column_set *set, sluice_error *error)
{
    packed_state *state = column->state;
    sl_column_request *request = &column->request;
    request->dtype = request->dtype == 0 ? SLUICE_I64 : request->dtype;
    const sluice_dtype dtype = (sluice_dtype)request->dtype;
    if (dtype != SLUICE_I32 && dtype != SLUICE_I64) {
        return sl_column_refuse(column, error, "the dtype of packed sequences must be i32 or i64");
    }
    if (!sl_column_element(dtype, (double)request->pad, state->pad) ||
        !sl_column_element(dtype, (double)set->ignore, state->ignore)) {
        return sl_column_refuse(column, error, "pad and ignore_index must fit its dtype");
    }
    column->elements = request->length;
    const sluice_status status = find_ids(column, set, state, error);
    return status == SLUICE_OK ? sl_column_elements(column, error) : status;
}

static sluice_status column_packed_add_parts(sl_column *column, sl_column_set *set,
                                             sluice_error *error)
{
    const int64_t length = (int64_t)column->request.length;
    const int64_t most = column->request.max_documents;
    const sluice_dtype dtype = (sluice_dtype)column->request.dtype;
    const struct {
        const char *suffix;
        int64_t elements; /* 0: one number a row */
        sluice_dtype dtype;
    } parts[PARTS] = {[TOKENS] = {"", length, dtype},
                      [TARGETS] = {".targets", length, dtype},
                      [POSITIONS] = {".positions", length, SLUICE_I32},
                      [DOCUMENTS] = {".documents", length, SLUICE_I32},
                      [LENGTHS] = {".lengths", most, SLUICE_I32},
                      [STARTS] = {".cu_seqlens", most + 1, SLUICE_I32},
                      [ALIGNED] = {".cu_seqlens_padded", most + 1, SLUICE_I32},
                      [COUNT] = {".count", 0, SLUICE_I32},
                      [LONGEST] = {".max_seqlen", 0, SLUICE_I32},
                      [LOSS_MASK] = {".loss_mask", length, SLUICE_U8},
                      [SAMPLES] = {".samples", most, SLUICE_I64}};
    for (uint32_t i = 0; i < PARTS; i++) {
        sl_part *part = sl_column_add_part(set, column, parts[i].suffix, error);
        if (part == NULL) {
            return SLUICE_INVALID;
        }
        part->dtype = parts[i].dtype;
        part->dims = parts[i].elements > 0;
        part->shape[0] = parts[i].elements;
        part->row_bytes = (uint64_t)(parts[i].elements > 0 ? parts[i].elements : 1) *
                          sl_dtype_bytes(parts[i].dtype);
    }
    return SLUICE_OK;
}

static sluice_status column_packed_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_column_request *request = &column->request;
    packed_state *state = column->state;
    request->max_documents =
        request->max_documents > 0 ? request->max_documents : DOCUMENTS_DEFAULT;
    request->align = request->align > 0 ? request->align : 1;
    request->unit = request->unit > 0 ? request->unit : 1;
    sluice_status status = check_request(column, set, error);
    if (status == SLUICE_OK) {
        status = find_elements(column, set, error);
    }
    if (status == SLUICE_OK && sl_packed_mask_is_asked(column)) {
        status = sl_packed_mask_bind(column, error);
    }
    if (status == SLUICE_OK) {
        status = column_packed_add_parts(column, set, error);
    }
    if (status == SLUICE_OK) {
        status = sl_packed_media_bind(column, set, &state->media, error);
    }
    set->packed = (sl_packed_shape){.field = column->field_number,
                                    .length = request->length,
                                    .max_documents = request->max_documents,
                                    .align = request->align,
                                    .unit = request->unit,
                                    .cut = request->cut,
                                    .rule = request->rule,
                                    .media = column->media.number,
                                    .per_token = request->per_token,
                                    .whole = sl_packed_mask_is_asked(column) || state->media.asked};
    return status;
}

/* ---- each row ---- */

static int32_t *numbers(const sl_column *column, sl_part_view parts, uint32_t part, uint32_t row)
{
    return sl_column_row(column, parts, part, row);
}

static uint8_t *loss_mask(const sl_column *column, sl_part_view parts, uint32_t row)
{
    return sl_column_row(column, parts, LOSS_MASK, row);
}

static uint8_t *element(const sl_column *column, sl_part_view parts, uint32_t part, uint32_t row,
                        uint64_t at)
{
    return (uint8_t *)sl_column_row(column, parts, part, row) + at * column->made_bytes;
}

/* A separate loop for each size can be vectorised; copying one by one is a call for each. */
static void fill_elements(void *to, const uint8_t *value, uint32_t bytes, uint64_t count)
{
    int64_t wide;
    int32_t narrow;
    if (bytes == sizeof(wide)) {
        int64_t *elements = to;
        memcpy(&wide, value, sizeof(wide));
        for (uint64_t i = 0; i < count; i++) {
            elements[i] = wide;
        }
        return;
    }
    int32_t *elements = to;
    assert(bytes == sizeof(narrow));
    memcpy(&narrow, value, sizeof(narrow));
    for (uint64_t i = 0; i < count; i++) {
        elements[i] = narrow;
    }
}

/* Numbers places from 0 in a document or padding, and its document; at most LENGTH_MAX of them. */
static void number_elements(int32_t *restrict positions, int32_t *restrict documents,
                            uint64_t count, uint32_t document)
{
    const uint32_t end = (uint32_t)count;
    for (uint32_t i = 0; i < end; i++) {
        positions[i] = (int32_t)i;
        documents[i] = (int32_t)document;
    }
}

/* Fills elements [from, to) of a row that belong to no document. */
static void column_packed_pad(const sl_column *column, sl_part_view parts, uint32_t row,
                              uint64_t from, uint64_t to, uint32_t pieces)
{
    const packed_state *state = column->state;
    if (from >= to) {
        return;
    }
    memset(loss_mask(column, parts, row) + from, 0, to - from);
    fill_elements(element(column, parts, TOKENS, row, from), state->pad, column->made_bytes,
                  to - from);
    fill_elements(element(column, parts, TARGETS, row, from), state->ignore, column->made_bytes,
                  to - from);
    number_elements(numbers(column, parts, POSITIONS, row) + from,
                    numbers(column, parts, DOCUMENTS, row) + from, to - from, pieces);
}

/* Ends a row after the last of its pieces, `end` elements into the row. */
static void column_packed_end_row(const sl_column *column, sl_part_view parts, uint32_t row,
                                  uint64_t end, uint32_t pieces)
{
    int32_t *lengths = numbers(column, parts, LENGTHS, row);
    int32_t *starts = numbers(column, parts, STARTS, row);
    int32_t *aligned = numbers(column, parts, ALIGNED, row);
    int64_t *samples = sl_column_row(column, parts, SAMPLES, row);
    const packed_state *state = column->state;
    int32_t longest = 0;
    for (uint32_t i = 0; i < column->request.max_documents; i++) {
        if (i >= pieces) {
            lengths[i] = 0;
            samples[i] = NO_SAMPLE;
            starts[i + 1] = starts[pieces];
            aligned[i + 1] = aligned[pieces];
        }
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    if (state->media.asked) {
        sl_packed_media_end(column, &state->media, row, pieces, parts);
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
    sl_document_piece of;
    sl_document_layout layout;
    uint64_t begin;      /* elements of the row before it */
    const uint8_t *from; /* stored elements, from number of.from on */
    uint64_t end;        /* number of the element after those */
} placed;

static bool piece_ends(const sl_document_piece *piece)
{
    return piece->first + piece->count == piece->length;
}

static sluice_status place_piece(const sl_column *column, sl_row *row, sl_part_view parts,
                                 placed *piece, sluice_error *error)
{
    sl_bytes bytes;
    if (sl_packed_mask_is_asked(column)) { /* its bytes are read separately */
        sl_scratch_reset(sl_decoder_scratch(row->decoder));
    }
    const sluice_status status = sl_column_bytes(column, row, &bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    piece->of = row->values.piece;
    piece->layout =
        sl_document_layout_make(&column->request.rule, &piece->of, row->seed, row->epoch);
    piece->from = bytes.data;
    piece->end = piece->of.from + bytes.size / column->stored_bytes;
    piece->begin = row->member == 0
                       ? 0
                       : (uint64_t)numbers(column, parts, ALIGNED, row->at.number)[row->member];
    if (piece->end > piece->of.stored || piece->of.count > column->elements - piece->begin ||
        piece->of.first + piece->of.count > piece->of.length) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" does not have the planned elements", column->field.name);
    }
    return SLUICE_OK;
}

/* Writes stored elements [first, first + count) of the document. */
static sluice_status write_stored(const sl_column *column, const placed *piece, uint8_t *to,
                                  const sl_layout_run *part, sluice_error *error)
{
    if (part->first < piece->of.from || part->first + part->count > piece->end) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" does not have the planned elements", column->field.name);
    }
    return sl_column_cast(column, to,
                          piece->from + (part->first - piece->of.from) * column->stored_bytes,
                          part->count, error);
}

/* Writes elements [first, first + count) of the document as in rows. */
static sluice_status write_elements(const sl_column *column, const placed *piece, uint8_t *to,
                                    uint64_t first, uint64_t count, sluice_error *error)
{
    const packed_state *state = column->state;
    sluice_status status = SLUICE_OK;
    sl_layout_run part;
    for (uint64_t at = first; at < first + count && status == SLUICE_OK; at += part.count) {
        part = sl_document_layout_at(&piece->layout, at, first + count - at);
        if (part.id != SL_ID_NONE) {
            memcpy(to, state->ids[part.id], column->made_bytes);
        } else {
            status = write_stored(column, piece, to, &part, error);
        }
        to += part.count * column->made_bytes;
    }
    return status;
}

/* Checks that a document does not have the id at that end already, which would double it. */
static sluice_status check_id_at_end(const sl_column *column, const placed *piece, uint32_t id,
                                     sluice_error *error)
{
    const packed_state *state = column->state;
    const bool begins = id == SL_ID_BOS;
    const sl_layout_run end = {
        .id = SL_ID_NONE, .first = begins ? 0 : piece->of.stored - 1, .count = 1};
    uint8_t stored[8];
    const sluice_status status = write_stored(column, piece, stored, &end, error);
    if (status != SLUICE_OK || memcmp(stored, state->ids[id], column->made_bytes) != 0) {
        return status;
    }
    return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                        begins ? "\"%s\" already begins with bos, %lld: leave bos out"
                               : "\"%s\" already ends with eos, %lld: leave eos out",
                        column->field.name, (long long)column->request.rule.id[id]);
}

static sluice_status check_ends(const sl_column *column, const placed *piece, sluice_error *error)
{
    const sl_document_rule *rule = &column->request.rule;
    sluice_status status = SLUICE_OK;
    if (sl_rule_has(rule, SL_ID_BOS) && piece->of.first == 0) {
        status = check_id_at_end(column, piece, SL_ID_BOS, error);
    }
    if (status == SLUICE_OK && sl_rule_has(rule, SL_ID_EOS) && piece_ends(&piece->of)) {
        status = check_id_at_end(column, piece, SL_ID_EOS, error);
    }
    return status;
}

/* Writes tokens, and the same shifted by one inside the document. */
static sluice_status write_tokens(const sl_column *column, sl_part_view parts, uint32_t row,
                                  const placed *piece, sluice_error *error)
{
    const packed_state *state = column->state;
    const uint64_t first = piece->of.first;
    const uint64_t count = piece->of.count;
    uint8_t *target = element(column, parts, TARGETS, row, piece->begin + count - 1);
    const sluice_status status = write_elements(
        column, piece, element(column, parts, TOKENS, row, piece->begin), first, count, error);
    if (status != SLUICE_OK) {
        return status;
    }
    memcpy(element(column, parts, TARGETS, row, piece->begin),
           element(column, parts, TOKENS, row, piece->begin + 1), (count - 1) * column->made_bytes);
    if (!piece_ends(&piece->of)) {
        return write_elements(column, piece, target, first + count, 1, error);
    }
    memcpy(target, state->ignore, column->made_bytes);
    return SLUICE_OK;
}

/* ---- trained elements ---- */

/* Writes 1 for each trained element after the piece's first `count`. */
static sluice_status write_trained(const sl_column *column, sl_row *row, const placed *piece,
                                   uint64_t count, uint8_t *to, sluice_error *error)
{
    const uint64_t stored = piece->of.stored;
    const uint64_t end = piece->of.first + 1 + count;
    sl_packed_mask mask;
    sl_layout_run part;
    sluice_status status = sl_packed_mask_open(column, row, stored, &mask, error);
    for (uint64_t at = end - count; at < end && status == SLUICE_OK; at += part.count) {
        part = sl_document_layout_at(&piece->layout, at, end - at);
        if (part.id == SL_ID_NONE) {
            status = sl_packed_mask_write(&mask, row, part.first, part.count, to, error);
        } else if (part.id == SL_ID_EOS) {
            status = sl_packed_mask_write(&mask, row, stored - 1, 1, to, error);
        } /* ids of FIM are trained */
        to += part.count;
    }
    return status;
}

/* Masks targets that are not trained. */
static sluice_status write_loss_mask(const sl_column *column, sl_row *row, sl_part_view parts,
                                     const placed *piece, sluice_error *error)
{
    const packed_state *state = column->state;
    const uint32_t number = row->at.number;
    uint8_t *to = loss_mask(column, parts, number) + piece->begin;
    const uint64_t targets = piece->of.count - piece_ends(&piece->of);
    memset(to, 1, targets);
    memset(to + targets, 0, piece->of.count - targets);
    if (!sl_packed_mask_is_asked(column)) {
        return SLUICE_OK;
    }
    const sluice_status status = write_trained(column, row, piece, targets, to, error);
    for (uint64_t i = 0; i < targets && status == SLUICE_OK; i++) {
        if (to[i] == 0) {
            memcpy(element(column, parts, TARGETS, number, piece->begin + i), state->ignore,
                   column->made_bytes);
        }
    }
    return status;
}

static sluice_status column_packed_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                        sluice_error *error)
{
    const uint32_t number = row->at.number;
    const uint32_t align = column->request.align;
    const packed_state *state = column->state;
    int64_t *samples = sl_column_row(column, parts, SAMPLES, number);
    int32_t *positions = numbers(column, parts, POSITIONS, number);
    int32_t *documents = numbers(column, parts, DOCUMENTS, number);
    int32_t *starts = numbers(column, parts, STARTS, number);
    int32_t *aligned = numbers(column, parts, ALIGNED, number);
    placed piece;
    assert(row->members <= column->request.max_documents);
    sluice_status status = place_piece(column, row, parts, &piece, error);
    if (status == SLUICE_OK) {
        status = check_ends(column, &piece, error);
    }
    if (status == SLUICE_OK) {
        status = write_tokens(column, parts, number, &piece, error);
    }
    if (status == SLUICE_OK) {
        status = write_loss_mask(column, row, parts, &piece, error);
    }
    if (status == SLUICE_OK && state->media.asked) {
        status = sl_packed_media_make(column, &state->media, row, parts, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    const uint64_t count = piece.of.count;
    if (row->member == 0) {
        starts[0] = aligned[0] = 0;
    }
    number_elements(positions + piece.begin, documents + piece.begin, count, row->member);
    const uint64_t end = piece.begin + (count + align - 1) / align * align;
    numbers(column, parts, LENGTHS, number)[row->member] = (int32_t)count;
    samples[row->member] = (int64_t)piece.of.document;
    starts[row->member + 1] = starts[row->member] + (int32_t)count;
    aligned[row->member + 1] = (int32_t)end;
    column_packed_pad(column, parts, number, piece.begin + count, end, row->members);
    if (row->member + 1 == row->members) {
        column_packed_end_row(column, parts, number, end, row->members);
    }
    return SLUICE_OK;
}

static void column_packed_finish(const sl_column *column, uint32_t rows, sl_part_view parts,
                                 uint64_t *sizes)
{
    const packed_state *state = column->state;
    if (state->media.asked) {
        sl_packed_media_finish(column, &state->media, rows, parts, sizes);
    }
}

const sl_column_kind sl_column_packed = {.name = "packed",
                                         .state_bytes = sizeof(packed_state),
                                         .takes = SL_TAKES(TENSOR),
                                         .composes = true,
                                         .packs = true,
                                         .bind = column_packed_bind,
                                         .make = column_packed_make,
                                         .blank = column_packed_blank,
                                         .finish = column_packed_finish};
