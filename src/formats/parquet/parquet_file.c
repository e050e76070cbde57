/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file: reads a file's footer into chunks, and checks that these are in the file and do not
 * overlap. One thread per file.
 */
#include "parquet_file.h"

#include "little_endian.h"
#include "memory.h"
#include "parquet_leaves.h"
#include "store.h"

#include <stdint.h>
#include <stdlib.h>

#define STAGE "dataset"

enum { MAGIC_BYTES = 4, TAIL_BYTES = 8, END_BYTES = 64 << 10 };

/*
 * Limits of values per byte of a file, and for small files. Runs of equal values take almost no
 * bytes, but a false count must not cost time.
 */
enum { VALUES_A_BYTE = 64, VALUES_BESIDES = 1 << 24 };

bool sl_parquet_is(const uint8_t magic[4])
{
    return memcmp(magic, "PAR1", MAGIC_BYTES) == 0;
}

void sl_parquet_close(sl_parquet *parquet)
{
    sl_free(parquet->leaves);
    sl_free(parquet->group_rows);
    sl_free(parquet->chunks);
    sl_free(parquet->features);
    *parquet = (sl_parquet){0};
}

/* ---- row groups ---- */

typedef struct chunk_facts {
    int64_t codec, values, unpacked, bytes, data, dictionary;
    bool there, elsewhere, encrypted;
} chunk_facts;

static void read_chunk_facts(sl_thrift *t, chunk_facts *c)
{
    sl_thrift_field field = {0};
    c->there = true;
    while (sl_thrift_next(t, &field)) {
        switch (field.id) {
        case 4:
            c->codec = sl_thrift_integer(t, &field);
            break;
        case 5:
            c->values = sl_thrift_integer(t, &field);
            break;
        case 6:
            c->unpacked = sl_thrift_integer(t, &field);
            break;
        case 7:
            c->bytes = sl_thrift_integer(t, &field);
            break;
        case 9:
            c->data = sl_thrift_integer(t, &field);
            break;
        case 11:
            c->dictionary = sl_thrift_integer(t, &field);
            break;
        default:
            sl_thrift_skip(t, &field);
        }
    }
}

static void read_chunk(sl_thrift *t, chunk_facts *c)
{
    sl_thrift_field field = {0};
    *c = (chunk_facts){.there = false};
    while (sl_thrift_next(t, &field)) {
        c->elsewhere = c->elsewhere || field.id == 1;
        c->encrypted = c->encrypted || field.id == 8;
        if (field.id == 3 && field.type == SL_THRIFT_STRUCT) {
            read_chunk_facts(t, c);
        } else {
            sl_thrift_skip(t, &field);
        }
    }
}

static uint64_t values_max(const sl_parquet *parquet)
{
    return parquet->file.bytes * VALUES_A_BYTE + VALUES_BESIDES;
}

/* Takes a chunk. Returns the error, or NULL. */
static const char *parquet_file_take_chunk(const sl_parquet *parquet, const chunk_facts *c,
                                           sl_parquet_chunk *chunk)
{
    if (c->encrypted || c->elsewhere) {
        return c->encrypted ? "it is encrypted" : "its columns are in other files";
    }
    const int64_t begin = c->dictionary > 0 && c->dictionary < c->data ? c->dictionary : c->data;
    if (!c->there || begin < MAGIC_BYTES || c->bytes < 0 || c->values < 0 || c->codec < 0 ||
        (uint64_t)begin > parquet->file.bytes ||
        (uint64_t)c->bytes > parquet->file.bytes - (uint64_t)begin) {
        return "a column's pages are outside the file";
    }
    if ((uint64_t)c->values > values_max(parquet)) {
        return "it claims to have more values than its bytes can hold";
    }
    *chunk = (sl_parquet_chunk){.offset = (uint64_t)begin,
                                .bytes = (uint64_t)c->bytes,
                                .values = (uint64_t)c->values,
                                .unpacked = c->unpacked > 0 ? (uint64_t)c->unpacked : 0,
                                .codec = (uint32_t)c->codec};
    return NULL;
}

static const char *read_chunks(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field,
                               uint32_t number)
{
    const uint32_t count = sl_thrift_list(t, field, SL_THRIFT_STRUCT);
    if (!t->bad && count != parquet->leaf_count) {
        return "a row group lacks columns of the schema";
    }
    for (uint32_t i = 0; i < count && !t->bad; i++) {
        chunk_facts facts;
        read_chunk(t, &facts);
        const char *why = t->bad ? NULL
                                 : parquet_file_take_chunk(
                                       parquet, &facts,
                                       &parquet->chunks[(size_t)number * parquet->leaf_count + i]);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

static const char *parquet_file_read_group(sl_parquet *parquet, sl_thrift *t, uint32_t number)
{
    sl_thrift_field field = {0};
    const char *why = NULL;
    bool has_chunks = parquet->leaf_count == 0;
    int64_t rows = -1;
    while (why == NULL && sl_thrift_next(t, &field)) {
        if (field.id == 1) {
            why = read_chunks(parquet, t, &field, number);
            has_chunks = true;
        } else if (field.id == 3) {
            rows = sl_thrift_integer(t, &field);
        } else {
            sl_thrift_skip(t, &field);
        }
    }
    if (why == NULL && !t->bad && (rows < 0 || !has_chunks)) {
        return "a row group does not give its number of rows";
    }
    parquet->group_rows[number] = (uint64_t)rows;
    return why;
}

static int by_offset(const void *a, const void *b)
{
    const sl_parquet_chunk *first = a;
    const sl_parquet_chunk *second = b;
    return (first->offset > second->offset) - (first->offset < second->offset);
}

/* Checks that chunks do not share pages, which would be read once per mention. */
static const char *check_overlaps(sl_parquet_chunk *chunks, size_t count)
{
    uint64_t end = 0;
    qsort(chunks, count, sizeof(*chunks), by_offset);
    for (size_t i = 0; i < count; i++) {
        if (chunks[i].bytes > 0 && chunks[i].offset < end) {
            return "the pages of two columns overlap";
        }
        end = chunks[i].bytes > 0 ? chunks[i].offset + chunks[i].bytes : end;
    }
    return NULL;
}

/* Checks all chunks together. */
static const char *check_chunks(const sl_parquet *parquet)
{
    const size_t count = (size_t)parquet->group_count * parquet->leaf_count;
    uint64_t values = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_list = parquet->leaves[i % parquet->leaf_count].max_rep > 0;
        values += is_list ? parquet->chunks[i].values : 0;
        if (values > values_max(parquet)) {
            return "its lists claim to have more values than its bytes can hold";
        }
    }
    sl_parquet_chunk *sorted = sl_malloc(count * sizeof(*sorted));
    if (sorted == NULL) {
        return "out of memory for its row groups";
    }
    memcpy(sorted, parquet->chunks, count * sizeof(*sorted));
    const char *why = check_overlaps(sorted, count);
    sl_free(sorted);
    return why;
}

static const char *read_groups(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field)
{
    const uint32_t count = sl_thrift_list(t, field, SL_THRIFT_STRUCT);
    if (parquet->leaves == NULL) {
        return "its row groups come before its schema";
    }
    /* each chunk takes some bytes of the footer, so that a false count costs nothing */
    const uint64_t left = (uint64_t)(t->end - t->at);
    if ((uint64_t)count * (parquet->leaf_count + 1) > left) {
        return "it claims to have more row groups than its footer can describe";
    }
    parquet->group_rows = sl_calloc((size_t)count + 1, sizeof(*parquet->group_rows));
    parquet->chunks = sl_calloc((size_t)count * parquet->leaf_count + 1, sizeof(*parquet->chunks));
    if (parquet->group_rows == NULL || parquet->chunks == NULL) {
        return "out of memory for its row groups";
    }
    const char *why = NULL;
    for (uint32_t i = 0; i < count && why == NULL && !t->bad; i++) {
        why = parquet_file_read_group(parquet, t, i);
        const uint64_t rows = parquet->group_rows[i];
        if (why == NULL && rows > values_max(parquet) - parquet->rows) {
            why = "it claims to have more rows than its bytes can hold";
        }
        parquet->rows += why == NULL ? rows : 0;
    }
    parquet->group_count = count;
    return why == NULL && !t->bad ? check_chunks(parquet) : why;
}

/* ---- the footer ---- */

static const char *read_key_value(sl_parquet *parquet, sl_thrift *t)
{
    static const char name[] = "huggingface";
    sl_thrift_field field = {0};
    sl_bytes key = {NULL, 0};
    sl_bytes value = {NULL, 0};
    while (sl_thrift_next(t, &field)) {
        if (field.id == 1) {
            key = sl_thrift_binary(t, &field);
        } else if (field.id == 2) {
            value = sl_thrift_binary(t, &field);
        } else {
            sl_thrift_skip(t, &field);
        }
    }
    if (t->bad || key.size != strlen(name) || memcmp(key.data, name, key.size) != 0 ||
        value.size == 0 || parquet->features != NULL) {
        return NULL;
    }
    parquet->features = sl_malloc(value.size);
    if (parquet->features == NULL) {
        return "out of memory for the description of its columns";
    }
    memcpy(parquet->features, value.data, value.size);
    parquet->features_bytes = value.size;
    return NULL;
}

static const char *read_key_values(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field)
{
    const uint32_t count = sl_thrift_list(t, field, SL_THRIFT_STRUCT);
    const char *why = NULL;
    for (uint32_t i = 0; i < count && why == NULL && !t->bad; i++) {
        why = read_key_value(parquet, t);
    }
    return why;
}

static const char *parquet_file_read_footer(sl_parquet *parquet, sl_thrift *t)
{
    sl_thrift_field field = {0};
    const char *why = NULL;
    int64_t rows = -1;
    while (why == NULL && sl_thrift_next(t, &field)) {
        if (field.id == 2 && parquet->leaves == NULL) {
            why = sl_parquet_leaves_read(parquet, t, &field);
        } else if (field.id == 3) {
            rows = sl_thrift_integer(t, &field);
        } else if (field.id == 4 && parquet->chunks == NULL) {
            why = read_groups(parquet, t, &field);
        } else if (field.id == 5) {
            why = read_key_values(parquet, t, &field);
        } else if (field.id == 8) {
            why = "it is encrypted";
        } else {
            sl_thrift_skip(t, &field);
        }
    }
    if (why == NULL && (t->bad || rows < 0 || parquet->chunks == NULL)) {
        return "its footer is damaged";
    }
    return why == NULL && (uint64_t)rows != parquet->rows
               ? "its row groups and its footer disagree on the number of rows"
               : why;
}

sl_refusal sl_parquet_parse(sl_parquet *parquet, sl_bytes footer, uint64_t bytes)
{
    sl_thrift t;
    parquet->file.bytes = bytes;
    sl_thrift_begin(&t, footer);
    const char *why = parquet_file_read_footer(parquet, &t);
    return why == NULL ? sl_accept() : sl_refuse(why, (size_t)(t.at - footer.data));
}

static sluice_status parquet_file_refuse(const char *path, uint64_t offset, const char *why,
                                         sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)offset, "%s", why);
}

/* Reads the footer's size from the file's last bytes. */
static sluice_status find_footer(const sl_parquet *parquet, const uint8_t *tail, const char *path,
                                 size_t *size, sluice_error *error)
{
    const uint64_t bytes = parquet->file.bytes;
    if (memcmp(tail + 4, "PARE", MAGIC_BYTES) == 0) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1, "it is encrypted");
    }
    *size = sl_load32(tail);
    if (!sl_parquet_is(tail + 4)) {
        return parquet_file_refuse(
            path, bytes - MAGIC_BYTES,
            "it does not end like a Parquet file: it is truncated, or being written", error);
    }
    return *size <= bytes - MAGIC_BYTES - TAIL_BYTES
               ? SLUICE_OK
               : parquet_file_refuse(path, bytes - TAIL_BYTES, "its footer is longer than the file",
                                     error);
}

/* Reads the file's last `size` bytes, which the caller frees. */
static sluice_status parquet_file_read_end(const sl_parquet *parquet, const sl_handle *from,
                                           size_t size, uint8_t **end, sluice_error *error)
{
    *end = sl_malloc(size + 1);
    if (*end == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, from->name.path, -1,
                             "out of memory for its footer");
    }
    return sl_handle_read(from, *end, size, parquet->file.bytes - size, error);
}

/* Reads a footer; most fit into the first read, larger ones take a second. */
static sluice_status read_both(sl_parquet *parquet, const sl_handle *from, uint8_t **end,
                               sluice_error *error)
{
    size_t size = 0;
    size_t bytes =
        parquet->file.bytes < END_BYTES ? (size_t)parquet->file.bytes : (size_t)END_BYTES;
    sluice_status status = parquet_file_read_end(parquet, from, bytes, end, error);
    if (status == SLUICE_OK && *end != NULL) {
        status = find_footer(parquet, *end + bytes - TAIL_BYTES, from->name.path, &size, error);
    }
    if (status == SLUICE_OK && size + TAIL_BYTES > bytes) {
        sl_free(*end);
        bytes = size + TAIL_BYTES;
        status = parquet_file_read_end(parquet, from, bytes, end, error);
    }
    if (status < 0) {
        return status;
    }
    const sl_bytes footer = {*end + bytes - TAIL_BYTES - size, size};
    const sl_refusal why = sl_parquet_parse(parquet, footer, parquet->file.bytes);
    return why.text == NULL
               ? SLUICE_OK
               : parquet_file_refuse(from->name.path,
                                     parquet->file.bytes - TAIL_BYTES - size + why.offset, why.text,
                                     error);
}

sluice_status sl_parquet_read_footer(sl_parquet *parquet, const sl_handle *from,
                                     sluice_error *error)
{
    uint8_t *end = NULL;
    if (parquet->file.bytes < MAGIC_BYTES + TAIL_BYTES) {
        return parquet_file_refuse(from->name.path, 0, "the file is too short for a Parquet file",
                                   error);
    }
    const sluice_status status = read_both(parquet, from, &end, error);
    sl_free(end);
    return status;
}
