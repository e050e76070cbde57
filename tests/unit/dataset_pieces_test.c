/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of documents, compared with documents that the test knows: from shards, whose fields are
 * located separately or compressed, and from Arrow and Parquet, whose samples are read whole.
 */
#include "arrow_make.h"
#include "dtype.h"
#include "formats.h"
#include "memory.h"
#include "packed_value.h"
#include "parquet_make.h"
#include "pieces.h"
#include "test_folder.h"

#include <sluice/writer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 40, PIECES_MAX = 4096, EACH = 9 };

TEST_GROUP(test_folder_make, test_folder_remove)

/* ---- the documents, and pieces of them ---- */

/* Documents known to the test, and their pieces, numbered with gaps: each `number` is two more than
 * the previous one. */
typedef struct corpus {
    uint64_t documents;
    uint64_t (*length)(uint64_t document);
    int64_t (*element)(uint64_t document, uint64_t at);
    sl_document_piece pieces[PIECES_MAX];
    uint64_t count;
    uint32_t before, behind; /* elements of documents that are not stored */
} corpus;

static bool find_piece(const void *ctx, uint64_t number, sl_document_piece *piece)
{
    const corpus *c = ctx;
    if (number % 2 == 0 || number / 2 >= c->count) {
        return false;
    }
    *piece = c->pieces[number / 2];
    return true;
}

static void cut_all(corpus *c)
{
    c->count = 0;
    for (uint64_t i = 0; i < c->documents; i++) {
        const uint64_t stored = c->length(i);
        const uint64_t length = stored > 0 ? stored + c->before + c->behind : 0;
        for (uint64_t first = 0; first < length; first += EACH) {
            const uint64_t left = length - first;
            assert_true(c->count < PIECES_MAX);
            c->pieces[c->count++] = (sl_document_piece){.document = i,
                                                        .first = first,
                                                        .count = left < EACH ? left : EACH,
                                                        .length = length,
                                                        .stored = length - c->before - c->behind,
                                                        .before = c->before};
        }
    }
}

/* Lengths in the shards: some documents are empty, some end with a piece. */
static uint64_t shard_length(uint64_t document)
{
    return document % 5 == 3 ? 0 : document * 7 % 53 + (document % 4 == 1 ? 60 : 1);
}

static int64_t shard_element(uint64_t document, uint64_t at)
{
    return (int64_t)(document * 100 + at);
}

/* Lengths in Arrow and Parquet (row_model.h): n % 4 elements, all n. */
static uint64_t list_length(uint64_t document)
{
    return document % 4;
}

static int64_t list_element(uint64_t document, uint64_t at)
{
    (void)at;
    return (int64_t)document;
}

/* ---- datasets ---- */

static sl_dataset *open_base(const char *path)
{
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sl_dataset *base = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_dataset_open(&base, &path, 1, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return base;
}

static sl_dataset *open_pieces(const char *path, const char *field, corpus *c, bool whole)
{
    sl_dataset *base = open_base(path);
    sl_dataset *pieces = NULL;
    const sl_pieces_shape shape = {.field = sl_dataset_field(base, field),
                                   .whole = whole,
                                   .samples = 2 * c->count + 2,
                                   .find = find_piece,
                                   .ctx = c};
    assert_int_equal(sl_pieces_open(&pieces, base, &shape, NULL), SLUICE_OK);
    assert_int_equal(pieces->info.fingerprint, base->info.fingerprint);
    sl_dataset_close(base);
    return pieces;
}

/* "tokens", u16, and with two fields "weights", u8, of the same number: then no field is located
 * separately. */
static const char *make_shard(const char *name, const corpus *c, uint32_t field_count,
                              sluice_compression compression)
{
    const char *path = test_path("%s", name);
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(fields[i].name, sizeof(fields[i].name), "%s", i == 0 ? "tokens" : "weights");
        fields[i].type = SLUICE_FIELD_TENSOR;
        fields[i].dtype = i == 0 ? SLUICE_U16 : SLUICE_U8;
        fields[i].dims = 1;
        fields[i].compression = compression;
    }
    options.fields = fields;
    options.field_count = field_count;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < c->documents; i++) {
        uint16_t tokens[256] = {0};
        uint8_t weights[256] = {0};
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        for (uint64_t k = 0; k < c->length(i); k++) {
            tokens[k] = (uint16_t)c->element(i, k);
        }
        values[0].data = tokens;
        values[0].bytes = 2 * c->length(i);
        values[1].data = weights;
        values[1].bytes = c->length(i);
        assert_int_equal(sluice_writer_add_values(writer, values, field_count, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    return path;
}

/* ---- checks ---- */

/* Returns the value's unpacked content; the caller frees it. */
static uint8_t *content_of(const sl_value *value, uint64_t *bytes)
{
    *bytes = value->bytes.size;
    if (sl_is_packed(value)) {
        assert_int_equal(sl_packed_size(value, SL_RECORD_BYTES_MAX, bytes, NULL), SLUICE_OK);
    }
    uint8_t *content = malloc(*bytes + 1);
    assert_non_null(content);
    if (sl_is_packed(value)) {
        assert_int_equal(sl_packed_unpack_to(NULL, value, content, *bytes, NULL), SLUICE_OK);
    } else {
        memcpy(content, value->bytes.data, *bytes);
    }
    return content;
}

static int64_t load(const uint8_t *from, sluice_dtype dtype)
{
    uint16_t small = 0;
    int32_t large = 0;
    assert_true(dtype == SLUICE_U16 || dtype == SLUICE_I32);
    memcpy(&small, from, sizeof(small));
    if (dtype == SLUICE_I32) {
        memcpy(&large, from, sizeof(large));
    }
    return dtype == SLUICE_U16 ? small : large;
}

static void check_piece(const sl_dataset *pieces, const char *field, const corpus *c,
                        uint64_t number)
{
    const sl_document_piece *piece = &c->pieces[number / 2];
    const uint32_t of = sl_dataset_field(pieces, field);
    const sluice_dtype dtype = pieces->fields[of].dtype;
    const uint64_t element = sl_dtype_bytes(dtype);
    sl_stored_sample *record = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_dataset_read_sample(pieces, number, UINT64_C(1) << of, &record, &error) != SLUICE_OK) {
        fail_msg("piece %llu: %s", (unsigned long long)number, error.text);
        return;
    }
    const sl_value *value = &record->values.of[of];
    uint64_t bytes = 0;
    uint8_t *content = content_of(value, &bytes);
    const sl_document_piece *found = &record->values.piece;
    assert_true(value->present);
    assert_int_equal(value->shape[0] * element, bytes);
    assert_int_equal(found->document, piece->document);
    assert_int_equal(found->first, piece->first);
    assert_int_equal(found->count, piece->count);
    assert_int_equal(found->length, piece->length);
    assert_int_equal(found->stored, piece->stored);
    assert_int_equal(found->before, piece->before);
    /* Expects only stored elements, including those of the piece and the one after it, or the end
     * next to the piece. */
    for (uint64_t i = 0; i < value->shape[0]; i++) {
        assert_int_equal(load(content + i * element, dtype),
                         c->element(piece->document, found->from + i));
    }
    assert_true(value->shape[0] > 0 && found->from + value->shape[0] <= piece->stored);
    uint64_t read = 0;
    for (uint64_t at = piece->first; at < piece->first + piece->count + 1; at++) {
        const bool is_stored = at >= piece->before && at - piece->before < piece->stored;
        assert_true(!is_stored || (at - piece->before >= found->from &&
                                   at - piece->before < found->from + value->shape[0]));
        read += is_stored;
    }
    if (read == 0) {
        assert_int_equal(found->from + value->shape[0], piece->stored);
    }
    free(content);
    sl_dataset_free_sample(record);
}

static void check_all(const char *path, const char *field, corpus *c, bool whole, bool cuts)
{
    cut_all(c);
    sl_dataset *pieces = open_pieces(path, field, c, whole);
    for (uint64_t i = 0; i < c->count; i++) {
        const sl_document_piece *piece = &c->pieces[i];
        sl_sample sample;
        check_piece(pieces, field, c, 2 * i + 1);
        assert_int_equal(sl_dataset_find(pieces, 2 * i + 1, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.cut, cuts);
        if (cuts) { /* nothing else is read */
            const uint64_t from = piece->first < piece->before ? 0 : piece->first - piece->before;
            const uint64_t end = piece->first + piece->count + 1 - piece->before;
            const uint64_t read = (end < piece->stored ? end : piece->stored) - from;
            assert_int_equal(sample.place.bytes, 2 * (from < piece->stored ? read : 1));
        }
    }
    sluice_error error;
    sl_sample sample;
    assert_int_equal(sl_dataset_find(pieces, 0, &sample, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "no piece has that number"));
    sl_dataset_close(pieces);
}

TEST(of_fields_that_are_found_by_themselves)
{
    static corpus c = {DOCUMENTS, shard_length, shard_element, .count = 0};
    check_all(make_shard("plain", &c, 1, SLUICE_COMPRESSION_NEVER), "tokens", &c, false, true);
    check_all(test_path("plain"), "tokens", &c, true, false);
}

/* Also pieces without a stored element. */
TEST(of_documents_with_more_than_is_stored)
{
    static corpus c = {DOCUMENTS, shard_length, shard_element, .count = 0};
    const char *path = make_shard("ends", &c, 1, SLUICE_COMPRESSION_NEVER);
    for (uint32_t ends = 1; ends < 4; ends++) {
        c.before = ends & 1;
        c.behind = ends >> 1;
        check_all(path, "tokens", &c, false, true);
        check_all(path, "tokens", &c, true, false);
    }
    c.before = c.behind = 0;
}

TEST(of_fields_that_are_compressed)
{
    static corpus c = {DOCUMENTS, shard_length, list_element, .count = 0};
    check_all(make_shard("frames", &c, 1, SLUICE_COMPRESSION_ALWAYS), "tokens", &c, false, false);
}

TEST(of_arrow)
{
    static corpus c = {18, list_length, list_element, .count = 0};
    static uint8_t file[3 * ARROW_MAKE_BYTES];
    const arrow_options options = {.batches = 2, .rows = 9};
    write_file(test_path("set.arrow"), file, (uint32_t)arrow_make(file, &options));
    check_all(test_path("set.arrow"), "list", &c, false, false);
}

TEST(of_parquet)
{
    static corpus c = {40, list_length, list_element, .count = 0};
    const parquet_options options = {
        .groups = 2, .rows = 20, .page_rows = 6, .encoding = PARQUET_DICTIONARY};
    parquet_made file;
    parquet_make(&file, &options);
    write_file(test_path("set.parquet"), file.data, (uint32_t)file.size);
    parquet_free(&file);
    check_all(test_path("set.parquet"), "list", &c, false, false);
}

/* The document's other fields are returned with it. */
TEST(with_all_of_the_document)
{
    static corpus c = {DOCUMENTS, shard_length, shard_element, .count = 0};
    const char *path = make_shard("both", &c, 2, SLUICE_COMPRESSION_NEVER);
    cut_all(&c);
    sl_dataset *pieces = open_pieces(path, "tokens", &c, true);
    for (uint64_t i = 0; i < c.count; i++) {
        sl_stored_sample *record = NULL;
        assert_int_equal(sl_dataset_read_sample(pieces, 2 * i + 1, SL_VALUES_ALL, &record, NULL),
                         SLUICE_OK);
        const sl_value *weights = &record->values.of[sl_dataset_field(pieces, "weights")];
        assert_int_equal(weights->bytes.size, c.pieces[i].length);
        sl_dataset_free_sample(record);
    }
    sl_dataset_close(pieces);
}

/* ---- errors ---- */

static void expect_length_refused(const char *path, corpus *c, bool whole)
{
    sl_dataset *pieces = open_pieces(path, "tokens", c, whole);
    sl_stored_sample *record = NULL;
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_dataset_read_sample(pieces, 1, SL_VALUES_ALL, &record, &error),
                     SLUICE_CORRUPT);
    assert_null(record);
    assert_non_null(
        strstr(error.text, "the document's length differs from the one used for packing it"));
    assert_non_null(strstr(error.text, "\"tokens\""));
    sl_dataset_close(pieces);
}

TEST(lengths_that_lie)
{
    static corpus c = {DOCUMENTS, shard_length, shard_element, .count = 0};
    const char *path = make_shard("lies", &c, 1, SLUICE_COMPRESSION_NEVER);
    for (int more = -1; more <= 1; more += 2) {
        cut_all(&c);
        c.pieces[0].stored += (uint64_t)more;
        expect_length_refused(path, &c, false);
        expect_length_refused(path, &c, true);
    }
}

TEST(fields_that_are_not_documents)
{
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    (void)snprintf(field.name, sizeof(field.name), "text");
    field.type = SLUICE_FIELD_TEXT;
    options.fields = &field;
    options.field_count = 1;
    assert_int_equal(sluice_writer_open(&writer, test_path("texts"), &options, NULL), SLUICE_OK);
    sluice_value value = SLUICE_VALUE_INIT;
    value.data = "a";
    value.bytes = 1;
    assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    sl_dataset *base = open_base(test_path("texts"));
    sl_dataset *pieces = NULL;
    static corpus none;
    const sl_pieces_shape shape = {.samples = 1, .find = find_piece, .ctx = &none};
    sluice_error error;
    assert_int_equal(sl_pieces_open(&pieces, base, &shape, &error), SLUICE_INVALID);
    assert_non_null(
        strstr(error.text, "\"text\" cannot be packed: expected a one-dimensional tensor"));
    sl_dataset_close(base);
}
