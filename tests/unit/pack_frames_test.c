/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which fields become zstd frames by default: the first samples decide, with the same result
 * for any number of workers, and a resumed pack keeps the decision. */
#include "formats.h"
#include "frames.h"
#include "jpeg_make.h"
#include "pack_setup.h"
#include "shard_bytes.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 120, ELEMENTS = 200 };
enum { COUNTS, NOISE, TEXT, FIELDS };

typedef struct fixture {
    char work[256];
    char source[300], a[300], b[300];
    pack_setup setup; /* its dataset is the source */
} fixture;

static void fill_noise(uint8_t *data, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525U + 1013904223U;
        data[i] = (uint8_t)(seed >> 24);
    }
}

/* Small counts in wide integers, noise, and a text too short for a frame. */
static void write_source(const char *folder, int32_t level)
{
    static int64_t counts[ELEMENTS];
    static uint8_t noise[1000];
    char text[40];
    sluice_writer *writer;
    sluice_field fields[FIELDS] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    (void)snprintf(fields[COUNTS].name, sizeof(fields[0].name), "counts");
    fields[COUNTS].type = SLUICE_FIELD_TENSOR;
    fields[COUNTS].dtype = SLUICE_I64;
    fields[COUNTS].dims = 1;
    (void)snprintf(fields[NOISE].name, sizeof(fields[0].name), "noise");
    fields[NOISE].type = SLUICE_FIELD_BYTES;
    (void)snprintf(fields[TEXT].name, sizeof(fields[0].name), "text");
    fields[TEXT].type = SLUICE_FIELD_TEXT;
    options.fields = fields;
    options.field_count = FIELDS;
    options.zstd_level = level;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sluice_value values[FIELDS] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        for (uint32_t k = 0; k < ELEMENTS; k++) {
            counts[k] = (int64_t)(i + k) % 50;
        }
        fill_noise(noise, sizeof(noise), i);
        values[COUNTS].data = counts;
        values[COUNTS].bytes = sizeof(counts);
        values[NOISE].data = noise;
        values[NOISE].bytes = sizeof(noise);
        values[TEXT].data = text;
        values[TEXT].bytes = (uint64_t)snprintf(text, sizeof(text), "aaaaaaaaaaaaaaaaaaaaaa%u", i);
        assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

static void fixture_make(fixture *f)
{
    memset(f, 0, sizeof(*f));
    temporary_directory(f->work, sizeof(f->work));
    (void)snprintf(f->source, sizeof(f->source), "%s/source", f->work);
    (void)snprintf(f->a, sizeof(f->a), "%s/a", f->work);
    (void)snprintf(f->b, sizeof(f->b), "%s/b", f->work);
    write_source(f->source, SLUICE_ZSTD_OFF);
    const char *path = f->source;
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    assert_int_equal(sl_dataset_open(&f->setup.dataset, &path, 1, &options, NULL), SLUICE_OK);
}

static void fixture_remove(fixture *f)
{
    sl_dataset_close(f->setup.dataset);
    remove_tree(f->work);
}

static void expect_compression(const char *folder, int counts, int noise, int text)
{
    sluice_dataset *dataset;
    sluice_field field = SLUICE_FIELD_INIT;
    const int expected[FIELDS] = {counts, noise, text};
    assert_int_equal(sluice_dataset_open(&dataset, &folder, 1, NULL, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < FIELDS; i++) {
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        assert_int_equal(field.compression, expected[i]);
    }
    sluice_dataset_close(dataset);
}

enum { NEVER = SLUICE_COMPRESSION_NEVER, ALWAYS = SLUICE_COMPRESSION_ALWAYS };

TEST(what_pays_is_found_out)
{
    fixture f;
    fixture_make(&f);
    expect_compression(f.source, NEVER, NEVER, NEVER);
    sluice_pack_options options = pack_options();
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    expect_compression(f.a, ALWAYS, NEVER, NEVER);
    write_source(f.b, SLUICE_ZSTD_AUTO);
    expect_compression(f.b, ALWAYS, NEVER, NEVER);
    fixture_remove(&f);
}

TEST(workers_do_not_change_a_byte)
{
    fixture f;
    fixture_make(&f);
    sluice_pack_options options = pack_options();
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    for (uint32_t workers = 2; workers <= 5; workers++) {
        options.workers = workers;
        options.overwrite = 1;
        assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
        assert_true(folders_equal(f.a, f.b));
    }
    fixture_remove(&f);
}

/* Spoils a sample, so that a strict pack stops at it. */
static void spoil(const fixture *f, uint64_t number)
{
    file_bytes shard;
    file_load(&shard, f->source, "shard-000000.sluice");
    const size_t at = sample_at(&shard, number) + 1000;
    file_store_byte(&shard, at, shard.data[at] ^ 1);
    file_free(&shard);
}

/* A pack in source order stops at `number`, leaving its journal and some shards. */
static void leave_unfinished(const fixture *f, uint64_t number)
{
    sluice_pack_options options = pack_options();
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    options.keep_order = 1;
    spoil(f, number);
    assert_int_equal(pack_run(&f->setup, f->a, &options, NULL, NULL), SLUICE_CORRUPT);
    assert_true(count_names(f->a, is_shard) >= 2);
}

TEST(a_pack_that_goes_on_keeps_to_it)
{
    fixture f;
    fixture_make(&f);
    leave_unfinished(&f, 100);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    options.keep_order = 1;
    options.workers = 3;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    assert_true(result.resumed_samples > 0 && result.rejected == 1);
    expect_compression(f.a, ALWAYS, NEVER, NEVER);
    options.workers = 1;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    assert_true(folders_equal(f.a, f.b));
    fixture_remove(&f);
}

static void edit_journal(const fixture *f, const char *from, const char *to)
{
    file_bytes journal;
    file_load(&journal, f->a, "pack.journal");
    journal.data[journal.size] = '\0';
    char *at = strstr((char *)journal.data, from);
    assert_non_null(at);
    for (size_t i = 0; to[i] != '\0'; i++) {
        at[i] = to[i];
    }
    file_store(&journal, journal.size);
    file_free(&journal);
}

/* The first samples may have disappeared or been repaired when a pack resumes: they are not
 * examined again. */
TEST(the_journal_tells_what_was_found)
{
    fixture f;
    fixture_make(&f);
    leave_unfinished(&f, 100);
    edit_journal(&f, "framed=0000000000000001", "framed=0000000000000002");
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    options.keep_order = 1;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    expect_compression(f.a, NEVER, ALWAYS, NEVER);
    assert_int_equal(result.resumed_samples, 0); /* other shards */
    remove_tree(f.a);
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_CORRUPT);
    edit_journal(&f, "framed=0000", "framed=  0x");
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "overwrite"));
    fixture_remove(&f);
}

/* ---- one field, many contents ---- */

static sluice_writer *open_bytes(const char *folder, int32_t level, int32_t compression)
{
    sluice_writer *writer;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    (void)snprintf(field.name, sizeof(field.name), "x");
    field.type = SLUICE_FIELD_BYTES;
    field.compression = compression;
    options.fields = &field;
    options.field_count = 1;
    options.zstd_level = level;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    return writer;
}

/* Writes samples with `zeros` of 1000 bytes zero and the others noise. Returns the field's
 * compression. */
static int32_t write_bytes(const char *folder, uint32_t samples, size_t zeros, uint32_t other_from)
{
    static uint8_t data[1000];
    sluice_writer *writer = open_bytes(folder, SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_AUTO);
    for (uint32_t i = 0; i < samples; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        fill_noise(data, sizeof(data), i);
        memset(data, 0, i < other_from ? zeros : sizeof(data) - zeros);
        value.data = data;
        value.bytes = sizeof(data);
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    sluice_dataset *dataset;
    sluice_field field = SLUICE_FIELD_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, &folder, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    uint8_t got[1000];
    size_t bytes;
    assert_int_equal(sluice_dataset_read(dataset, samples - 1, "x", got, sizeof(got), &bytes, NULL),
                     SLUICE_OK);
    assert_memory_equal(got, data, sizeof(data));
    sluice_dataset_close(dataset);
    return field.compression;
}

TEST(a_quarter_is_the_limit)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    assert_int_equal(write_bytes(folder, 1, 200, 1), NEVER);
    assert_int_equal(write_bytes(folder, 1, 320, 1), ALWAYS);
    assert_int_equal(write_bytes(folder, 63, 200, 63), NEVER);
    assert_int_equal(write_bytes(folder, 64, 320, 64), ALWAYS);
    /* Samples after the first 64 do not count. */
    assert_int_equal(write_bytes(folder, 200, 100, 64), NEVER);
    assert_int_equal(write_bytes(folder, 200, 900, 64), ALWAYS);
    remove_tree(folder);
}

/* Not all large samples are kept in memory. */
TEST(four_mebibytes_are_enough)
{
    char folder[256];
    static uint8_t data[1 << 20];
    temporary_directory(folder, sizeof(folder));
    sluice_writer *writer = open_bytes(folder, SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_AUTO);
    for (uint32_t i = 0; i < 5; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        value.data = data;
        value.bytes = sizeof(data);
        assert_int_equal(count_names(folder, is_temporary), i < 4 ? 0 : 1);
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    sluice_writer_abort(writer); /* with and without waiting samples */
    writer = open_bytes(folder, SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_AUTO);
    sluice_value value = SLUICE_VALUE_INIT;
    assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    sluice_writer_abort(writer);
    assert_int_equal(count_names(folder, NULL), 0);
    remove_tree(folder);
}

TEST(what_is_asked_for_settles_it)
{
    static const struct {
        int32_t level, compression, expected_level;
        uint64_t open;
    } cases[] = {
        {SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_AUTO, 0, 1},
        {SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_NEVER, 0, 0},
        {SLUICE_ZSTD_AUTO, SLUICE_COMPRESSION_ALWAYS, SL_FRAMES_LEVEL, 0},
        {SLUICE_ZSTD_OFF, SLUICE_COMPRESSION_AUTO, 0, 0},
        {SLUICE_ZSTD_OFF, SLUICE_COMPRESSION_ALWAYS, SL_FRAMES_LEVEL, 0},
        {9, SLUICE_COMPRESSION_AUTO, 9, 0},
        {9, SLUICE_COMPRESSION_NEVER, 0, 0},
        {9, SLUICE_COMPRESSION_ALWAYS, 9, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sl_schema schema;
        const sl_field fields[2] = {{.name = "x",
                                     .type = SLUICE_FIELD_BYTES,
                                     .compression = (sluice_compression)cases[i].compression},
                                    {.name = "n", .type = SLUICE_FIELD_INT}};
        assert_int_equal(sl_schema_make(&schema, fields, 2, NULL), SLUICE_OK);
        sl_record_plan plan = {.schema = &schema};
        assert_int_equal(sl_frames_ask(&plan, cases[i].level), cases[i].open);
        assert_int_equal(plan.levels[0], cases[i].expected_level);
        assert_int_equal(plan.levels[1], 0);
    }
}

/* JPEGs do not count; pixels do. */
TEST(pictures_are_measured_by_their_pixels)
{
    static const uint8_t flat[64 * 64 * 3];
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    for (uint32_t raw = 0; raw < 2; raw++) {
        sluice_writer *writer;
        sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
        options.overwrite = 1;
        assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
        for (uint32_t i = 0; i < 70; i++) {
            jpeg_file file = jpeg_make_pattern(64, 64, 1, NULL);
            sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
            const bool pixels = raw == 1 && i == 5;
            sample.image = pixels ? flat : file.data;
            sample.image_bytes = pixels ? sizeof(flat) : file.size;
            sample.raw_width = pixels ? 64 : 0;
            sample.raw_height = sample.raw_width;
            assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
            jpeg_free(&file);
        }
        assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
        const char *path = folder;
        sluice_dataset *dataset;
        sluice_field field = SLUICE_FIELD_INIT;
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
        assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
        assert_int_equal(field.compression, raw == 1 ? ALWAYS : NEVER);
        assert_int_equal(sluice_dataset_get_sample(dataset, 5, &info, NULL), SLUICE_OK);
        assert_true(raw == 0 || info.bytes < 200);
        sluice_dataset_close(dataset);
    }
    remove_tree(folder);
}
