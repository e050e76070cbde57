/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_array: opens the levels (structures, lists) of one column of one batch, then answers for
 * single rows. One owner thread.
 *
 * Offsets are checked against the buffers when a row is requested, so an opened array may still be
 * damaged.
 */
#include "arrow_array.h"

#include "little_endian.h"
#include "memory.h"
#include "side_columns.h"
#include "stored_number.h"
#include "unpack_lz4.h"

#include <assert.h>
#include <string.h>

#define STAGE "dataset"

enum { VIEW_BYTES = 16, VIEW_INLINE = 12 };
/* Maximum compression: zstd turns 128 KiB into 4 bytes, LZ4 255 bytes into one. */
enum { ZSTD_RATIO_MAX = 40000, LZ4_RATIO_MAX = 256 };

static const char wrong_offsets[] = "the offsets of a column's values are damaged";

void sl_arrow_array_close(sl_arrow_array *array)
{
    for (uint32_t i = 0; i < array->level_count; i++) {
        sl_free(array->levels[i].validity);
        sl_free(array->levels[i].offsets);
    }
    for (uint32_t i = 0; array->data != NULL && i < array->data_count; i++) {
        sl_free(array->data[i].bytes);
    }
    sl_free(array->data);
    memset(array, 0, sizeof(*array));
}

/* ---- buffers ---- */

static sluice_status arrow_array_no_memory(const sl_arrow_body *body, uint64_t bytes,
                                           sluice_error *error)
{
    return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, body->reader->path, (int64_t)body->at,
                         "out of memory for a buffer of %llu bytes", (unsigned long long)bytes);
}

/* Unpacks to `data`, which has space for its size. */
static sluice_status unpack_buffer(const sl_arrow_body *body, uint64_t at, sl_bytes packed,
                                   const sl_arrow_data *data, sluice_error *error)
{
    sluice_error why = SLUICE_ERROR_INIT;
    if (body->batch->codec == SL_ARROW_LZ4) {
        return sl_lz4_unpack_frame(packed, data->bytes, data->size)
                   ? SLUICE_OK
                   : sl_arrow_corrupt(body->reader, at, "broken LZ4 frame", error);
    }
    const sluice_status status =
        sl_frame_unpack_to(body->frame, packed, data->bytes, data->size, &why);
    if (status == SLUICE_CANCELED) {
        return sl_error_set(error, SLUICE_CANCELED, why.stage, "%s", why.text);
    }
    return status == SLUICE_OK ? SLUICE_OK : sl_arrow_corrupt(body->reader, at, why.text, error);
}

static sluice_status arrow_array_unpack(const sl_arrow_body *body, uint64_t at, sl_bytes packed,
                                        sl_arrow_data *data, sluice_error *error)
{
    const int64_t size = (int64_t)sl_load64(packed.data);
    const sl_bytes rest = {packed.data + 8, packed.size - 8};
    const uint64_t ratio = body->batch->codec == SL_ARROW_LZ4 ? LZ4_RATIO_MAX : ZSTD_RATIO_MAX;
    data->size = size == -1 ? rest.size : (uint64_t)size;
    if (size < -1 || data->size / ratio > packed.size) {
        return sl_arrow_corrupt(body->reader, at, "a compressed buffer has an impossible size",
                                error);
    }
    data->bytes = sl_malloc(data->size + 1);
    if (data->bytes == NULL) {
        return arrow_array_no_memory(body, data->size, error);
    }
    if (size == -1) {
        memcpy(data->bytes, rest.data, rest.size);
        return SLUICE_OK;
    }
    return unpack_buffer(body, at, rest, data, error);
}

static sluice_status arrow_array_read_packed(const sl_arrow_body *body, sl_extent buffer,
                                             sl_arrow_data *data, sluice_error *error)
{
    const uint64_t at = body->at + buffer.offset;
    if (buffer.bytes < 8) {
        return buffer.bytes == 0
                   ? SLUICE_OK
                   : sl_arrow_corrupt(body->reader, at, "a compressed buffer is truncated", error);
    }
    uint8_t *packed = sl_malloc(buffer.bytes);
    if (packed == NULL) {
        return arrow_array_no_memory(body, buffer.bytes, error);
    }
    sluice_status status = sl_arrow_read(body->reader, at, packed, buffer.bytes, error);
    if (status == SLUICE_OK) {
        status = arrow_array_unpack(body, at, (sl_bytes){packed, buffer.bytes}, data, error);
    }
    sl_free(packed);
    return status;
}

/* Reads a buffer that must have `needed` bytes: only these, or all of it (`whole`). */
static sluice_status arrow_array_load(const sl_arrow_body *body, uint32_t number, uint64_t needed,
                                      bool whole, sl_arrow_data *data, sluice_error *error)
{
    const sl_extent buffer = sl_arrow_batch_buffer(body->batch, number);
    sluice_status status = SLUICE_OK;
    *data = (sl_arrow_data){.at = body->at + buffer.offset};
    if (body->batch->codec != SL_ARROW_PLAIN) {
        status = arrow_array_read_packed(body, buffer, data, error);
    } else if (needed <= buffer.bytes) {
        data->size = whole ? buffer.bytes : needed;
        data->bytes = sl_malloc(data->size + 1);
        status = data->bytes != NULL
                     ? sl_arrow_read(body->reader, data->at, data->bytes, data->size, error)
                     : arrow_array_no_memory(body, data->size, error);
    }
    if (status == SLUICE_OK && data->size < needed) {
        status = sl_arrow_corrupt(body->reader, data->at,
                                  "a buffer is shorter than its array requires", error);
    }
    if (status < 0) {
        sl_free(data->bytes);
        data->bytes = NULL;
    }
    return status;
}

/* ---- opening ---- */

static uint64_t arrow_array_offset_of(const sl_arrow_level *level, uint64_t item)
{
    return level->node->wide ? sl_load64(level->offsets + item * 8)
                             : sl_load32(level->offsets + item * 4);
}

/*
 * Returns whether offsets never decrease, not even at nulls, so that no byte belongs to two rows.
 */
static bool are_sorted(const sl_arrow_level *level)
{
    uint64_t before = arrow_array_offset_of(level, 0);
    for (uint64_t i = 1; i <= level->length; i++) {
        const uint64_t next = arrow_array_offset_of(level, i);
        if (next < before) {
            return false;
        }
        before = next;
    }
    return true;
}

static sluice_status open_level(sl_arrow_level *level, const sl_arrow_body *body, uint32_t node,
                                sluice_error *error)
{
    uint64_t nulls;
    uint64_t more;
    sl_arrow_data read = {NULL, 0, 0};
    sluice_status status = SLUICE_OK;
    const uint32_t first = sl_arrow_batch_first(body->batch, level->node, &more);
    level->length = sl_arrow_batch_length(body->batch, node, &nulls);
    if (nulls > 0) {
        status = arrow_array_load(body, first, level->length / 8 + (level->length % 8 > 0), false,
                                  &read, error);
        level->validity = read.bytes;
    }
    const bool offsets = !level->node->coded && (level->node->layout == SL_ARROW_AS_BYTES ||
                                                 level->node->layout == SL_ARROW_AS_LISTS);
    if (status == SLUICE_OK && offsets && level->length > 0) {
        const uint64_t width = level->node->wide ? 8 : 4;
        if (level->length >= UINT64_MAX / width) {
            return sl_arrow_corrupt(body->reader, body->at, "an array has an impossible length",
                                    error);
        }
        status =
            arrow_array_load(body, first + 1, (level->length + 1) * width, false, &read, error);
        level->offsets = read.bytes;
        if (status == SLUICE_OK && !are_sorted(level)) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, body->reader->path,
                                 (int64_t)read.at, "column \"%s\": %s", level->node->name,
                                 wrong_offsets);
        }
    }
    return status;
}

/* Returns the size of the values in a buffer; false: impossibly many. */
static bool data_bytes(const sl_arrow_level *leaf, uint64_t *bytes)
{
    const sl_arrow_node *node = leaf->node;
    const uint64_t bits = node->coded                           ? node->code_bits
                          : node->layout == SL_ARROW_AS_NUMBERS ? node->bits
                          : node->layout == SL_ARROW_AS_VIEWS   ? (uint64_t)VIEW_BYTES * 8
                                                                : 0;
    if (__builtin_mul_overflow(leaf->length, bits, bytes)) {
        return false;
    }
    *bytes = *bytes / 8 + (*bytes % 8 > 0);
    return true;
}

/* Opens a buffer that need not be read. */
static sluice_status open_data(sl_arrow_data *data, const sl_arrow_body *body, uint32_t number,
                               uint64_t needed, bool read, sluice_error *error)
{
    if (read) {
        return arrow_array_load(body, number, needed, true, data, error);
    }
    const sl_extent buffer = sl_arrow_batch_buffer(body->batch, number);
    *data = (sl_arrow_data){NULL, body->at + buffer.offset, buffer.bytes};
    return buffer.bytes >= needed
               ? SLUICE_OK
               : sl_arrow_corrupt(body->reader, data->at,
                                  "a buffer is shorter than its array requires", error);
}

static sluice_status open_leaf(sl_arrow_array *array, const sl_arrow_body *body, bool with_data,
                               sluice_error *error)
{
    uint64_t more;
    uint64_t needed;
    const sl_arrow_level *leaf = &array->levels[array->level_count - 1];
    const bool views = leaf->node->layout == SL_ARROW_AS_VIEWS && !leaf->node->coded;
    const uint32_t first = sl_arrow_batch_first(body->batch, leaf->node, &more);
    const uint32_t number = first + (leaf->offsets != NULL ? 2 : 1);
    if (!data_bytes(leaf, &needed)) {
        return sl_arrow_corrupt(body->reader, body->at, "an array has an impossible length", error);
    }
    array->data = sl_calloc(more + 1, sizeof(*array->data));
    if (array->data == NULL) {
        return arrow_array_no_memory(body, more, error);
    }
    array->data_count = (uint32_t)more + 1;
    sluice_status status =
        open_data(&array->data[0], body, number, needed, with_data || views, error);
    for (uint32_t i = 1; status == SLUICE_OK && i <= more; i++) {
        status = open_data(&array->data[i], body, number + i, 0, with_data, error);
    }
    return status;
}

static sluice_status open_levels(sl_arrow_array *array, const sl_arrow_body *body,
                                 const sl_arrow_chain *chain, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    array->level_count = chain->count;
    for (uint32_t i = 0; status == SLUICE_OK && i < chain->count; i++) {
        array->levels[i].items = chain->items[i];
        status = open_level(&array->levels[i], body, chain->nodes[i], error);
    }
    array->rows = array->levels[0].length;
    return status;
}

static sluice_status open_array(sl_arrow_array *array, const sl_arrow_body *body,
                                const sl_arrow_chain *chain, bool with_data, sluice_error *error)
{
    sluice_status status = open_levels(array, body, chain, error);
    if (status == SLUICE_OK && array->levels[chain->count - 1].length > 0) {
        status = open_leaf(array, body, with_data, error);
    }
    if (status < 0) {
        sl_arrow_array_close(array);
    }
    return status;
}

static void set_nodes(sl_arrow_array *array, const sl_arrow_body *body, const sl_arrow_chain *chain)
{
    memset(array, 0, sizeof(*array));
    for (uint32_t i = 0; i < chain->count; i++) {
        array->levels[i].node = &body->schema->nodes[chain->nodes[i]];
    }
}

sluice_status sl_arrow_array_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, bool with_data, sluice_error *error)
{
    set_nodes(array, body, chain);
    return open_array(array, body, chain, with_data, error);
}

sluice_status sl_arrow_lists_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_chain *chain, sluice_error *error)
{
    set_nodes(array, body, chain);
    const sluice_status status = open_levels(array, body, chain, error);
    if (status < 0) {
        sl_arrow_array_close(array);
    }
    return status;
}

sluice_status sl_arrow_words_open(sl_arrow_array *array, const sl_arrow_body *body,
                                  const sl_arrow_node *node, sluice_error *error)
{
    static const sl_arrow_chain alone = {.count = 1};
    memset(array, 0, sizeof(*array));
    array->levels[0].node = node;
    return open_array(array, body, &alone, true, error);
}

/* ---- rows ---- */

static bool arrow_array_is_there(const sl_arrow_level *level, uint64_t item)
{
    return level->validity == NULL || (level->validity[item / 8] >> item % 8 & 1) != 0;
}

/* Translates lists begin to end of this level to their elements. False: the offsets are damaged. */
static bool descend(const sl_arrow_level *level, uint64_t *begin, uint64_t *end,
                    sl_arrow_state *state)
{
    if (level->node->layout == SL_ARROW_AS_STRUCTS) {
        return true;
    }
    if (level->node->layout == SL_ARROW_AS_FIXED_LISTS) {
        return !__builtin_mul_overflow(*begin, level->node->items, begin) &&
               !__builtin_mul_overflow(*end, level->node->items, end);
    }
    if (*begin == *end) {
        *begin = *end = 0;
        return true;
    }
    uint64_t before = arrow_array_offset_of(level, *begin);
    const uint64_t first = before;
    for (uint64_t i = *begin + 1; i <= *end; i++) {
        const uint64_t next = arrow_array_offset_of(level, i);
        if (next < before) {
            return false;
        }
        if (level->items > 0 && next - before != level->items) {
            *state = SL_ARROW_OTHER_SHAPE;
        }
        before = next;
    }
    *begin = first;
    *end = before;
    return true;
}

static sl_refusal place_bytes(const sl_arrow_array *array, sl_arrow_span *span)
{
    const sl_arrow_level *leaf = &array->levels[array->level_count - 1];
    const uint64_t begin = arrow_array_offset_of(leaf, span->item);
    const uint64_t end = arrow_array_offset_of(leaf, span->item + 1);
    if (end < begin || end > array->data[0].size) {
        return sl_refuse(wrong_offsets, 0);
    }
    span->offset = begin;
    span->bytes = end - begin;
    return sl_accept();
}

static sl_refusal place_view(const sl_arrow_array *array, sl_arrow_span *span)
{
    const uint8_t *view = array->data[0].bytes + span->item * VIEW_BYTES;
    const uint32_t bytes = sl_load32(view);
    span->bytes = bytes;
    if (bytes <= VIEW_INLINE) {
        span->offset = span->item * VIEW_BYTES + 4;
        return sl_accept();
    }
    const uint32_t number = sl_load32(view + 8);
    const uint32_t offset = sl_load32(view + 12);
    if (number >= array->data_count - 1 || offset > array->data[number + 1].size ||
        bytes > array->data[number + 1].size - offset) {
        return sl_refuse(wrong_offsets, 0);
    }
    span->data = number + 1;
    span->offset = offset;
    return sl_accept();
}

/* Locates values begin to end of the last level. */
static sl_refusal arrow_array_place(const sl_arrow_array *array, uint64_t begin, uint64_t end,
                                    sl_arrow_span *span)
{
    const sl_arrow_node *node = array->levels[array->level_count - 1].node;
    span->item = begin;
    if (!node->coded && node->layout == SL_ARROW_AS_BYTES) {
        return place_bytes(array, span);
    }
    if (!node->coded && node->layout == SL_ARROW_AS_VIEWS) {
        return place_view(array, span);
    }
    const uint64_t width = (node->coded ? node->code_bits : node->bits) / 8;
    span->offset = begin * width;
    span->bytes = (end - begin) * width;
    return sl_accept();
}

/*
 * Determines whether values begin to end of a level are present; a tensor cannot contain a null
 * inside a list.
 */
static void look_for_nulls(const sl_arrow_level *level, uint64_t begin, uint64_t end, bool in_list,
                           sl_arrow_state *state)
{
    if (level->validity == NULL) {
        return;
    }
    for (uint64_t i = begin; i < end; i++) {
        if (!arrow_array_is_there(level, i)) {
            *state = in_list ? SL_ARROW_HAS_NULL : SL_ARROW_ABSENT;
        }
    }
}

sl_refusal sl_arrow_array_row(const sl_arrow_array *array, uint64_t row, sl_arrow_span *span)
{
    assert(row < array->rows);
    uint64_t begin = row;
    uint64_t end = row + 1;
    bool in_list = false;
    *span = (sl_arrow_span){.state = SL_ARROW_PRESENT};
    for (uint32_t i = 0; i < array->level_count; i++) {
        const sl_arrow_level *level = &array->levels[i];
        if (begin > end || end > level->length) {
            return sl_refuse(wrong_offsets, 0);
        }
        look_for_nulls(level, begin, end, in_list, &span->state);
        if (span->state == SL_ARROW_ABSENT) {
            return sl_accept();
        }
        in_list = in_list || level->node->layout == SL_ARROW_AS_LISTS ||
                  level->node->layout == SL_ARROW_AS_FIXED_LISTS;
        if (i + 1 < array->level_count && !descend(level, &begin, &end, &span->state)) {
            return sl_refuse(wrong_offsets, 0);
        }
    }
    if (begin == end && in_list) {
        return sl_accept(); /* an empty list may have no buffer */
    }
    return arrow_array_place(array, begin, end, span);
}

sl_refusal sl_arrow_lists_row(const sl_arrow_array *array, uint64_t row, uint64_t *begin,
                              uint64_t *end)
{
    assert(row < array->rows);
    sl_arrow_state state = SL_ARROW_PRESENT;
    *begin = row;
    *end = row + 1;
    for (uint32_t i = 0; i < array->level_count; i++) {
        const sl_arrow_level *level = &array->levels[i];
        if (*begin > *end || *end > level->length) {
            return sl_refuse(wrong_offsets, 0);
        }
        look_for_nulls(level, *begin, *end, false, &state);
        if (state == SL_ARROW_ABSENT) {
            *begin = *end = 0;
            return sl_accept();
        }
        if (!descend(level, begin, end, &state)) {
            return sl_refuse(wrong_offsets, 0);
        }
    }
    return *begin <= *end ? sl_accept() : sl_refuse(wrong_offsets, 0);
}

/* ---- numbers ---- */

bool sl_arrow_array_number(const sl_arrow_array *array, uint64_t item, sl_value *value)
{
    const sl_arrow_node *node = array->levels[array->level_count - 1].node;
    const uint8_t *data = array->data[0].bytes;
    if (!node->coded && node->type == SL_ARROW_BOOL) {
        value->integer = data[item / 8] >> item % 8 & 1;
        return true;
    }
    const size_t bytes = (node->coded ? node->code_bits : node->bits) / 8;
    const uint8_t *from = data + item * bytes;
    if (!node->coded && node->type == SL_ARROW_FLOAT) {
        value->number = sl_stored_float(from, bytes);
        return true;
    }
    /* dates and times are signed */
    const bool is_signed =
        node->coded ? node->code_signed : node->type != SL_ARROW_INT || node->is_signed;
    value->integer = sl_stored_integer(from, bytes, is_signed);
    return is_signed || value->integer >= 0;
}
