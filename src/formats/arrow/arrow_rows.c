/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_rows: reads a file's batches for the data that opening keeps: locations of large values,
 * and small values.
 *
 * One thread per file. Rows are taken in file order, so locations and side columns grow together.
 */
#include "arrow_rows.h"

#include "memory.h"

#include <assert.h>
#include <string.h>

#define STAGE "dataset"

/* A dictionary, as a column of its values. */
typedef struct dictionary {
    int64_t id;
    uint64_t version; /* number of times that it was replaced */
    sl_side_columns words;
} dictionary;

/* Maps a dictionary's values to entries of a side column. */
typedef struct entries {
    uint64_t version; /* version of the dictionary */
    uint32_t *of;     /* entry of each value, from 1; 0: none yet */
    uint64_t count;   /* capacity of `of` */
} entries;

typedef struct job {
    sl_arrow_rows *rows;
    const sl_arrow_file *file;
    const sl_arrow_column *columns;
    const sl_columnar_fields *plan;
    sl_arrow_reader reader;
    sl_frame *frame;
    dictionary dictionaries[SL_FIELDS_MAX];
    uint32_t dictionary_count;
    uint64_t versions;              /* total over all dictionaries */
    entries entries[SL_FIELDS_MAX]; /* one per side column */
} job;

/* A column of a batch. */
typedef struct reading {
    job *j;
    const sl_arrow_body *body;
    const sl_arrow_column *column;
    uint32_t side; /* number of its side column */
    sl_arrow_array array, paths;
    bool has_paths;
} reading;

void sl_arrow_rows_close(sl_arrow_rows *rows)
{
    for (uint32_t i = 0; i < SL_COLUMNAR_LARGE_MAX; i++) {
        sl_arrow_places_close(&rows->large[i]);
    }
    sl_side_columns_close(&rows->side);
    memset(rows, 0, sizeof(*rows));
}

/* ---- rows of a column ---- */

static sluice_status arrow_rows_fail(const reading *r, uint64_t row, const char *why,
                                     sluice_error *error)
{
    const uint32_t node =
        r->column->list.count > 0 ? r->column->list.nodes[0] : r->column->chain.nodes[0];
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, r->j->reader.path, (int64_t)r->body->at,
                         "column \"%s\", row %llu of a batch: %s",
                         r->body->schema->nodes[node].name, (unsigned long long)row, why);
}

/* Determines whether a row without bytes has a path. */
static sluice_status look_for_path(reading *r, uint64_t row, bool *has, sluice_error *error)
{
    *has = false;
    if (r->column->path == SL_ARROW_NONE) {
        return SLUICE_OK;
    }
    if (!r->has_paths) {
        sl_arrow_chain chain = r->column->chain;
        chain.nodes[chain.count - 1] = r->column->path; /* instead of the bytes */
        const bool packed = r->body->batch->codec != SL_ARROW_PLAIN;
        const sluice_status status = sl_arrow_array_open(&r->paths, r->body, &chain, packed, error);
        if (status < 0) {
            return status;
        }
        r->has_paths = true;
    }
    sl_arrow_span span;
    const sl_refusal refusal = sl_arrow_array_row(&r->paths, row, &span);
    if (refusal.text != NULL) {
        return arrow_rows_fail(r, row, refusal.text, error);
    }
    *has = span.state == SL_ARROW_PRESENT && span.bytes > 0;
    return SLUICE_OK;
}

/* Finds a row's span; OK with `*lack` if there is none, or if it cannot be used. */
static sluice_status arrow_rows_find_row(reading *r, uint64_t row, sl_arrow_span *span,
                                         sl_arrow_lack *lack, sluice_error *error)
{
    bool elsewhere = false;
    sluice_status status = SLUICE_OK;
    const sl_refusal refusal = sl_arrow_array_row(&r->array, row, span);
    if (refusal.text != NULL) {
        return arrow_rows_fail(r, row, refusal.text, error);
    }
    if (span->state == SL_ARROW_ABSENT) {
        status = look_for_path(r, row, &elsewhere, error);
    }
    r->j->rows->elsewhere += elsewhere;
    *lack = span->state == SL_ARROW_HAS_NULL      ? SL_ARROW_LACKS_WHOLE
            : span->state == SL_ARROW_OTHER_SHAPE ? SL_ARROW_LACKS_SHAPE
            : elsewhere                           ? SL_ARROW_LACKS_PICTURE
                                                  : SL_ARROW_LACKS;
    return status;
}

/* ---- large columns ---- */

static sluice_status arrow_rows_no_memory(const reading *r, sluice_error *error)
{
    const uint64_t rows = r->j->rows->rows + r->body->batch->rows;
    return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, r->j->reader.path, -1,
                         "out of memory for the locations of %llu rows", (unsigned long long)rows);
}

/*
 * Records the location of a row or list element. The space grows with the data found, whose buffers
 * have that size anyway.
 */
static sluice_status take_place(reading *r, uint64_t row, sl_arrow_places *places,
                                sluice_error *error)
{
    sl_arrow_span span = {.state = SL_ARROW_ABSENT};
    sl_arrow_lack lack = SL_ARROW_LACKS;
    const sluice_status status = arrow_rows_find_row(r, row, &span, &lack, error);
    if (status < 0) {
        return status;
    }
    const sl_arrow_data *data = r->array.data; /* NULL: an empty list */
    const uint64_t offset = data != NULL ? data[span.data].at + span.offset : r->body->at;
    const bool added = span.state == SL_ARROW_PRESENT
                           ? sl_arrow_places_put(places, offset, span.bytes)
                           : sl_arrow_places_lack(places, lack);
    return added ? SLUICE_OK : arrow_rows_no_memory(r, error);
}

static sluice_status take_places(reading *r, sl_arrow_places *places, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < r->array.rows; i++) {
        status = take_place(r, i, places, error);
    }
    return status;
}

static sluice_status arrow_rows_take_list(reading *r, const sl_arrow_array *lists, uint64_t row,
                                          sl_arrow_places *places, sluice_error *error)
{
    uint64_t begin;
    uint64_t end;
    const sl_refusal refusal = sl_arrow_lists_row(lists, row, &begin, &end);
    if (refusal.text != NULL || end > r->array.rows) {
        return arrow_rows_fail(
            r, row, refusal.text != NULL ? refusal.text : "its list extends beyond its elements",
            error);
    }
    sluice_status status =
        sl_arrow_places_begin(places) ? SLUICE_OK : arrow_rows_no_memory(r, error);
    for (uint64_t i = begin; status == SLUICE_OK && i < end; i++) {
        status = take_place(r, i, places, error);
    }
    return status;
}

static sluice_status take_lists(reading *r, sl_arrow_places *places, sluice_error *error)
{
    sl_arrow_array lists;
    sluice_status status = sl_arrow_lists_open(&lists, r->body, &r->column->list, error);
    if (status < 0) {
        return status;
    }
    places->lists = true;
    for (uint64_t i = 0; status == SLUICE_OK && i < lists.rows; i++) {
        status = arrow_rows_take_list(r, &lists, i, places, error);
    }
    sl_arrow_array_close(&lists);
    return status;
}

/* ---- side columns ---- */

static const dictionary *dictionary_of(const job *j, int64_t id)
{
    for (uint32_t i = 0; i < j->dictionary_count; i++) {
        if (j->dictionaries[i].id == id) {
            return &j->dictionaries[i];
        }
    }
    return NULL;
}

/* Finds the known entries of a dictionary's values. Errors: NOMEM. */
static sluice_status find_entries(const reading *r, const dictionary *from, entries **found,
                                  sluice_error *error)
{
    entries *e = *found = &r->j->entries[r->side];
    const uint64_t words = from->words.of[0].rows;
    const uint64_t known = e->version == from->version ? e->count : 0;
    if (words > e->count) {
        const uint64_t capacity = words + words / 2;
        uint32_t *grown = sl_realloc_array(e->of, capacity, sizeof(*grown));
        if (grown == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, r->j->reader.path, -1,
                                 "out of memory for a dictionary of %llu values",
                                 (unsigned long long)words);
        }
        e->of = grown;
        e->count = capacity;
    }
    if (known < e->count) {
        memset(e->of + known, 0, (e->count - known) * sizeof(*e->of));
    }
    e->version = from->version;
    return SLUICE_OK;
}

/* Adds a row with a dictionary value, which is stored once for all rows. */
static sluice_status put_word(const reading *r, const dictionary *from, uint64_t word,
                              sluice_error *error)
{
    entries *e;
    sl_value value;
    sl_side_columns *side = &r->j->rows->side;
    sluice_status status = find_entries(r, from, &e, error);
    (void)sl_side_columns_get(&from->words, 0, word, &value); /* texts are always valid */
    if (status == SLUICE_OK && !value.present) {
        return sl_side_columns_put(side, r->side, &value, error);
    }
    uint32_t entry = status == SLUICE_OK ? e->of[word] - 1 : 0;
    if (status == SLUICE_OK && e->of[word] == 0) {
        status = sl_side_columns_add_entry(side, r->side, value.bytes, &entry, error);
        e->of[word] = status == SLUICE_OK ? entry + 1 : 0;
    }
    return status == SLUICE_OK ? sl_side_columns_put_entry(side, r->side, entry, error) : status;
}

/* Takes the value that a dictionary number refers to. */
static sluice_status arrow_rows_take_word(const reading *r, uint64_t row, const sl_arrow_span *span,
                                          sluice_error *error)
{
    sl_value code = {.present = true};
    const sl_arrow_node *node = &r->body->schema->nodes[sl_arrow_leaf(r->column)];
    const dictionary *from = dictionary_of(r->j, node->dictionary);
    if (!sl_arrow_array_number(&r->array, span->item, &code) || code.integer < 0 || from == NULL ||
        (uint64_t)code.integer >= from->words.of[0].rows) {
        return arrow_rows_fail(r, row, "its dictionary has no such value", error);
    }
    return put_word(r, from, (uint64_t)code.integer, error);
}

static bool is_coded(const reading *r)
{
    return r->body->schema->nodes[sl_arrow_leaf(r->column)].coded;
}

static void arrow_rows_take_value(const reading *r, const sl_arrow_span *span, sl_value *value)
{
    const sluice_field_type type = r->j->plan->side_fields[r->side].type;
    value->present = true;
    if (type == SLUICE_FIELD_INT || type == SLUICE_FIELD_FLOAT) {
        value->present = sl_arrow_array_number(&r->array, span->item, value);
    } else if (span->bytes > 0) {
        value->bytes = (sl_bytes){r->array.data[span->data].bytes + span->offset, span->bytes};
    }
}

static sluice_status take_values(reading *r, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_side_columns *side = &r->j->rows->side;
    for (uint64_t i = 0; status == SLUICE_OK && i < r->array.rows; i++) {
        sl_arrow_span span = {.state = SL_ARROW_ABSENT};
        sl_arrow_lack lack = SL_ARROW_LACKS;
        sl_value value = {.present = false};
        status = arrow_rows_find_row(r, i, &span, &lack, error);
        const bool is_there = span.state == SL_ARROW_PRESENT;
        if (status == SLUICE_OK && is_there && is_coded(r)) {
            status = arrow_rows_take_word(r, i, &span, error);
            continue;
        }
        if (status == SLUICE_OK && is_there) {
            arrow_rows_take_value(r, &span, &value);
        }
        if (status == SLUICE_OK) {
            status = sl_side_columns_put(side, r->side, &value, error);
        }
        if (status == SLUICE_OK && lack != SL_ARROW_LACKS) {
            sl_side_columns_refuse(side, r->side, sl_arrow_lack_text(lack));
        }
        const bool is_number = side->of[r->side].field.type == SLUICE_FIELD_INT;
        if (status == SLUICE_OK && is_there && is_number && !value.present) {
            sl_side_columns_refuse(side, r->side, "its number is above 2^63 - 1");
        }
    }
    return status;
}

/* ---- batches ---- */

static void close_reading(reading *r)
{
    sl_arrow_array_close(&r->array);
    sl_arrow_array_close(&r->paths);
}

static sluice_status read_large(job *j, const sl_arrow_body *body, uint32_t number,
                                sluice_error *error)
{
    sl_arrow_places *places = &j->rows->large[number];
    reading r = {.j = j, .body = body, .column = &j->columns[j->plan->large[number].of]};
    sluice_status status = sl_arrow_array_open(&r.array, body, &r.column->chain, false, error);
    if (status == SLUICE_OK) {
        status = r.column->list.count > 0 ? take_lists(&r, places, error)
                                          : take_places(&r, places, error);
    }
    close_reading(&r);
    return status;
}

static sluice_status read_side(job *j, const sl_arrow_body *body, uint32_t field,
                               sluice_error *error)
{
    reading r = {.j = j,
                 .body = body,
                 .column = &j->columns[j->plan->of[field]],
                 .side = j->plan->side_of[field]};
    sluice_status status = sl_arrow_array_open(&r.array, body, &r.column->chain, true, error);
    if (status == SLUICE_OK) {
        status = take_values(&r, error);
    }
    close_reading(&r);
    return status;
}

static sluice_status read_batch(job *j, const sl_arrow_body *body, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < j->plan->large_count; i++) {
        status = read_large(j, body, i, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < j->plan->fields.count; i++) {
        if (j->plan->large_of[i] == SL_ARROW_NONE) {
            status = read_side(j, body, i, error);
        }
    }
    j->rows->rows += body->batch->rows;
    return status;
}

/* ---- dictionaries ---- */

/* Returns the node of a wanted column that uses this dictionary; NULL: none. */
static const sl_arrow_node *coded_by(const job *j, int64_t id)
{
    for (uint32_t i = 0; i < j->plan->fields.count; i++) {
        const uint32_t number = sl_arrow_leaf(&j->columns[j->plan->of[i]]);
        const sl_arrow_node *node = &j->file->schema.nodes[number];
        if (node->coded && node->dictionary == id) {
            return node;
        }
    }
    return NULL;
}

/* Makes a dictionary, which replaces an existing one, unless it is added to that. */
static sluice_status make_dictionary(job *j, const sl_arrow_message *message, sl_side_columns **to,
                                     sluice_error *error)
{
    static const sl_field word = {.name = "word", .type = SLUICE_FIELD_BYTES};
    uint32_t number = 0;
    while (number < j->dictionary_count && j->dictionaries[number].id != message->dictionary) {
        number++;
    }
    *to = &j->dictionaries[number].words;
    const bool is_new = number == j->dictionary_count;
    if (!is_new && message->delta) {
        return SLUICE_OK;
    }
    j->dictionaries[number].id = message->dictionary;
    j->dictionaries[number].version = ++j->versions;
    j->dictionary_count += is_new; /* at most the number of fields */
    sl_side_columns_close(*to);
    return sl_side_columns_open(*to, &word, 1, error);
}

static sluice_status put_words(const job *j, const sl_arrow_body *body, const sl_arrow_array *array,
                               sl_side_columns *to, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < array->rows; i++) {
        sl_arrow_span span;
        const sl_refusal refusal = sl_arrow_array_row(array, i, &span);
        if (refusal.text != NULL) {
            return sl_arrow_refuse(&j->reader, body->at, refusal, error);
        }
        sl_value value = {.present = span.state == SL_ARROW_PRESENT};
        if (value.present && span.bytes > 0) {
            value.bytes = (sl_bytes){array->data[span.data].bytes + span.offset, span.bytes};
        }
        status = sl_side_columns_put(to, 0, &value, error);
    }
    return status;
}

static sluice_status read_dictionary(job *j, const sl_arrow_body *body,
                                     const sl_arrow_message *message, sluice_error *error)
{
    sl_arrow_array array;
    sl_side_columns *to = NULL;
    const sl_arrow_node *node = coded_by(j, message->dictionary);
    if (node == NULL) {
        return SLUICE_OK;
    }
    sl_arrow_node plain = *node;
    plain.coded = false;
    plain.buffer = plain.views = 0;
    const sl_refusal refusal =
        sl_arrow_dictionary_check(&message->batch, &plain, message->body_bytes);
    if (refusal.text != NULL) {
        return sl_arrow_refuse(&j->reader, body->at, refusal, error);
    }
    sluice_status status = make_dictionary(j, message, &to, error);
    if (status == SLUICE_OK) {
        status = sl_arrow_words_open(&array, body, &plain, error);
    }
    if (status == SLUICE_OK) {
        status = put_words(j, body, &array, to, error);
        sl_arrow_array_close(&array);
    }
    return status;
}

/* ---- a file ---- */

static sluice_status arrow_rows_read_place(job *j, const sl_arrow_place *at, sluice_error *error)
{
    sl_arrow_message message = {.version = 0};
    const sluice_status status = sl_arrow_read_message(&j->reader, at, &message, error);
    if (status < 0) {
        return status;
    }
    const bool is_batch = message.kind == SL_ARROW_BATCH;
    if (is_batch != at->batch || (!is_batch && message.kind != SL_ARROW_DICTIONARY) ||
        message.body_bytes != at->body_bytes) {
        return sl_arrow_corrupt(&j->reader, at->metadata, "the file is being modified", error);
    }
    const sl_arrow_body body = {.reader = &j->reader,
                                .schema = &j->file->schema,
                                .batch = &message.batch,
                                .at = at->body,
                                .frame = j->frame};
    if (!is_batch) {
        return read_dictionary(j, &body, &message, error);
    }
    const sl_refusal refusal =
        sl_arrow_batch_check(&message.batch, &j->file->schema, at->body_bytes);
    return refusal.text != NULL ? sl_arrow_refuse(&j->reader, at->metadata, refusal, error)
                                : read_batch(j, &body, error);
}

static sluice_status arrow_rows_read_all(job *j, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (j->file->zstd) {
        status = sl_frame_open(&j->frame, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_side_columns_open(&j->rows->side, j->plan->side_fields, j->plan->side_count, error);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < j->file->count; i++) {
        status = arrow_rows_read_place(j, &j->file->places[i], error);
    }
    for (uint32_t i = 0; i < j->dictionary_count; i++) {
        sl_side_columns_close(&j->dictionaries[i].words);
    }
    for (uint32_t i = 0; i < j->plan->side_count; i++) {
        sl_free(j->entries[i].of);
    }
    sl_frame_close(j->frame);
    return status;
}

sluice_status sl_arrow_rows_read(sl_arrow_rows *rows, const sl_arrow_file *file, const char *path,
                                 const sl_arrow_column *columns, const sl_columnar_fields *plan,
                                 sluice_error *error)
{
    job j = {.rows = rows, .file = file, .columns = columns, .plan = plan};
    memset(rows, 0, sizeof(*rows));
    const sl_open_file was = {file->kept, file->file};
    sluice_status status = sl_arrow_reader_open(&j.reader, path, &was, error);
    if (status == SLUICE_OK) {
        status = arrow_rows_read_all(&j, error);
        sl_arrow_reader_close(&j.reader);
    }
    if (status == SLUICE_OK && rows->rows != file->rows) {
        status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, 0, SL_FILE_REPLACED);
    }
    if (status < 0) {
        sl_arrow_rows_close(rows);
    }
    return status;
}
