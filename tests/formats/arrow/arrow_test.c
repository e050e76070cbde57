/* SPDX-License-Identifier: Apache-2.0 */
/* Tests Arrow streams and files: one or several, with a table of row numbers, truncated anywhere;
 * and flatbuffers on their own. python/tests/test_arrow.py tests files of other writers. */
#include "arrow_columns.h"
#include "arrow_file.h"
#include "arrow_make.h"
#include "dataset.h"
#include "formats.h"
#include "little_endian.h"
#include "memory.h"
#include "row_model.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 5, BATCHES = 2, ROWS = 9, EACH = BATCHES * ROWS, ALL = FILES * EACH };

static uint8_t capacity[(BATCHES + 1) * ARROW_MAKE_BYTES];

static sluice_status open_path(sl_dataset **dataset, const char *path, sluice_error *error)
{
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    return sl_dataset_open(dataset, &path, 1, &options, error);
}

static sl_dataset *must_open(const char *path)
{
    sl_dataset *dataset = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (open_path(&dataset, path, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return dataset;
}

static void check_sample(const sl_dataset *dataset, uint64_t index, unsigned n)
{
    row_check((const sluice_dataset *)(const void *)dataset, index, n, ROW_IMAGE);
}

static void write_one(const char *name, const arrow_options *options)
{
    const size_t size = arrow_make(capacity, options);
    write_file(test_path("%s", name), capacity, (uint32_t)size);
}

TEST(one_file_of_each_kind)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        const arrow_options options = {
            .batches = BATCHES, .rows = ROWS, .file = kind == 1, .legacy = kind == 2};
        write_one("one.arrow", &options);
        sl_dataset *dataset = must_open(test_path("one.arrow"));
        assert_string_equal(dataset->info.format, "arrow");
        assert_int_equal(dataset->info.samples, EACH);
        assert_int_equal(dataset->info.fields, 5);
        for (unsigned i = 0; i < EACH; i++) {
            check_sample(dataset, i, i);
        }
        sl_dataset_close(dataset);
    }
    assert_int_equal(unlink(test_path("one.arrow")), 0);
}

/* The same numbers in other files are other samples. */
TEST(several_files_by_several_threads)
{
    assert_int_equal(mkdir(test_path("set"), 0700), 0);
    for (unsigned i = 0; i < FILES; i++) {
        char name[64];
        const arrow_options options = {
            .first = i * EACH, .batches = BATCHES, .rows = ROWS, .file = i % 2 == 1};
        (void)snprintf(name, sizeof(name), "set/data-%05u-of-%05d.arrow", i, FILES);
        write_one(name, &options);
    }
    sl_dataset *dataset = must_open(test_path("set"));
    const uint64_t before = dataset->info.fingerprint;
    assert_int_equal(dataset->info.samples, ALL);
    assert_int_equal(dataset->info.shards, FILES);
    for (unsigned i = 0; i < ALL; i++) {
        check_sample(dataset, i, i);
    }
    sl_dataset_close(dataset);

    static const uint64_t rows[] = {ALL - 1, 0, 0, 40, 17, 18};
    static const char text[] =
        "{\"_data_files\": [{\"filename\": \"data-00000-of-00005.arrow\"}, {\"filename\": "
        "\"data-00001-of-00005.arrow\"}, {\"filename\": \"data-00002-of-00005.arrow\"}, "
        "{\"filename\": \"data-00003-of-00005.arrow\"}, {\"filename\": "
        "\"data-00004-of-00005.arrow\"}], \"_indices_data_files\": [{\"filename\": \"i.arrow\"}]}";
    write_file(test_path("set/i.arrow"), capacity, (uint32_t)arrow_make_indices(capacity, rows, 6));
    write_file(test_path("set/state.json"), (const uint8_t *)text, sizeof(text) - 1);
    dataset = must_open(test_path("set"));
    assert_int_equal(dataset->info.samples, 6);
    assert_true(dataset->info.fingerprint != before);
    for (unsigned i = 0; i < 6; i++) {
        check_sample(dataset, i, (unsigned)rows[i]);
    }
    sl_dataset_close(dataset);
}

/* A sample's position is its image's; locating and unpacking allocate nothing. */
TEST(a_sample_is_one_read)
{
    static sl_values values;
    const arrow_options options = {.batches = BATCHES, .rows = ROWS};
    write_one("one.arrow", &options);
    sl_dataset *dataset = must_open(test_path("one.arrow"));
    for (unsigned i = 0; i < EACH; i++) {
        sl_sample sample;
        sl_place lookup;
        sl_refusal why;
        uint64_t before = sl_memory_allocations();
        assert_int_equal(sl_dataset_locate(dataset, i, &sample, &lookup, &why), SLUICE_OK);
        const sl_bytes bytes = {capacity + sample.place.offset, sample.place.bytes};
        sl_values_begin(&values, SL_VALUES_ALL);
        why = dataset->ops->unpack(dataset, &sample, bytes, &values);
        assert_null(why.text);
        assert_int_equal(sl_memory_allocations(), before);
        assert_int_equal(sample.place.bytes, i % 5 == 4 ? 8 : 100 + i);
        assert_int_equal(values.of[0].present, i % 5 != 4);
        assert_true(i % 5 == 4 || bytes.data[0] == i);
    }
    sl_dataset_close(dataset);
}

TEST(cut_short)
{
    sl_arrow_file file;
    for (unsigned kind = 0; kind < 3; kind++) {
        const arrow_options options = {
            .batches = 1, .rows = 3, .file = kind == 1, .legacy = kind == 2};
        write_one("bad.arrow", &options);
        for (size_t i = arrow_make(capacity, &options); i-- > 0;) {
            sluice_error error;
            sl_error_clear(&error);
            assert_int_equal(truncate(test_path("bad.arrow"), (off_t)i), 0);
            if (sl_arrow_file_open(&file, test_path("bad.arrow"), &error) == SLUICE_OK) {
                assert_true(kind != 1); /* a stream may simply end */
                assert_true(file.rows == 0 || file.rows == 3);
                sl_arrow_file_close(&file);
            } else {
                assert_true(error.status < 0 && error.text[0] != '\0');
                assert_in_range(error.offset, 0, i);
            }
        }
    }
}

/* If an offset is wrong, no row of the batch is trusted, since the owner of the bytes is
 * unknown. */
TEST(offsets_that_fall)
{
    enum { ROWS_HERE = 3, OFFSETS = ROWS_HERE + 1 };
    const arrow_options options = {.batches = 1, .rows = ROWS_HERE};
    const size_t size = arrow_make(capacity, &options);
    unsigned found = 0;
    for (size_t i = 0; i + OFFSETS * sizeof(uint32_t) <= size; i += 8) {
        uint32_t offsets[OFFSETS];
        memcpy(offsets, capacity + i, sizeof(offsets));
        /* the offsets of the images: each image is one byte longer than the previous one */
        if (offsets[0] != 0 || offsets[1] != ROW_IMAGE || offsets[2] != 2 * ROW_IMAGE + 1 ||
            offsets[3] != 3 * ROW_IMAGE + 3) {
            continue;
        }
        uint8_t image[4 * ROW_IMAGE];
        size_t bytes = 0;
        sluice_error error = SLUICE_ERROR_INIT;
        sl_dataset *dataset = NULL;
        offsets[1] = offsets[2] + 1;
        memcpy(capacity + i, offsets, sizeof(offsets));
        write_file(test_path("falls.arrow"), capacity, (uint32_t)size);
        sluice_status status = open_path(&dataset, test_path("falls.arrow"), &error);
        for (uint64_t row = 0; status == SLUICE_OK && row < ROWS_HERE; row++) {
            assert_int_equal(sluice_dataset_read((const sluice_dataset *)(const void *)dataset, row,
                                                 "image", image, sizeof(image), &bytes, &error),
                             SLUICE_CORRUPT);
        }
        assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, "column \"bytes\": the offsets"));
        assert_int_equal(error.offset, i);
        sl_dataset_close(dataset);
        found++;
    }
    assert_int_equal(found, 1);
}

/* The only column of a batch has fewer values than the batch has rows, or more. */
TEST(a_column_of_another_length)
{
    static const uint64_t rows[] = {70, 71, 72, 73, 74};
    enum { COUNT = 5 };
    const size_t size = arrow_make_indices(capacity, rows, COUNT);
    unsigned found = 0;
    for (size_t i = 0; i + sizeof(uint64_t) <= size; i += 4) {
        uint64_t number;
        memcpy(&number, capacity + i, sizeof(number));
        if (number != COUNT) { /* otherwise a length: the batch's or the column's */
            continue;
        }
        sluice_error error = SLUICE_ERROR_INIT;
        sl_dataset *dataset = NULL;
        capacity[i] = COUNT - 1;
        write_file(test_path("lengths.arrow"), capacity, (uint32_t)size);
        capacity[i] = COUNT;
        assert_int_equal(open_path(&dataset, test_path("lengths.arrow"), &error), SLUICE_CORRUPT);
        found++;
    }
    assert_int_equal(found, 2);
    write_file(test_path("lengths.arrow"), capacity, (uint32_t)size);
    sl_dataset *dataset = must_open(test_path("lengths.arrow"));
    assert_int_equal(dataset->info.samples, COUNT);
    sl_dataset_close(dataset);
}

/* ---- columns of a schema ---- */

enum { MEMBERS = 4 };

typedef struct member {
    const char *name;
    sl_arrow_type type;
    uint32_t parent; /* 0: the structure itself */
    bool coded;
} member;

/* Writes the schema of a structure "s" and its members, up to the first one without a name. */
static sl_arrow_schema make_structure(sl_arrow_node nodes[MEMBERS + 1], const member *members)
{
    sl_arrow_schema schema = {.nodes = nodes, .count = 1, .columns = 1};
    memset(nodes, 0, (MEMBERS + 1) * sizeof(*nodes));
    nodes[0] = (sl_arrow_node){.name = "s",
                               .parent = SL_ARROW_NONE,
                               .type = SL_ARROW_STRUCT,
                               .layout = SL_ARROW_AS_STRUCTS};
    for (const member *of = members; schema.count <= MEMBERS && of->name != NULL; of++) {
        sl_arrow_node *node = &nodes[schema.count++];
        *node = (sl_arrow_node){.parent = of->parent,
                                .type = (uint8_t)of->type,
                                .coded = of->coded,
                                .bits = 64,
                                .is_signed = true,
                                .layout = of->type == SL_ARROW_STRUCT ? SL_ARROW_AS_STRUCTS
                                          : of->type == SL_ARROW_INT  ? SL_ARROW_AS_NUMBERS
                                                                      : SL_ARROW_AS_BYTES};
        (void)snprintf(node->name, sizeof(node->name), "%s", of->name);
        node->end = schema.count;
        nodes[0].end = schema.count;
        nodes[of->parent].end = schema.count;
    }
    return schema;
}

/* Hugging Face stores an image as a structure of exactly "bytes" and "path". In any other
 * structure, each member is a column. */
TEST(structures_of_bytes_and_path_are_images)
{
    static const struct {
        member members[MEMBERS];
        const char *columns[MEMBERS];
    } structures[] = {
        {{{"bytes", SL_ARROW_BINARY, 0, false}, {"path", SL_ARROW_UTF8, 0, false}}, {"s"}},
        {{{"path", SL_ARROW_UTF8, 0, false}, {"bytes", SL_ARROW_BINARY, 0, false}}, {"s"}},
        {{{"bytes", SL_ARROW_BINARY, 0, false},
          {"path", SL_ARROW_UTF8, 0, false},
          {"size", SL_ARROW_INT, 0, false}},
         {"s.bytes", "s.path", "s.size"}},
        {{{"bytes", SL_ARROW_BINARY, 0, false}}, {"s.bytes"}},
        {{{"path", SL_ARROW_UTF8, 0, false}}, {"s.path"}},
        {{{"x", SL_ARROW_INT, 0, false}, {"y", SL_ARROW_INT, 0, false}}, {"s.x", "s.y"}},
        {{{"data", SL_ARROW_BINARY, 0, false}, {"path", SL_ARROW_UTF8, 0, false}},
         {"s.data", "s.path"}},
        {{{"bytes", SL_ARROW_BINARY, 0, false}, {"name", SL_ARROW_UTF8, 0, false}},
         {"s.bytes", "s.name"}},
        {{{"bytes", SL_ARROW_UTF8, 0, false}, {"path", SL_ARROW_UTF8, 0, false}},
         {"s.bytes", "s.path"}},
        {{{"bytes", SL_ARROW_BINARY, 0, false}, {"path", SL_ARROW_BINARY, 0, false}},
         {"s.bytes", "s.path"}},
        {{{"bytes", SL_ARROW_BINARY, 0, false}, {"path", SL_ARROW_UTF8, 0, true}},
         {"s.bytes", "s.path"}},
        {{{"bytes", SL_ARROW_STRUCT, 0, false}, {"path", SL_ARROW_UTF8, 1, false}},
         {"s.bytes.path"}},
    };
    static const sl_features features;
    for (size_t i = 0; i < sizeof(structures) / sizeof(*structures); i++) {
        sl_arrow_node nodes[MEMBERS + 1];
        sl_arrow_columns columns = {0};
        const sl_arrow_schema schema = make_structure(nodes, structures[i].members);
        assert_int_equal(sl_arrow_columns_find(&columns, &schema, &features, NULL), SLUICE_OK);
        for (uint32_t k = 0; k < columns.table.count; k++) {
            assert_non_null(structures[i].columns[k]);
            assert_string_equal(columns.table.source[k].name, structures[i].columns[k]);
            assert_false(columns.table.source[k].asked);
        }
        assert_null(structures[i].columns[columns.table.count]);
        sl_arrow_columns_close(&columns);
    }
}

/* Tables whose vtables, offsets and vectors lead out of the buffer. */
TEST(flatbuffers_that_lie)
{
    /* an offset to the table, 4 bytes of padding, its vtable, and the table with two i32 */
    uint8_t sound[28] = {16, 0, 0, 0, 0, 0, 0, 0, 8, 0, 12, 0, 4, 0,
                         8,  0, 8, 0, 0, 0, 7, 0, 0, 0, 0,  0, 0, 0};
    const struct {
        unsigned at;
        uint8_t byte;
    } lies[] = {{0, 27}, {3, 1},   {8, 200}, {8, 7},    {8, 3},   {10, 200},
                {10, 2}, {12, 11}, {12, 2},  {16, 100}, {19, 128}};
    sl_flatbuffer flat = sl_flatbuffer_of((sl_bytes){sound, sizeof(sound)});
    sl_flat_table table = sl_flat_root(&flat);
    assert_int_equal(sl_flat_number(&table, 0, 4, 1), 7);
    assert_int_equal(sl_flat_number(&table, 1, 4, 1), 0);
    assert_int_equal(sl_flat_number(&table, 2, 4, 1), 1); /* no such slot */
    assert_false(flat.damaged);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        const uint8_t before = sound[lies[i].at];
        sound[lies[i].at] = lies[i].byte;
        flat = sl_flatbuffer_of((sl_bytes){sound, sizeof(sound)});
        table = sl_flat_root(&flat);
        (void)sl_flat_number(&table, 0, 4, 1);
        if (!flat.damaged) {
            fail_msg("lie %zu was believed", i);
        }
        sound[lies[i].at] = before;
    }
    for (size_t size = 0; size < sizeof(sound); size++) {
        flat = sl_flatbuffer_of((sl_bytes){sound, size});
        table = sl_flat_root(&flat);
        (void)sl_flat_number(&table, 0, 4, 1);
        assert_true(flat.damaged);
    }
    flat = sl_flatbuffer_of((sl_bytes){sound, sizeof(sound)});
    table = sl_flat_root(&flat);
    assert_int_equal(sl_flat_vector_of(&table, 0, 1).count, 0); /* 7 is past the end */
    assert_true(flat.damaged);
}

TEST_GROUP(test_folder_make, test_folder_remove)
