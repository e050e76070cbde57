/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_make.h"

#include <assert.h>
#include <string.h>

enum { ROWS_MAX = 64, BUFFERS_MAX = 32, NODES_MAX = 16, BLOCKS_MAX = 16, SLOTS_MAX = 8 };
enum { INT = 2, FLOAT = 3, BINARY = 4, UTF8 = 5, LIST = 12, STRUCT = 13, FIXED_LIST = 16 };
enum { SCHEMA = 1, DICTIONARY = 2, BATCH = 3 };

static const uint8_t magic[8] = {'A', 'R', 'R', 'O', 'W', '1', 0, 0};

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static void put(bytes *to, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to->data[to->size++] = (uint8_t)(value >> 8 * i);
    }
}

static void pad(bytes *to, size_t multiple, size_t short_of)
{
    while ((to->size + short_of) % multiple != 0) {
        put(to, 0, 1);
    }
}

/* ---- flatbuffers ---- */

/* Appends a table of 8-byte slots and returns its position. Omits a slot whose bit in `there` is 0.
 * The caller links offsets in `values` later. */
static size_t put_table(bytes *flat, const uint64_t *values, unsigned slots, unsigned there)
{
    assert(slots <= SLOTS_MAX);
    pad(flat, 8, 4 + 2 * slots + 4);
    put(flat, 4 + 2 * slots, 2);
    put(flat, 4 + 8 * slots, 2);
    for (unsigned i = 0; i < slots; i++) {
        put(flat, (there >> i & 1) != 0 ? 4 + 8 * i : 0, 2);
    }
    const size_t table = flat->size;
    put(flat, 4 + 2 * slots, 4);
    for (unsigned i = 0; i < slots; i++) {
        put(flat, values[i], 8);
    }
    return table;
}

/* Makes the offset at `place` refer to the next object, aligned to `align` after `head`. */
static void link_at(bytes *flat, size_t place, size_t align, size_t head)
{
    pad(flat, align, head);
    bytes at = {flat->data, place};
    put(&at, flat->size - place, 4);
}

static void link_slot(bytes *flat, size_t table, unsigned slot, size_t align, size_t head)
{
    link_at(flat, table + 4 + 8 * (size_t)slot, align, head);
}

static void put_text(bytes *flat, size_t table, unsigned slot, const char *text)
{
    link_slot(flat, table, slot, 4, 0);
    put(flat, strlen(text), 4);
    memcpy(flat->data + flat->size, text, strlen(text) + 1);
    flat->size += strlen(text) + 1;
}

/* Appends a vector of offsets and returns their position. */
static size_t put_offsets(bytes *flat, size_t table, unsigned slot, unsigned count)
{
    link_slot(flat, table, slot, 4, 0);
    put(flat, count, 4);
    const size_t at = flat->size;
    for (unsigned i = 0; i < count; i++) {
        put(flat, 0, 4);
    }
    return at;
}

static void put_root(bytes *flat)
{
    put(flat, 0, 4);
}

/* ---- schema ---- */

typedef struct field {
    const char *name;
    int type;
    uint64_t facts[2]; /* slots of the type's table */
    int dictionary;    /* dictionary number; -1: none */
    unsigned children; /* number of child fields, which follow */
} field;

static const field fields[] = {
    {"image", STRUCT, {0, 0}, -1, 2}, {"bytes", BINARY, {0, 0}, -1, 0},
    {"path", UTF8, {0, 0}, -1, 0},    {"label", INT, {64, 1}, -1, 0},
    {"word", UTF8, {0, 0}, 5, 0},     {"list", LIST, {0, 0}, -1, 1},
    {"item", INT, {32, 1}, -1, 0},    {"pair", FIXED_LIST, {2, 0}, -1, 1},
    {"item", FLOAT, {1, 0}, -1, 0},
};
static const field indices[] = {{"indices", INT, {64, 0}, -1, 0}};

/* Writes a field with its children. Returns the field after them. */
static const field *put_field(bytes *flat, size_t place, const field *of)
{
    const uint64_t values[6] = {0, 1, (uint64_t)of->type, 0, 0, 0};
    const unsigned there = 15U | (of->dictionary >= 0 ? 16U : 0) | (of->children > 0 ? 32U : 0);
    const size_t table = put_table(flat, values, 6, there);
    bytes at = {flat->data, place};
    put(&at, table - place, 4);
    put_text(flat, table, 0, of->name);
    link_at(flat, table + 4 + 24, 8, 4 + 2 * 2 + 4);
    const size_t type = put_table(flat, of->facts, 2, 3);
    bytes back = {flat->data, table + 4 + 24};
    put(&back, type - (table + 4 + 24), 4);
    if (of->dictionary >= 0) {
        const uint64_t id = (uint64_t)of->dictionary;
        const size_t coding = put_table(flat, &id, 1, 1); /* codes are i32 */
        bytes to = {flat->data, table + 4 + 32};
        put(&to, coding - (table + 4 + 32), 4);
    }
    const size_t children = of->children > 0 ? put_offsets(flat, table, 5, of->children) : 0;
    const field *next = of + 1;
    for (unsigned i = 0; i < of->children; i++) {
        next = put_field(flat, children + 4 * (size_t)i, next);
    }
    return next;
}

static size_t put_schema(bytes *flat, const field *of, unsigned columns)
{
    const uint64_t values[2] = {0, 0};
    const size_t table = put_table(flat, values, 2, 2);
    const size_t places = put_offsets(flat, table, 1, columns);
    for (unsigned i = 0; i < columns; i++) {
        of = put_field(flat, places + 4 * (size_t)i, of);
    }
    return table;
}

/* ---- messages ---- */

typedef struct body {
    uint64_t nodes[NODES_MAX][2];
    uint64_t buffers[BUFFERS_MAX][2];
    unsigned node_count, buffer_count;
    bytes all;
} body;

typedef struct block {
    uint64_t at;
    uint64_t metadata, body;
} block;

static size_t put_batch(bytes *flat, const body *of, uint64_t rows)
{
    const uint64_t values[3] = {rows, 0, 0};
    const size_t table = put_table(flat, values, 3, 7);
    link_slot(flat, table, 1, 8, 4);
    put(flat, of->node_count, 4);
    for (unsigned i = 0; i < of->node_count; i++) {
        put(flat, of->nodes[i][0], 8);
        put(flat, of->nodes[i][1], 8);
    }
    link_slot(flat, table, 2, 8, 4);
    put(flat, of->buffer_count, 4);
    for (unsigned i = 0; i < of->buffer_count; i++) {
        put(flat, of->buffers[i][0], 8);
        put(flat, of->buffers[i][1], 8);
    }
    return table;
}

static void link_back(bytes *flat, size_t place, size_t table)
{
    bytes at = {flat->data, place};
    put(&at, table - place, 4);
}

typedef struct message {
    int kind;
    const body *of; /* NULL: none */
    uint64_t rows;
    const field *schema;
    unsigned columns;
} message;

static block put_message(bytes *out, const message *what, bool legacy)
{
    static uint8_t memory[ARROW_MAKE_BYTES];
    bytes flat = {memory, 0};
    const body *of = what->of;
    const uint64_t size = of != NULL ? of->all.size : 0;
    const uint64_t values[4] = {legacy ? 3 : 4, (uint64_t)what->kind, 0, size};
    put_root(&flat);
    const size_t root = put_table(&flat, values, 4, 15);
    const size_t place = root + 4 + 16;
    link_back(&flat, 0, root);
    if (what->kind == SCHEMA) {
        link_back(&flat, place, put_schema(&flat, what->schema, what->columns));
    } else if (what->kind == BATCH) {
        link_back(&flat, place, put_batch(&flat, of, what->rows));
    } else {
        const uint64_t facts[2] = {5, 0};
        const size_t table = put_table(&flat, facts, 2, 3);
        link_back(&flat, place, table);
        link_back(&flat, table + 4 + 8, put_batch(&flat, of, what->rows));
    }
    const block made = {out->size, 0, size};
    const size_t prefix = legacy ? 4 : 8;
    pad(&flat, 8, prefix);
    put(out, UINT32_MAX, legacy ? 0 : 4);
    put(out, flat.size, 4);
    memcpy(out->data + out->size, flat.data, flat.size);
    out->size += flat.size;
    if (of != NULL) {
        memcpy(out->data + out->size, of->all.data, size);
        out->size += size;
    }
    return (block){made.at, prefix + flat.size, size};
}

/* ---- arrays ---- */

static void begin_array(body *of, uint64_t length, uint64_t nulls)
{
    of->nodes[of->node_count][0] = length;
    of->nodes[of->node_count++][1] = nulls;
}

/* Records the bytes appended since `from` as a buffer. */
static void end_buffer(body *of, size_t from)
{
    of->buffers[of->buffer_count][0] = from;
    of->buffers[of->buffer_count++][1] = of->all.size - from;
    pad(&of->all, 8, 0);
}

static void put_validity(body *of, unsigned first, unsigned rows, unsigned every)
{
    const size_t from = of->all.size;
    uint64_t bits = 0;
    for (unsigned i = 0; i < rows && every > 0; i++) {
        bits |= (uint64_t)((first + i) % every != every - 1) << i;
    }
    put(&of->all, bits, every > 0 ? (rows + 7) / 8 : 0);
    end_buffer(of, from);
}

static unsigned absent(unsigned first, unsigned rows, unsigned every)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rows; i++) {
        count += (first + i) % every == every - 1;
    }
    return count;
}

static void put_images(body *of, unsigned first, unsigned rows)
{
    begin_array(of, rows, absent(first, rows, 5));
    put_validity(of, first, rows, 5);
    begin_array(of, rows, 0);
    put_validity(of, first, rows, 0);
    size_t from = of->all.size;
    for (unsigned i = 0, at = 0; i <= rows; at += 100 + first + i, i++) {
        put(&of->all, at, 4);
    }
    end_buffer(of, from);
    from = of->all.size;
    for (unsigned i = 0; i < rows; i++) {
        memset(of->all.data + of->all.size, (int)((first + i) % 256), 100 + first + i);
        of->all.size += 100 + first + i;
    }
    end_buffer(of, from);
    begin_array(of, rows, rows); /* no paths */
    from = of->all.size;
    put(&of->all, 0, (rows + 7) / 8);
    end_buffer(of, from);
    from = of->all.size;
    for (unsigned i = 0; i <= rows; i++) {
        put(&of->all, 0, 4);
    }
    end_buffer(of, from);
    end_buffer(of, of->all.size);
}

static void put_numbers(body *of, unsigned first, unsigned rows)
{
    begin_array(of, rows, absent(first, rows, 7));
    put_validity(of, first, rows, 7);
    size_t from = of->all.size;
    for (unsigned i = 0; i < rows; i++) {
        put(&of->all, (first + i) % 3, 8);
    }
    end_buffer(of, from);
    begin_array(of, rows, 0);
    put_validity(of, first, rows, 0);
    from = of->all.size;
    for (unsigned i = 0; i < rows; i++) {
        put(&of->all, (first + i) % 2, 4);
    }
    end_buffer(of, from);
}

static void put_lists(body *of, unsigned first, unsigned rows)
{
    unsigned all = 0;
    begin_array(of, rows, 0);
    put_validity(of, first, rows, 0);
    size_t from = of->all.size;
    for (unsigned i = 0; i <= rows; i++) {
        put(&of->all, all, 4);
        all += i < rows ? (first + i) % 4 : 0;
    }
    end_buffer(of, from);
    begin_array(of, all, 0);
    put_validity(of, first, rows, 0);
    from = of->all.size;
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned k = 0; k < (first + i) % 4; k++) {
            put(&of->all, first + i, 4);
        }
    }
    end_buffer(of, from);
    begin_array(of, rows, 0);
    put_validity(of, first, rows, 0);
    begin_array(of, (uint64_t)2 * rows, 0);
    put_validity(of, first, rows, 0);
    from = of->all.size;
    for (unsigned i = 0; i < 2 * rows; i++) {
        const unsigned n = first + i / 2;
        const float number = i % 2 == 0 ? (float)n : -(float)n;
        uint32_t stored;
        memcpy(&stored, &number, sizeof(stored));
        put(&of->all, stored, 4);
    }
    end_buffer(of, from);
}

static block put_words(bytes *out, bool legacy)
{
    static const char words[] = "evenodd";
    uint8_t memory[64];
    body of = {.all = {memory, 0}};
    begin_array(&of, 2, 0);
    put_validity(&of, 0, 2, 0);
    put(&of.all, 0, 4);
    put(&of.all, 4, 4);
    put(&of.all, 7, 4);
    end_buffer(&of, 0);
    const size_t from = of.all.size;
    memcpy(of.all.data + from, words, 7);
    of.all.size += 7;
    end_buffer(&of, from);
    return put_message(out, &(message){.kind = DICTIONARY, .of = &of, .rows = 2}, legacy);
}

/* ---- whole files ---- */

static void put_footer(bytes *out, const block *blocks, unsigned count)
{
    static uint8_t memory[ARROW_MAKE_BYTES];
    bytes flat = {memory, 0};
    const uint64_t values[4] = {4, 0, 0, 0};
    put_root(&flat);
    const size_t footer = put_table(&flat, values, 4, 15);
    link_back(&flat, 0, footer);
    link_back(&flat, footer + 4 + 8, put_schema(&flat, fields, 5));
    for (unsigned of = 0; of < 2; of++) { /* the first is the dictionary's */
        link_slot(&flat, footer, 2 + of, 8, 4);
        put(&flat, of == 0 ? 1 : count - 1, 4);
        for (unsigned i = of; i < (of == 0 ? 1 : count); i++) {
            put(&flat, blocks[i].at, 8);
            put(&flat, blocks[i].metadata, 8); /* 4, and 4 of padding */
            put(&flat, blocks[i].body, 8);
        }
    }
    memcpy(out->data + out->size, flat.data, flat.size);
    out->size += flat.size;
    put(out, flat.size, 4);
    memcpy(out->data + out->size, magic, 6);
    out->size += 6;
}

static void put_end(bytes *out, bool legacy)
{
    put(out, UINT32_MAX, legacy ? 0 : 4);
    put(out, 0, 4);
}

size_t arrow_make(uint8_t *to, const arrow_options *options)
{
    static uint8_t memory[ARROW_MAKE_BYTES];
    bytes out = {to, 0};
    block blocks[BLOCKS_MAX];
    assert(options->rows <= ROWS_MAX && options->batches < BLOCKS_MAX);
    if (options->file) {
        memcpy(to, magic, sizeof(magic));
        out.size = sizeof(magic);
    }
    const message schema = {.kind = SCHEMA, .schema = fields, .columns = 5};
    (void)put_message(&out, &schema, options->legacy);
    blocks[0] = put_words(&out, options->legacy);
    for (unsigned i = 0; i < options->batches; i++) {
        body of = {.all = {memory, 0}};
        const unsigned first = options->first + i * options->rows;
        put_images(&of, first, options->rows);
        put_numbers(&of, first, options->rows);
        put_lists(&of, first, options->rows);
        blocks[1 + i] = put_message(
            &out, &(message){.kind = BATCH, .of = &of, .rows = options->rows}, options->legacy);
    }
    put_end(&out, options->legacy);
    if (options->file) {
        put_footer(&out, blocks, 1 + options->batches);
    }
    return out.size;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to
size_t arrow_make_indices(uint8_t *to, const uint64_t *rows, unsigned count)
{
    static uint8_t memory[ARROW_MAKE_BYTES];
    bytes out = {to, 0};
    body of = {.all = {memory, 0}};
    const message schema = {.kind = SCHEMA, .schema = indices, .columns = 1};
    const message batch = {.kind = BATCH, .of = &of, .rows = count};
    (void)put_message(&out, &schema, false);
    begin_array(&of, count, 0);
    put_validity(&of, 0, count, 0);
    const size_t from = of.all.size;
    for (unsigned i = 0; i < count; i++) {
        put(&of.all, rows[i], 8);
    }
    end_buffer(&of, from);
    (void)put_message(&out, &batch, false);
    put_end(&out, false);
    return out.size;
}
