/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_make: splits rows into slots of levels and values, one leaf of a row group after the
 * other (shred_row); put_page writes them as pages, with headers in Thrift's compact protocol.
 */
#include "parquet_make.h"

#include "row_model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

enum { INT32 = 1, INT64 = 2, FLOAT = 4, BYTE_ARRAY = 6 };
enum { REQUIRED, OPTIONAL, REPEATED };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, DELTA_BINARY_PACKED = 5, DELTA_LENGTH = 6 };
enum { DELTA_BYTE_ARRAY = 7, RLE_DICTIONARY = 8, BYTE_STREAM_SPLIT = 9 };
enum { T_TRUE = 1, T_FALSE = 2, T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

typedef struct buffer {
    uint8_t *data;
    size_t size, capacity;
} buffer;

static void put(buffer *b, const void *bytes, size_t size)
{
    if (b->size + size > b->capacity) {
        b->capacity = 2 * (b->size + size);
        b->data = realloc(b->data, b->capacity);
        assert(b->data != NULL);
    }
    if (size > 0) {
        memcpy(b->data + b->size, bytes, size);
    }
    b->size += size;
}

static void put_number(buffer *b, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        put(b, &(uint8_t){(uint8_t)(number >> 8 * i)}, 1);
    }
}

static void put_varint(buffer *b, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        put_number(b, (number & 127) | 128, 1);
    }
    put_number(b, number, 1);
}

static void put_zigzag(buffer *b, int64_t number)
{
    put_varint(b, (uint64_t)number << 1 ^ (uint64_t)(number < 0 ? -1 : 0));
}

/* ---- Thrift: fields of a struct in ascending order of their numbers ---- */

typedef struct record {
    buffer *to;
    unsigned last;
} record;

static void field(record *r, unsigned id, unsigned type)
{
    put_number(r->to, (id - r->last) << 4 | type, 1);
    r->last = id;
}

static void number(record *r, unsigned id, unsigned type, int64_t value)
{
    field(r, id, type);
    put_zigzag(r->to, value);
}

static void text(record *r, unsigned id, const char *value)
{
    field(r, id, T_BINARY);
    put_varint(r->to, strlen(value));
    put(r->to, value, strlen(value));
}

static void list(record *r, unsigned id, unsigned type, unsigned count)
{
    field(r, id, T_LIST);
    put_number(r->to, (count < 15 ? count : 15) << 4 | type, 1);
    if (count >= 15) {
        put_varint(r->to, count);
    }
}

static void end(record *r)
{
    put_number(r->to, 0, 1);
}

/* ---- leaves ---- */

typedef struct leaf {
    const char *path[3];
    unsigned type, bytes; /* bytes of a value; 0: each has a length */
    unsigned max_def, max_rep;
} leaf;

static const leaf leaves[PARQUET_LEAVES] = {
    [PARQUET_IMAGE] = {{"image", "bytes"}, BYTE_ARRAY, 0, 2, 0},
    [PARQUET_PATH] = {{"image", "path"}, BYTE_ARRAY, 0, 2, 0},
    [PARQUET_LABEL] = {{"label"}, INT64, 8, 1, 0},
    [PARQUET_WORD] = {{"word"}, BYTE_ARRAY, 0, 0, 0},
    [PARQUET_LIST] = {{"list", "list", "element"}, INT32, 4, 2, 1},
    [PARQUET_PAIR] = {{"pair", "list", "element"}, FLOAT, 4, 1, 1},
};

enum { SLOTS_MAX = 1 << 14 };

/* Some rows of one leaf. */
typedef struct slots {
    uint8_t rep[SLOTS_MAX], def[SLOTS_MAX];
    unsigned count, values, rows;
    buffer bytes; /* the values' bytes, */
    size_t ends[SLOTS_MAX];
} slots;

static void add_slot(slots *s, unsigned rep, unsigned def)
{
    assert(s->count < SLOTS_MAX);
    s->rep[s->count] = (uint8_t)rep;
    s->def[s->count++] = (uint8_t)def;
}

static void add_value(slots *s, unsigned rep, unsigned def, const void *bytes, size_t size)
{
    add_slot(s, rep, def);
    put(&s->bytes, bytes, size);
    s->ends[s->values++] = s->bytes.size;
}

static void add_image(slots *s, unsigned n, unsigned image)
{
    uint8_t *pixels = malloc(image + n);
    assert(pixels != NULL);
    memset(pixels, (int)(n % 256), image + n);
    if (row_has_image(n)) {
        add_value(s, 0, 2, pixels, image + n);
    } else {
        add_slot(s, 0, n % 2); /* no structure, or one without bytes */
    }
    free(pixels);
}

static void add_path(slots *s, unsigned n)
{
    char path[32];
    const int length = snprintf(path, sizeof(path), "pictures/%u.jpg", n);
    if (row_has_image(n)) {
        add_value(s, 0, 2, path, (size_t)length);
    } else {
        add_slot(s, 0, n % 2);
    }
}

static void add_list(slots *s, unsigned n)
{
    const int32_t element = (int32_t)n;
    if (n % 4 == 0) {
        add_slot(s, 0, n % 8 != 0);
    }
    for (unsigned i = 0; i < n % 4; i++) {
        add_value(s, i > 0, 2, &element, sizeof(element));
    }
}

/* Splits row n into slots. */
static void shred_row(slots *s, unsigned which, unsigned n, unsigned image)
{
    const int64_t label = n % 3;
    const float pair[2] = {(float)n, -(float)n};
    s->rows++;
    switch (which) {
    case PARQUET_IMAGE:
        add_image(s, n, image);
        break;
    case PARQUET_PATH:
        add_path(s, n);
        break;
    case PARQUET_LABEL:
        if (row_has_label(n)) {
            add_value(s, 0, 1, &label, sizeof(label));
        } else {
            add_slot(s, 0, 0);
        }
        break;
    case PARQUET_WORD:
        add_value(s, 0, 0, row_word(n), strlen(row_word(n)));
        break;
    case PARQUET_LIST:
        add_list(s, n);
        break;
    default:
        add_value(s, 0, 1, &pair[0], 4);
        add_value(s, 1, 1, &pair[1], 4);
        break;
    }
}

static const uint8_t *value_at(const slots *s, unsigned i, size_t *size)
{
    const size_t begin = i > 0 ? s->ends[i - 1] : 0;
    *size = s->ends[i] - begin;
    return s->bytes.data + begin;
}

/* ---- encodings ---- */

/* Packs bits, least significant first, padded with zeros to groups of 8. */
static void put_packed(buffer *b, const uint64_t *numbers, unsigned count, unsigned width)
{
    const unsigned whole = (count + 7) / 8 * 8;
    uint8_t byte = 0;
    for (unsigned bit = 0; bit < whole * width; bit++) {
        const uint64_t value = bit / width < count ? numbers[bit / width] : 0;
        byte |= (uint8_t)((value >> bit % width & 1) << bit % 8);
        if (bit % 8 == 7) {
            put_number(b, byte, 1);
            byte = 0;
        }
    }
}

static unsigned bits_of(uint64_t most)
{
    unsigned bits = 0;
    for (; most > 0; most >>= 1) {
        bits++;
    }
    return bits;
}

/* Writes the RLE/bit-packing hybrid, using only one of the two. */
static void put_hybrid(buffer *b, const uint64_t *numbers, unsigned count, unsigned width,
                       bool packed)
{
    if (packed) {
        put_varint(b, (uint64_t)((count + 7) / 8) << 1 | 1);
        put_packed(b, numbers, count, width);
        return;
    }
    for (unsigned at = 0; at < count;) {
        unsigned run = 1;
        while (at + run < count && numbers[at + run] == numbers[at]) {
            run++;
        }
        put_varint(b, (uint64_t)run << 1);
        put_number(b, numbers[at], (width + 7) / 8);
        at += run;
    }
}

/* Writes levels of one byte each. */
static void put_levels(buffer *b, const uint8_t *levels, unsigned count, unsigned most, bool packed)
{
    static uint64_t numbers[SLOTS_MAX];
    for (unsigned i = 0; i < count; i++) {
        numbers[i] = levels[i];
    }
    if (most > 0) {
        put_hybrid(b, numbers, count, bits_of(most), packed);
    }
}

/* Writes blocks of 128 in 4 parts of 32. */
static void put_deltas(buffer *b, const int64_t *numbers, unsigned count)
{
    put_varint(b, 128);
    put_varint(b, 4);
    put_varint(b, count);
    put_zigzag(b, count > 0 ? numbers[0] : 0);
    for (unsigned at = 1; at < count; at += 128) {
        const unsigned block = count - at < 128 ? count - at : 128;
        int64_t least = INT64_MAX;
        uint64_t above[128] = {0};
        uint8_t widths[4] = {0};
        for (unsigned i = 0; i < block; i++) {
            const int64_t delta = numbers[at + i] - numbers[at + i - 1];
            least = delta < least ? delta : least;
        }
        for (unsigned i = 0; i < block; i++) {
            above[i] = (uint64_t)(numbers[at + i] - numbers[at + i - 1] - least);
            const unsigned bits = bits_of(above[i]);
            widths[i / 32] = (uint8_t)(bits > widths[i / 32] ? bits : widths[i / 32]);
        }
        put_zigzag(b, least);
        put(b, widths, 4);
        for (unsigned part = 0; part * 32 < block; part++) {
            put_packed(b, above + (size_t)32 * part, 32, widths[part]);
        }
    }
}

/* Writes the lengths of the values after their first `skip[i]` bytes, then those bytes. */
static void put_rests(buffer *b, const slots *s, const int64_t *skip)
{
    static int64_t lengths[SLOTS_MAX];
    size_t size;
    for (unsigned i = 0; i < s->values; i++) {
        (void)value_at(s, i, &size);
        lengths[i] = (int64_t)size - skip[i];
    }
    put_deltas(b, lengths, s->values);
    for (unsigned i = 0; i < s->values; i++) {
        const uint8_t *value = value_at(s, i, &size);
        put(b, value + skip[i], size - (size_t)skip[i]);
    }
}

static void put_prefixes(buffer *b, const slots *s)
{
    static int64_t shared[SLOTS_MAX];
    size_t size = 0;
    size_t before_size = 0;
    const uint8_t *before = NULL;
    for (unsigned i = 0; i < s->values; i++) {
        const uint8_t *value = value_at(s, i, &size);
        for (shared[i] = 0; (size_t)shared[i] < size && (size_t)shared[i] < before_size &&
                            value[shared[i]] == before[shared[i]];) {
            shared[i]++;
        }
        before = value;
        before_size = size;
    }
    put_deltas(b, shared, s->values);
    put_rests(b, s, shared);
}

static void put_plain(buffer *b, const slots *s, unsigned bytes)
{
    for (unsigned i = 0; i < s->values; i++) {
        size_t size;
        const uint8_t *value = value_at(s, i, &size);
        if (bytes == 0) {
            put_number(b, size, 4);
        }
        put(b, value, size);
    }
}

/* Looks up the index of each value in `entries`, and adds new values to it. */
static void put_indices(buffer *b, const slots *s, slots *entries, bool packed)
{
    static uint64_t indices[SLOTS_MAX];
    for (unsigned i = 0; i < s->values; i++) {
        size_t size;
        size_t entry_size = 0;
        const uint8_t *value = value_at(s, i, &size);
        unsigned e = 0;
        for (; e < entries->values; e++) {
            const uint8_t *entry = value_at(entries, e, &entry_size);
            if (entry_size == size && memcmp(entry, value, size) == 0) {
                break;
            }
        }
        if (e == entries->values) {
            add_value(entries, 0, 0, value, size);
        }
        indices[i] = e;
    }
    const unsigned width = bits_of(entries->values > 0 ? entries->values - 1 : 0);
    put_number(b, width, 1);
    put_hybrid(b, indices, s->values, width, packed);
}

/* Writes the values of a page; returns their encoding. */
static unsigned put_values(buffer *b, const slots *s, unsigned which,
                           const parquet_options *options, slots *entries)
{
    static const int64_t none[SLOTS_MAX];
    static int64_t numbers[SLOTS_MAX];
    const leaf *own = &leaves[which];
    if (entries != NULL) {
        put_indices(b, s, entries, options->packed);
        return options->encoding == PARQUET_DICTIONARY ? RLE_DICTIONARY : PLAIN_DICTIONARY;
    }
    if (options->encoding == PARQUET_PLAIN || which == PARQUET_IMAGE) {
        put_plain(b, s, own->bytes);
        return PLAIN;
    }
    if (own->type == BYTE_ARRAY) {
        if (which == PARQUET_WORD) {
            put_rests(b, s, none);
            return DELTA_LENGTH;
        }
        put_prefixes(b, s);
        return DELTA_BYTE_ARRAY;
    }
    if (own->type == FLOAT) {
        for (unsigned byte = 0; byte < 4; byte++) {
            for (unsigned i = 0; i < s->values; i++) {
                put(b, s->bytes.data + (size_t)4 * i + byte, 1);
            }
        }
        return BYTE_STREAM_SPLIT;
    }
    for (unsigned i = 0; i < s->values; i++) {
        int32_t small;
        memcpy(&small, s->bytes.data + (size_t)i * own->bytes, 4);
        numbers[i] = small; /* the labels too */
    }
    put_deltas(b, numbers, s->values);
    return DELTA_BINARY_PACKED;
}

/* ---- pages ---- */

/* Writes only literals. */
static void put_snappy(buffer *b, const uint8_t *data, size_t size)
{
    put_varint(b, size);
    for (size_t at = 0; at < size;) {
        const size_t piece = size - at < 60 ? size - at : 60;
        put_number(b, (piece - 1) << 2, 1);
        put(b, data + at, piece);
        at += piece;
    }
}

static void put_compressed(buffer *b, parquet_codec codec, uint8_t *data, size_t size)
{
    const size_t capacity = ZSTD_compressBound(size) + 1024;
    uint8_t *packed = malloc(capacity);
    assert(packed != NULL);
    if (codec == PARQUET_STORED) {
        put(b, data, size);
    } else if (codec == PARQUET_SNAPPY) {
        put_snappy(b, data, size);
    } else if (codec == PARQUET_ZSTD) {
        const size_t bytes = ZSTD_compress(packed, capacity, data, size, 3);
        assert(!ZSTD_isError(bytes));
        put(b, packed, bytes);
    } else {
        z_stream z = {.next_in = data,
                      .avail_in = (uInt)size,
                      .next_out = packed,
                      .avail_out = (uInt)capacity};
        int status = deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        assert(status == Z_OK);
        status = deflate(&z, Z_FINISH);
        assert(status == Z_STREAM_END);
        (void)status;
        put(b, packed, z.total_out);
        (void)deflateEnd(&z);
    }
    free(packed);
}

/* Returns the number to write: the false one if it is claimed for leaf `which`, otherwise
 * `value`. */
static int64_t told(const parquet_options *options, parquet_claim kind, unsigned which,
                    int64_t value)
{
    return options->claim == kind && options->liar == which ? options->claimed : value;
}

typedef struct maker {
    const parquet_options *options;
    parquet_made *file;
    buffer out;
} maker;

typedef enum page_type { DATA_PAGE = 0, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 } page_type;

/* Claims about a page's values. */
typedef struct page_facts {
    page_type type;
    unsigned leaf, slots, values, rows, encoding, rep_bytes, def_bytes;
} page_facts;

static void put_facts(buffer *head, const page_facts *facts, const parquet_options *options)
{
    record r = {head, 0};
    const parquet_claim kind =
        facts->type == DICTIONARY_PAGE ? PARQUET_CLAIM_ENTRIES : PARQUET_CLAIM_VALUES;
    number(&r, 1, T_I32, told(options, kind, facts->leaf, facts->slots));
    if (facts->type == DATA_PAGE_V2) {
        number(&r, 2, T_I32, facts->slots - facts->values);
        number(&r, 3, T_I32, facts->rows);
        number(&r, 4, T_I32, facts->encoding);
        number(&r, 5, T_I32, facts->def_bytes);
        number(&r, 6, T_I32, facts->rep_bytes);
        field(&r, 7, options->codec != PARQUET_STORED ? T_TRUE : T_FALSE);
    } else {
        number(&r, 2, T_I32, facts->encoding);
        if (facts->type == DATA_PAGE) {
            number(&r, 3, T_I32, RLE);
            number(&r, 4, T_I32, RLE);
        }
    }
    end(&r);
}

/* `levels` are never compressed. */
static void put_page(maker *m, const page_facts *facts, const buffer *levels, const buffer *section)
{
    static const uint8_t member[] = {[DATA_PAGE] = 5, [DICTIONARY_PAGE] = 7, [DATA_PAGE_V2] = 8};
    buffer body = {0};
    buffer head = {0};
    put(&body, levels->data, levels->size);
    put_compressed(&body, m->options->codec, section->data, section->size);
    record r = {&head, 0};
    number(&r, 1, T_I32, facts->type);
    number(
        &r, 2, T_I32,
        told(m->options, PARQUET_CLAIM_RAW, facts->leaf, (int64_t)(levels->size + section->size)));
    number(&r, 3, T_I32, told(m->options, PARQUET_CLAIM_BYTES, facts->leaf, (int64_t)body.size));
    if (m->options->crc) {
        number(&r, 4, T_I32, (int32_t)crc32(0, body.data, (uInt)body.size));
    }
    field(&r, member[facts->type], T_STRUCT);
    put_facts(&head, facts, m->options);
    end(&r);
    assert(m->file->page_count < PARQUET_PAGES_MAX);
    m->file->pages[m->file->page_count++] = (parquet_page){
        facts->leaf, facts->type == DICTIONARY_PAGE, m->out.size, head.size, body.size};
    put(&m->out, head.data, head.size);
    put(&m->out, body.data, body.size);
    free(head.data);
    free(body.data);
}

/* Writes a page of the slots; if `out` is NULL, only adds its values to the dictionary. */
static void put_data_page(maker *m, unsigned which, const slots *s, slots *entries)
{
    const leaf *own = &leaves[which];
    const bool version2 = m->options->version2;
    buffer apart = {0};
    buffer section = {0};
    buffer *levels = version2 ? &apart : &section;
    page_facts facts = {.type = version2 ? DATA_PAGE_V2 : DATA_PAGE,
                        .leaf = which,
                        .slots = s->count,
                        .values = s->values,
                        .rows = s->rows};
    for (unsigned kind = 0; kind < 2; kind++) {
        buffer b = {0};
        const unsigned most = kind == 0 ? own->max_rep : own->max_def;
        put_levels(&b, kind == 0 ? s->rep : s->def, s->count, most, m->options->packed);
        if (!version2 && most > 0) {
            put_number(levels, b.size, 4);
        }
        put(levels, b.data, b.size);
        *(kind == 0 ? &facts.rep_bytes : &facts.def_bytes) = (unsigned)b.size;
        free(b.data);
    }
    facts.encoding = put_values(&section, s, which, m->options, entries);
    put_page(m, &facts, &apart, &section);
    free(apart.data);
    free(section.data);
}

/* ---- files ---- */

typedef struct chunk {
    size_t begin, data, end;
    unsigned slots;
    bool dictionary;
} chunk;

static void shred(slots *s, unsigned which, unsigned from, unsigned rows,
                  const parquet_options *options)
{
    s->count = s->values = s->rows = 0;
    s->bytes.size = 0;
    for (unsigned i = 0; i < rows; i++) {
        shred_row(s, which, options->first + from + i,
                  options->image > 0 ? options->image : ROW_IMAGE);
    }
}

/* Writes the dictionary, which comes first because it has the values of all pages. */
static void put_dictionary(maker *m, unsigned which, unsigned from, slots *s, slots *entries)
{
    buffer unused = {0};
    buffer plain = {0};
    entries->values = entries->count = 0;
    entries->bytes.size = 0;
    shred(s, which, from, m->options->rows, m->options);
    put_indices(&unused, s, entries, true);
    put_plain(&plain, entries, leaves[which].bytes);
    const page_facts facts = {
        .type = DICTIONARY_PAGE,
        .leaf = which,
        .slots = entries->values,
        .encoding = m->options->encoding == PARQUET_DICTIONARY ? PLAIN : PLAIN_DICTIONARY};
    put_page(m, &facts, &(buffer){0}, &plain);
    free(unused.data);
    free(plain.data);
}

static chunk put_chunk(maker *m, unsigned which, unsigned from)
{
    slots *s = calloc(2, sizeof(*s));
    assert(s != NULL);
    const parquet_options *options = m->options;
    const unsigned each = options->page_rows > 0 ? options->page_rows : options->rows;
    chunk c = {.begin = m->out.size,
               .dictionary = options->encoding == PARQUET_DICTIONARY ||
                             options->encoding == PARQUET_OLD_DICTIONARY};
    if (c.dictionary) {
        put_dictionary(m, which, from, &s[0], &s[1]);
    }
    c.data = m->out.size;
    for (unsigned at = 0; at < options->rows; at += each) {
        const unsigned rows = options->rows - at < each ? options->rows - at : each;
        shred(&s[0], which, from + at, rows, options);
        put_data_page(m, which, &s[0], c.dictionary ? &s[1] : NULL);
        c.slots += s[0].count;
    }
    c.end = m->out.size;
    free(s[0].bytes.data);
    free(s[1].bytes.data);
    free(s);
    return c;
}

/* `converted`: UTF8 is 0, LIST 3; -1: none. */
static void put_element(buffer *b, const char *name, int type, int repetition, int children,
                        int converted)
{
    record r = {b, 0};
    if (type >= 0) {
        number(&r, 1, T_I32, type);
    }
    if (repetition >= 0) {
        number(&r, 3, T_I32, repetition);
    }
    text(&r, 4, name);
    if (children > 0) {
        number(&r, 5, T_I32, children);
    }
    if (converted >= 0) {
        number(&r, 6, T_I32, converted);
    }
    end(&r);
}

static void put_schema(record *r)
{
    list(r, 2, T_STRUCT, 12);
    put_element(r->to, "schema", -1, -1, 5, -1);
    put_element(r->to, "image", -1, OPTIONAL, 2, -1);
    put_element(r->to, "bytes", BYTE_ARRAY, OPTIONAL, 0, -1);
    put_element(r->to, "path", BYTE_ARRAY, OPTIONAL, 0, 0);
    put_element(r->to, "label", INT64, OPTIONAL, 0, -1);
    put_element(r->to, "word", BYTE_ARRAY, REQUIRED, 0, 0);
    put_element(r->to, "list", -1, OPTIONAL, 1, 3);
    put_element(r->to, "list", -1, REPEATED, 1, -1);
    put_element(r->to, "element", INT32, REQUIRED, 0, -1);
    put_element(r->to, "pair", -1, REQUIRED, 1, 3);
    put_element(r->to, "list", -1, REPEATED, 1, -1);
    put_element(r->to, "element", FLOAT, REQUIRED, 0, -1);
}

static void put_column(buffer *b, const chunk *c, unsigned which, const parquet_options *options)
{
    record column = {b, 0};
    record meta = {b, 0};
    unsigned parts = 1;
    while (parts < 3 && leaves[which].path[parts] != NULL) {
        parts++;
    }
    number(&column, 2, T_I64, 0);
    field(&column, 3, T_STRUCT);
    number(&meta, 1, T_I32, leaves[which].type);
    list(&meta, 2, T_I32, 1);
    put_zigzag(b, RLE);
    list(&meta, 3, T_BINARY, parts);
    for (unsigned i = 0; i < parts; i++) {
        put_varint(b, strlen(leaves[which].path[i]));
        put(b, leaves[which].path[i], strlen(leaves[which].path[i]));
    }
    number(&meta, 4, T_I32, options->codec);
    number(&meta, 5, T_I64, told(options, PARQUET_CLAIM_SLOTS, which, c->slots));
    number(&meta, 6, T_I64, (int64_t)(c->end - c->begin)); /* readers ignore this */
    number(&meta, 7, T_I64, (int64_t)(c->end - c->begin));
    number(&meta, 9, T_I64, told(options, PARQUET_CLAIM_DATA, which, (int64_t)c->data));
    if (c->dictionary) {
        number(&meta, 11, T_I64, (int64_t)c->begin);
    }
    end(&meta);
    end(&column);
}

static const char features[] =
    "{\"info\": {\"features\": {"
    "\"label\": {\"names\": [\"ant\", \"bee\", \"cat\"], \"_type\": \"ClassLabel\"}}}}";

void parquet_make(parquet_made *file, const parquet_options *options)
{
    maker m = {.options = options, .file = file};
    buffer groups = {0};
    *file = (parquet_made){0};
    put(&m.out, "PAR1", 4);
    for (unsigned g = 0; g < options->groups; g++) {
        record r = {&groups, 0};
        const size_t begin = m.out.size;
        list(&r, 1, T_STRUCT, PARQUET_LEAVES);
        for (unsigned which = 0; which < PARQUET_LEAVES; which++) {
            const chunk c = put_chunk(&m, which, g * options->rows);
            put_column(&groups, &c, which, options);
        }
        number(&r, 2, T_I64, (int64_t)(m.out.size - begin));
        number(&r, 3, T_I64, told(options, PARQUET_CLAIM_ROWS, options->liar, options->rows));
        end(&r);
    }
    file->footer = m.out.size;
    record r = {&m.out, 0};
    number(&r, 1, T_I32, options->version2 ? 2 : 1);
    put_schema(&r);
    number(&r, 3, T_I64,
           options->groups * told(options, PARQUET_CLAIM_ROWS, options->liar, options->rows));
    list(&r, 4, T_STRUCT,
         (unsigned)told(options, PARQUET_CLAIM_GROUPS, options->liar, options->groups));
    put(&m.out, groups.data, groups.size);
    list(&r, 5, T_STRUCT, 1);
    record pair = {&m.out, 0};
    text(&pair, 1, "huggingface");
    text(&pair, 2, features);
    end(&pair);
    text(&r, 6, "parquet_make");
    end(&r);
    put_number(&m.out, m.out.size - file->footer, 4);
    put(&m.out, "PAR1", 4);
    free(groups.data);
    file->data = m.out.data;
    file->size = m.out.size;
    file->capacity = m.out.capacity;
}

void parquet_free(parquet_made *file)
{
    free(file->data);
    *file = (parquet_made){0};
}
