/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_values: decodes all values of a leaf, page by page; each encoding has a `begin` and a
 * `next`. One owner thread.
 *
 * A page is unpacked as a whole, and valid until the next page.
 */
#include "parquet_values.h"

#include "little_endian.h"
#include "memory.h"
#include "parquet_delta.h"
#include "parquet_page.h"
#include "parquet_pages.h"
#include "store.h"

#define STAGE "dataset"

/* Bytes of a page to unpack if the sink only peeks. */
enum { PEEK_BYTES = 16 << 10, LENGTH_BYTES = 4 };

/* Source of the values of a page. */
typedef struct source {
    uint32_t encoding;
    uint32_t most; /* maximum number of values */
    sl_bytes bytes;
    size_t at;         /* position in them */
    sl_levels numbers; /* for dictionaries, and booleans in runs */
    uint64_t bit;      /* for plain booleans */
    uint32_t done, count;
    const int64_t *integers; /* numbers for DELTA_BINARY_PACKED; lengths for the others */
    const int64_t *prefixes; /* for DELTA_BYTE_ARRAY */
} source;

typedef struct decoder {
    const sl_parquet_leaf *leaf;
    const sl_parquet_sink *sink;
    sl_parquet_walk walk;
    sl_bytes dictionary; /* body of the dictionary page */
    uint32_t *places;    /* offsets in it of values with their lengths in front */
    uint32_t dictionary_count, dictionaries;
    sl_value_buffer body, unpacked, dictionary_capacity;
    sl_value_buffer integers, prefixes, joined;
    size_t joined_bytes; /* size of the previous value */
    bool cut;            /* true if only a part of the page is decoded */
    sl_frame *frame;
} decoder;

static sluice_status parquet_values_fail(const decoder *d, const sl_parquet_page *page,
                                         sluice_status status, const char *why, sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, d->walk.from->name.path, (int64_t)page->offset,
                         "column \"%s\": %s", d->leaf->name, why);
}

static sluice_status parquet_values_damaged(const decoder *d, const sl_parquet_page *page,
                                            sluice_error *error)
{
    return parquet_values_fail(d, page, SLUICE_CORRUPT, "a page is damaged", error);
}

/* ---- values as they are ---- */

static bool parquet_values_take_bytes(source *s, size_t bytes, const uint8_t **data)
{
    if (bytes > s->bytes.size - s->at) {
        return false;
    }
    *data = s->bytes.data + s->at;
    s->at += bytes;
    return true;
}

static void parquet_values_set_number(const sl_parquet_leaf *leaf, const uint8_t *data,
                                      sl_parquet_slot *slot)
{
    uint64_t bits = leaf->type == SL_PARQUET_INT64 || leaf->type == SL_PARQUET_DOUBLE
                        ? sl_load64(data)
                        : sl_load32(data);
    if (leaf->type == SL_PARQUET_DOUBLE) {
        memcpy(&slot->number, &bits, sizeof(slot->number));
    } else if (leaf->type == SL_PARQUET_FLOAT) {
        const uint32_t half = (uint32_t)bits;
        float number;
        memcpy(&number, &half, sizeof(number));
        slot->number = (double)number;
    } else if (leaf->type == SL_PARQUET_INT32 && leaf->meaning != SL_PARQUET_UNSIGNED) {
        slot->integer = (int32_t)(uint32_t)bits;
    } else {
        slot->integer = (int64_t)bits;
    }
}

/* Returns the size of a fixed-size value; 0: variable. */
static size_t fixed_bytes(const sl_parquet_leaf *leaf)
{
    switch (leaf->type) {
    case SL_PARQUET_INT32:
    case SL_PARQUET_FLOAT:
        return 4;
    case SL_PARQUET_INT64:
    case SL_PARQUET_DOUBLE:
        return 8;
    case SL_PARQUET_INT96:
        return 12;
    case SL_PARQUET_FIXED:
        return leaf->type_bytes;
    default:
        return 0;
    }
}

static bool parquet_values_is_number(const sl_parquet_leaf *leaf)
{
    return leaf->type != SL_PARQUET_FIXED && leaf->type != SL_PARQUET_INT96;
}

static bool next_plain(const decoder *d, source *s, sl_parquet_slot *slot)
{
    const uint8_t *data;
    if (d->leaf->type == SL_PARQUET_BOOLEAN) {
        if (s->bit / 8 >= s->bytes.size - s->at) {
            return false;
        }
        slot->integer = s->bytes.data[s->at + s->bit / 8] >> s->bit % 8 & 1;
        s->bit++;
        return true;
    }
    if (d->leaf->type == SL_PARQUET_BYTES) {
        if (!parquet_values_take_bytes(s, 4, &data)) {
            return false;
        }
        const size_t left = s->bytes.size - s->at;
        const size_t size = sl_load32(data);
        const size_t bytes = d->cut && size > left ? left : size;
        slot->bytes.size = bytes;
        return parquet_values_take_bytes(s, bytes, &slot->bytes.data);
    }
    const size_t bytes = fixed_bytes(d->leaf);
    if (!parquet_values_take_bytes(s, bytes, &data)) {
        return false;
    }
    if (parquet_values_is_number(d->leaf)) {
        parquet_values_set_number(d->leaf, data, slot);
    } else {
        slot->bytes = (sl_bytes){data, bytes};
    }
    return true;
}

/* ---- other encodings ---- */

static bool next_of_dictionary(const decoder *d, source *s, sl_parquet_slot *slot)
{
    uint32_t number;
    if (!sl_levels_next(&s->numbers, &number) || number >= d->dictionary_count) {
        return false;
    }
    source value = {.encoding = SL_PARQUET_PLAIN, .bytes = d->dictionary};
    value.at = d->places != NULL ? d->places[number] : number * fixed_bytes(d->leaf);
    slot->entry = number + 1;
    slot->dictionary = d->dictionaries;
    return next_plain(d, &value, slot);
}

/* Reads a split value, whose byte k is number k x count + i. */
static bool next_split(decoder *d, source *s, sl_parquet_slot *slot)
{
    const size_t bytes = fixed_bytes(d->leaf);
    const size_t count = bytes > 0 ? s->bytes.size / bytes : 0;
    uint8_t *to = sl_value_buffer_take(&d->joined, bytes);
    if (s->done >= count || to == NULL) {
        return false;
    }
    for (size_t k = 0; k < bytes; k++) {
        to[k] = s->bytes.data[k * count + s->done];
    }
    s->done++;
    if (parquet_values_is_number(d->leaf)) {
        parquet_values_set_number(d->leaf, to, slot);
    } else {
        slot->bytes = (sl_bytes){to, bytes};
    }
    return true;
}

/* Reads a value that consists of a prefix of the previous one and a suffix. */
static bool next_joined(decoder *d, source *s, sl_parquet_slot *slot)
{
    const uint8_t *data;
    const int64_t prefix = s->prefixes[s->done];
    const int64_t bytes = s->integers[s->done];
    if (prefix < 0 || (uint64_t)prefix > d->joined_bytes || bytes < 0 ||
        !parquet_values_take_bytes(s, (size_t)bytes, &data)) {
        return false;
    }
    const size_t all = (size_t)prefix + (size_t)bytes;
    if (all >= d->joined.bytes) { /* grows while keeping the contents */
        uint8_t *grown = sl_realloc_array(d->joined.data, all + all / 2 + 1, 1);
        if (grown == NULL) {
            return false;
        }
        d->joined.data = grown;
        d->joined.bytes = all + all / 2 + 1;
    }
    memcpy(d->joined.data + prefix, data, (size_t)bytes);
    d->joined_bytes = all;
    slot->bytes = (sl_bytes){d->joined.data, all};
    return true;
}

static bool next_delta(decoder *d, source *s, sl_parquet_slot *slot)
{
    if (s->done >= s->count) {
        return false;
    }
    bool good = true;
    if (s->encoding == SL_PARQUET_DELTA_BINARY_PACKED) {
        slot->integer = s->integers[s->done];
        if (d->leaf->type == SL_PARQUET_INT32) {
            slot->integer = d->leaf->meaning == SL_PARQUET_UNSIGNED
                                ? (int64_t)(uint32_t)slot->integer
                                : (int64_t)(int32_t)slot->integer;
        }
    } else if (s->encoding == SL_PARQUET_DELTA_BYTE_ARRAY) {
        good = next_joined(d, s, slot);
    } else {
        slot->bytes.size = (size_t)s->integers[s->done];
        good = s->integers[s->done] >= 0 &&
               parquet_values_take_bytes(s, slot->bytes.size, &slot->bytes.data);
    }
    s->done++;
    return good;
}

static bool next_value(decoder *d, source *s, sl_parquet_slot *slot)
{
    uint32_t bit;
    switch (s->encoding) {
    case SL_PARQUET_PLAIN:
        return next_plain(d, s, slot);
    case SL_PARQUET_PLAIN_DICTIONARY:
    case SL_PARQUET_RLE_DICTIONARY:
        return next_of_dictionary(d, s, slot);
    case SL_PARQUET_RLE:
        if (!sl_levels_next(&s->numbers, &bit)) {
            return false;
        }
        slot->integer = bit;
        return true;
    case SL_PARQUET_BYTE_STREAM_SPLIT:
        return next_split(d, s, slot);
    default:
        return next_delta(d, s, slot);
    }
}

/* ---- how the values of a page begin ---- */

static bool read_delta(sl_value_buffer *buffer, sl_bytes bytes, uint32_t most, uint32_t *count,
                       size_t *used)
{
    if (!sl_parquet_delta_count(bytes, most, count)) {
        return false;
    }
    int64_t *to = (int64_t *)(void *)sl_value_buffer_take(buffer, (size_t)*count * sizeof(*to));
    return to != NULL && sl_parquet_delta_read(bytes, to, *count, used);
}

static const int64_t *integers_of(const sl_value_buffer *buffer)
{
    return (const int64_t *)(const void *)buffer->data;
}

static bool begin_delta(decoder *d, source *s)
{
    size_t used = 0;
    uint32_t prefixes = 0;
    if (s->encoding == SL_PARQUET_DELTA_BYTE_ARRAY) {
        if (!read_delta(&d->prefixes, s->bytes, s->most, &prefixes, &used)) {
            return false;
        }
        s->at = used;
        d->joined_bytes = 0;
    }
    const sl_bytes rest = {s->bytes.data + s->at, s->bytes.size - s->at};
    if (!read_delta(&d->integers, rest, s->most, &s->count, &used)) {
        return false;
    }
    s->at += used;
    s->integers = integers_of(&d->integers);
    s->prefixes = integers_of(&d->prefixes);
    return s->encoding != SL_PARQUET_DELTA_BYTE_ARRAY || prefixes == s->count;
}

static bool begin_numbers(source *s, sl_bytes bytes, uint32_t width)
{
    sl_levels_begin(&s->numbers, bytes, width);
    return width <= 32;
}

/* Returns whether an encoding is valid for the leaf's type. */
static bool parquet_values_is_possible(const sl_parquet_leaf *leaf, uint32_t encoding)
{
    const bool is_integer = leaf->type == SL_PARQUET_INT32 || leaf->type == SL_PARQUET_INT64;
    switch (encoding) {
    case SL_PARQUET_PLAIN:
    case SL_PARQUET_PLAIN_DICTIONARY:
    case SL_PARQUET_RLE_DICTIONARY:
        return true;
    case SL_PARQUET_RLE:
        return leaf->type == SL_PARQUET_BOOLEAN;
    case SL_PARQUET_DELTA_BINARY_PACKED:
        return is_integer;
    case SL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return leaf->type == SL_PARQUET_BYTES;
    case SL_PARQUET_DELTA_BYTE_ARRAY:
        return leaf->type == SL_PARQUET_BYTES || leaf->type == SL_PARQUET_FIXED;
    case SL_PARQUET_BYTE_STREAM_SPLIT:
        return leaf->type != SL_PARQUET_BYTES && leaf->type != SL_PARQUET_BOOLEAN &&
               leaf->type != SL_PARQUET_INT96;
    default:
        return false;
    }
}

static bool begin_values(decoder *d, const sl_parquet_page *page, sl_bytes bytes, source *s)
{
    const uint32_t encoding =
        page->kind == SL_PARQUET_DICTIONARY ? SL_PARQUET_PLAIN : page->encoding;
    *s = (source){.encoding = encoding, .most = page->values, .bytes = bytes};
    switch (encoding) {
    case SL_PARQUET_PLAIN_DICTIONARY:
    case SL_PARQUET_RLE_DICTIONARY:
        return bytes.size > 0
                   ? begin_numbers(s, (sl_bytes){bytes.data + 1, bytes.size - 1}, bytes.data[0])
                   : begin_numbers(s, bytes, 0);
    case SL_PARQUET_RLE:
        return bytes.size >= 4 && sl_load32(bytes.data) <= bytes.size - 4 &&
               begin_numbers(s, (sl_bytes){bytes.data + 4, sl_load32(bytes.data)}, 1);
    case SL_PARQUET_DELTA_BINARY_PACKED:
    case SL_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
    case SL_PARQUET_DELTA_BYTE_ARRAY:
        return bytes.size == 0 || begin_delta(d, s);
    default:
        return true;
    }
}

/* ---- pages ---- */

/* Unpacks the page's body into `buffer`. */
static sluice_status parquet_values_load(decoder *d, const sl_parquet_page *page,
                                         sl_value_buffer *buffer, sl_bytes *body,
                                         sluice_error *error)
{
    uint8_t *stored = sl_value_buffer_take(&d->body, page->bytes);
    uint8_t *to = sl_value_buffer_take(buffer, page->unpacked);
    if (stored == NULL || to == NULL) {
        return parquet_values_fail(d, page, SLUICE_NOMEM, "out of memory for a page", error);
    }
    sluice_status status = sl_handle_read(d->walk.from, stored, page->bytes, page->offset, error);
    if (status < 0) {
        return status;
    }
    const size_t plain =
        page->kind == SL_PARQUET_DATA_2 ? (size_t)page->rep_bytes + page->def_bytes : 0;
    memcpy(to, stored, plain);
    if (sl_page_unpack(d->frame, page->compressed ? (sl_page_codec)d->walk.codec : SL_PAGE_PLAIN,
                       (sl_bytes){stored + plain, page->bytes - plain}, to + plain,
                       page->unpacked - plain, NULL) < 0) {
        return parquet_values_damaged(d, page, error);
    }
    *body = (sl_bytes){to, page->unpacked};
    return SLUICE_OK;
}

/* Finds the offsets of values with their lengths in front; each value takes at least its length. */
static sluice_status find_places(decoder *d, const sl_parquet_page *page, sluice_error *error)
{
    source s = {.encoding = SL_PARQUET_PLAIN, .bytes = d->dictionary};
    sl_parquet_slot slot;
    if (page->values > page->unpacked / LENGTH_BYTES) {
        return parquet_values_damaged(d, page, error);
    }
    d->places = sl_malloc(((size_t)page->values + 1) * sizeof(*d->places));
    if (d->places == NULL) {
        return parquet_values_fail(d, page, SLUICE_NOMEM, "out of memory for a dictionary", error);
    }
    for (uint32_t i = 0; i < page->values; i++) {
        d->places[i] = (uint32_t)s.at;
        if (!next_plain(d, &s, &slot)) {
            return parquet_values_damaged(d, page, error);
        }
    }
    return SLUICE_OK;
}

static sluice_status take_dictionary(decoder *d, const sl_parquet_page *page, sluice_error *error)
{
    const size_t bytes = fixed_bytes(d->leaf);
    sl_bytes body = {NULL, 0};
    sl_free(d->places);
    d->places = NULL;
    d->dictionary_count = 0;
    sluice_status status = parquet_values_load(d, page, &d->dictionary_capacity, &body, error);
    if (status < 0 || body.data == NULL) {
        return status;
    }
    d->dictionary = body;
    d->dictionaries++;
    if (d->leaf->type == SL_PARQUET_BYTES) {
        status = find_places(d, page, error);
    } else if (bytes == 0 ||
               page->values > page->unpacked / bytes) { /* dictionaries have no booleans */
        status = parquet_values_damaged(d, page, error);
    }
    d->dictionary_count = status == SLUICE_OK ? page->values : 0;
    return status;
}

/* Takes levels from the front of the rest of a body. */
static bool take_levels(const sl_parquet_page *page, sl_bytes *left, uint32_t stored, uint32_t max,
                        sl_levels *levels)
{
    size_t bytes = stored;
    if (page->kind == SL_PARQUET_DATA_1 && max > 0) {
        if (left->size < 4) {
            return false;
        }
        bytes = sl_load32(left->data);
        left->data += 4;
        left->size -= 4;
    }
    if (bytes > left->size) {
        return false;
    }
    sl_levels_begin(levels, (sl_bytes){left->data, bytes}, sl_levels_width(max));
    left->data += bytes;
    left->size -= bytes;
    return true;
}

/* Reads the next level; if no levels are stored, all are 0. */
static bool next_level(sl_levels *levels, uint32_t max, uint32_t *level)
{
    *level = 0;
    return max == 0 || (sl_levels_next(levels, level) && *level <= max);
}

static sluice_status parquet_values_take_data(decoder *d, const sl_parquet_page *page,
                                              sluice_error *error)
{
    sl_levels reps;
    sl_levels defs;
    sl_bytes left = {NULL, 0};
    source s;
    const sl_parquet_leaf *leaf = d->leaf;
    sluice_status status = parquet_values_load(d, page, &d->unpacked, &left, error);
    if (status < 0 || left.data == NULL) {
        return status;
    }
    if (!parquet_values_is_possible(leaf, page->encoding) ||
        (page->kind == SL_PARQUET_DATA_1 && leaf->max_def > 0 &&
         page->level_encoding != SL_PARQUET_RLE)) {
        return parquet_values_fail(d, page, SLUICE_UNSUPPORTED,
                                   "its values have an unknown encoding", error);
    }
    if (!take_levels(page, &left, page->rep_bytes, leaf->max_rep, &reps) ||
        !take_levels(page, &left, page->def_bytes, leaf->max_def, &defs) ||
        !begin_values(d, page, left, &s)) {
        return parquet_values_damaged(d, page, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < page->values; i++) {
        sl_parquet_slot slot = {.bytes = {NULL, 0}};
        if (!next_level(&reps, leaf->max_rep, &slot.rep) ||
            !next_level(&defs, leaf->max_def, &slot.def) ||
            (slot.def == leaf->max_def && !next_value(d, &s, &slot))) {
            return parquet_values_damaged(d, page, error);
        }
        status = d->sink->take(d->sink->ctx, &slot, error);
    }
    return status;
}

/*
 * Decodes the first bytes of a page; if they are not enough, decodes the whole page from its first
 * slot.
 */
static sluice_status peek_at(decoder *d, const sl_parquet_page *page)
{
    sl_parquet_page first = *page;
    if (!d->sink->peeks || page->compressed || page->bytes <= PEEK_BYTES ||
        page->rep_bytes + page->def_bytes > PEEK_BYTES) {
        return SLUICE_OK;
    }
    d->cut = true;
    first.bytes = first.unpacked = PEEK_BYTES;
    const sluice_status status = parquet_values_take_data(d, &first, NULL);
    d->cut = false;
    return status;
}

static sluice_status take_page(decoder *d, const sl_parquet_page *page, sluice_error *error)
{
    if (page->kind == SL_PARQUET_DICTIONARY) {
        return take_dictionary(d, page, error);
    }
    return peek_at(d, page) == SLUICE_END ? SLUICE_END : parquet_values_take_data(d, page, error);
}

static void close_decoder(decoder *d)
{
    sl_value_buffer_close(&d->body);
    sl_value_buffer_close(&d->unpacked);
    sl_value_buffer_close(&d->dictionary_capacity);
    sl_value_buffer_close(&d->integers);
    sl_value_buffer_close(&d->prefixes);
    sl_value_buffer_close(&d->joined);
    sl_frame_close(d->frame);
    sl_free(d->places);
    sl_free(d);
}

sluice_status sl_parquet_decode(const sl_parquet_leaf *leaf, const sl_parquet_chunk *chunk,
                                const sl_handle *from, const sl_parquet_sink *sink,
                                sluice_error *error)
{
    decoder *d = sl_calloc(1, sizeof(*d));
    if (d == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for a page");
    }
    d->leaf = leaf;
    d->sink = sink;
    sl_parquet_walk_begin(&d->walk, from, chunk);
    sluice_status status =
        chunk->codec == SL_PAGE_ZSTD ? sl_frame_open(&d->frame, error) : SLUICE_OK;
    while (status == SLUICE_OK) {
        sl_parquet_page page = {.bytes = 0};
        status = sl_parquet_walk_next(&d->walk, chunk->values, &page, error);
        if (status == SLUICE_OK) {
            status = take_page(d, &page, error);
        }
    }
    close_decoder(d);
    return status == SLUICE_END ? SLUICE_OK : status;
}
