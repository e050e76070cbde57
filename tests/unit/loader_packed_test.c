/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed sequences from a loader with several workers: each token once per epoch, also if
 * the run is abandoned midway or resumed from a state with other workers; by reading and from a
 * dataset in memory, also levelled over ranks. If some documents are damaged, only readable ones
 * count.
 * Also a mix, whose sources share no row, and patches of a second field. columns_packed_test checks
 * the rows' contents; python/tests/test_packed.py and test_packed_mix.py check which rows exist.
 */
#include "memory.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 400, LENGTH = 64, TOKENS_MAX = 65536, BATCH = 4 };
/* Values that are not tokens of documents. */
enum { BOS = 60001, EOS, PREFIX, MIDDLE, SUFFIX };

static uint64_t length_of(uint64_t document)
{
    return document * 37 % 83;
}

/* The last token of one dataset, and of another one whose tokens follow. */
static uint64_t token_count, other_count;
static uint32_t with_ids; /* ids in the columns that are opened */

/* Writes tokens first, first + 1, ..., one document after the other. Returns the last token. */
static uint64_t make_documents(const char *path, uint64_t first, int32_t zstd_level)
{
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    (void)snprintf(field.name, sizeof(field.name), "tokens");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_I32;
    field.dims = 1;
    options.fields = &field;
    options.field_count = 1;
    options.zstd_level = zstd_level;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    uint64_t token = first - 1;
    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        int32_t tokens[LENGTH * 2];
        sluice_value value = SLUICE_VALUE_INIT;
        for (uint64_t k = 0; k < length_of(i); k++) {
            tokens[k] = (int32_t)++token;
        }
        value.data = tokens;
        value.bytes = length_of(i) * sizeof(*tokens);
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    assert_true(token < TOKENS_MAX);
    return token;
}

static sluice_dataset *open_documents(const char *path)
{
    sluice_dataset *data = NULL;
    assert_int_equal(sluice_dataset_open(&data, &path, 1, NULL, NULL), SLUICE_OK);
    return data;
}

static sluice_column packed_column(void)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_PACKED;
    column.field = "tokens";
    column.length = LENGTH;
    return column;
}

/* `options` has everything except the columns. */
static sluice_loader *open_column(sluice_dataset *data, const sluice_column *column,
                                  sluice_loader_options options)
{
    sluice_loader *loader = NULL;
    sluice_columns *columns = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, column), SLUICE_OK);
    options.columns = columns;
    options.batch_size = BATCH;
    options.seed = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    if (sluice_loader_open(&loader, data, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
    sluice_dataset_close(data);
    return loader;
}

static sluice_loader *open_with(sluice_dataset *data, sluice_loader_options options)
{
    sluice_column column = packed_column();
    column.cut = SLUICE_CUT_SPLIT;
    column.ids = with_ids;
    column.bos = (with_ids & SLUICE_ID_BOS) != 0 ? BOS : 0;
    column.eos = (with_ids & SLUICE_ID_EOS) != 0 ? EOS : 0;
    if ((with_ids & SLUICE_ID_FIM_PREFIX) != 0) {
        column.fim_rate = 0.5;
        column.fim_prefix = PREFIX;
        column.fim_middle = MIDDLE;
        column.fim_suffix = SUFFIX;
    }
    return open_column(data, &column, options);
}

static sluice_loader *open_loader_of(sluice_dataset *data, uint32_t workers,
                                     uint64_t resident_bytes, int32_t on_bad_sample)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = workers;
    options.resident_bytes = resident_bytes;
    options.on_bad_sample = on_bad_sample;
    return open_with(data, options);
}

static sluice_loader *open_level(uint32_t rank, uint32_t world, uint64_t resident_bytes)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = 3;
    options.resident_bytes = resident_bytes;
    options.rank = rank;
    options.world_size = world;
    options.level_rows = 1;
    return open_with(open_documents(test_path("documents")), options);
}

static sluice_loader *open_loader(uint32_t workers, uint64_t resident_bytes)
{
    return open_loader_of(open_documents(test_path("documents")), workers, resident_bytes,
                          SLUICE_BAD_FAIL);
}

static const void *array_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor.data;
}

static const int64_t *numbers_of(const sluice_batch *batch, const char *name)
{
    return array_of(batch, name);
}

static bool is_token(int64_t token)
{
    return token > 0 && token <= (int64_t)token_count;
}

/* Counts the tokens of at most `steps` batches. True at the epoch's end. */
static bool count_tokens(sluice_loader *loader, uint32_t steps, uint8_t *seen)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t step = 0; step < steps; step++) {
        sluice_batch *batch = NULL;
        status = sluice_loader_next(loader, &batch, -1);
        if (status != SLUICE_OK) {
            break;
        }
        const int64_t *tokens = numbers_of(batch, "tokens");
        const int64_t *targets = numbers_of(batch, "tokens.targets");
        for (uint64_t i = 0; i < (uint64_t)LENGTH * sluice_batch_rows(batch); i++) {
            assert_true(is_token(tokens[i]) || tokens[i] == 0 || tokens[i] >= BOS);
            assert_true(targets[i] == -1 || targets[i] == tokens[i] + 1 || targets[i] >= BOS ||
                        tokens[i] >= BOS);
            seen[tokens[i]]++; /* 0: padding */
        }
        sluice_batch_release(batch);
    }
    assert_true(status == SLUICE_OK || status == SLUICE_END);
    return status == SLUICE_END;
}

static void expect_all(const uint8_t *seen, uint8_t times)
{
    for (uint64_t i = 1; i <= token_count; i++) {
        assert_int_equal(seen[i], times);
    }
}

static int setup(void **state)
{
    (void)test_folder_make(state);
    token_count = make_documents(test_path("documents"), 1, SLUICE_ZSTD_OFF);
    other_count = make_documents(test_path("others"), token_count + 1, SLUICE_ZSTD_OFF);
    return 0;
}

TEST_GROUP(setup, test_folder_remove)

static void check_epochs(uint64_t resident_bytes)
{
    static uint8_t seen[TOKENS_MAX];
    memset(seen, 0, sizeof(seen));
    sluice_loader *loader = open_loader(4, resident_bytes);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        assert_true(count_tokens(loader, UINT32_MAX, seen));
        expect_all(seen, (uint8_t)(epoch + 1));
    }
    sluice_loader_close(loader);
}

TEST(each_token_once_an_epoch)
{
    check_epochs(UINT64_C(1) << 30);
    check_epochs(1); /* no copy in memory */
}

TEST(given_up_and_resumed)
{
    static uint8_t seen[TOKENS_MAX];
    for (uint32_t steps = 0; steps < 40; steps += 7) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        memset(seen, 0, sizeof(seen));
        sluice_loader *first = open_loader(3, 0);
        assert_int_equal(sluice_loader_start_epoch(first, 1), SLUICE_OK);
        assert_false(count_tokens(first, steps, seen));
        assert_int_equal(sluice_loader_save(first, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(first); /* midway */
        sluice_loader *second = open_loader(2, 0);
        assert_int_equal(sluice_loader_restore(second, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(epoch, 1);
        assert_int_equal(sluice_loader_start_epoch(second, epoch), SLUICE_OK);
        assert_true(count_tokens(second, UINT32_MAX, seen));
        expect_all(seen, 1);
        sluice_loader_close(second);
    }
}

/* Each document has its ids once per epoch, and the same number are transformed. */
TEST(ids_of_each_document)
{
    static uint8_t seen[TOKENS_MAX];
    const uint32_t fim = SLUICE_ID_FIM_PREFIX | SLUICE_ID_FIM_MIDDLE | SLUICE_ID_FIM_SUFFIX;
    uint8_t documents = 0;
    uint8_t transformed = 0;
    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        documents = (uint8_t)(documents + (length_of(i) > 0)); /* modulo 256, like those seen */
    }
    with_ids = fim | SLUICE_ID_BOS | SLUICE_ID_EOS;
    for (uint64_t resident = 0; resident < 2; resident++) {
        sluice_loader *loader = open_loader(4, resident);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, sizeof(seen));
            assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
            assert_true(count_tokens(loader, UINT32_MAX, seen));
            expect_all(seen, 1);
            transformed = transformed == 0 ? seen[PREFIX] : transformed;
            assert_int_equal(seen[BOS], documents);
            assert_int_equal(seen[EOS], documents);
            assert_in_range(seen[PREFIX], DOCUMENTS * 2 / 5, DOCUMENTS * 3 / 5);
            assert_int_equal(seen[PREFIX], transformed);
            assert_int_equal(seen[MIDDLE], transformed);
            assert_int_equal(seen[SUFFIX], transformed);
        }
        sluice_loader_close(loader);
    }
    with_ids = 0;
}

/* ---- a mix ---- */

enum { MIX_ROWS_MAX = 2048 };

/* The number and elements of each row. */
typedef struct mixed_rows {
    uint32_t count;
    int64_t numbers[MIX_ROWS_MAX];
    int64_t tokens[MIX_ROWS_MAX][LENGTH];
} mixed_rows;

/* The other dataset has three of four rows, so it repeats within an epoch. */
static sluice_loader *open_mix(uint32_t workers)
{
    static const double weights[] = {1, 3};
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    sluice_dataset *sources[2];
    sluice_dataset *mix = NULL;
    options.weights = weights;
    options.row_count = 1;
    sources[0] = open_documents(test_path("documents"));
    sources[1] = open_documents(test_path("others"));
    assert_int_equal(sluice_dataset_mix(&mix, sources, 2, &options, NULL), SLUICE_OK);
    sluice_dataset_close(sources[0]);
    sluice_dataset_close(sources[1]);
    return open_loader_of(mix, workers, 0, SLUICE_BAD_FAIL);
}

/* Takes the rows of at most `steps` batches. */
static void take_rows(sluice_loader *loader, uint32_t steps, mixed_rows *to)
{
    sluice_batch *batch = NULL;
    for (uint32_t i = 0; i < steps && sluice_loader_next(loader, &batch, -1) == SLUICE_OK; i++) {
        const uint32_t rows = (uint32_t)sluice_batch_rows(batch);
        assert_true(to->count + rows <= MIX_ROWS_MAX);
        memcpy(&to->numbers[to->count], numbers_of(batch, "index"), rows * sizeof(int64_t));
        memcpy(to->tokens[to->count], numbers_of(batch, "tokens"), rows * sizeof(*to->tokens));
        to->count += rows;
        sluice_batch_release(batch);
    }
}

static void take_epoch(sluice_loader *loader, uint64_t epoch, mixed_rows *to)
{
    to->count = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    take_rows(loader, UINT32_MAX, to);
}

/* True if a row comes from the other dataset; all its tokens must agree. */
static bool is_of_other(const int64_t *tokens)
{
    const bool other = tokens[0] > (int64_t)token_count;
    for (uint32_t i = 0; i < LENGTH; i++) {
        assert_true(tokens[i] == 0 || (tokens[i] > (int64_t)token_count) == other);
    }
    return other;
}

TEST(a_mix_has_rows_of_one_source_each)
{
    static mixed_rows epoch;
    static uint8_t seen[TOKENS_MAX];
    uint32_t others = 0;
    sluice_loader *loader = open_mix(4);
    take_epoch(loader, 0, &epoch);
    for (uint32_t i = 0; i < epoch.count; i++) {
        others += is_of_other(epoch.tokens[i]);
        assert_true(4 * others <= 3 * (i + 1) + 3 && 4 * others + 3 >= 3 * (i + 1));
        for (uint32_t k = 0; k < LENGTH; k++) {
            seen[epoch.tokens[i][k]]++;
        }
    }
    for (uint64_t i = token_count + 1; i <= other_count; i++) {
        assert_in_range(seen[i], 1, 2); /* its rows repeat one and a half times */
    }
    for (uint64_t i = 1; i <= token_count; i++) {
        assert_in_range(seen[i], 0, 1);
    }
    sluice_loader_close(loader);
}

TEST(a_mix_given_up_and_resumed)
{
    static mixed_rows whole;
    static mixed_rows parts;
    sluice_loader *first = open_mix(1);
    take_epoch(first, 2, &whole);
    for (uint32_t steps = 1; steps < whole.count / BATCH; steps += 17) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        parts.count = 0;
        assert_int_equal(sluice_loader_start_epoch(first, 2), SLUICE_OK);
        take_rows(first, steps, &parts);
        assert_int_equal(sluice_loader_save(first, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(first); /* midway */
        first = open_mix(1 + steps % 4);
        assert_int_equal(sluice_loader_restore(first, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(first, epoch), SLUICE_OK);
        take_rows(first, UINT32_MAX, &parts);
        assert_int_equal(parts.count, whole.count);
        assert_memory_equal(parts.numbers, whole.numbers, whole.count * sizeof(*whole.numbers));
        assert_memory_equal(parts.tokens, whole.tokens, whole.count * sizeof(*whole.tokens));
    }
    sluice_loader_close(first);
}

/* ---- levelled over ranks ---- */

/* All ranks together have each token once: 3 ranks the first `steps` batches, 2 ranks the rest;
 * then these 2 the whole next epoch, for which nothing was read ahead. */
static void check_level(uint32_t steps, uint64_t resident_bytes)
{
    static uint8_t seen[TOKENS_MAX];
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = 0;
    memset(seen, 0, sizeof(seen));
    for (uint32_t rank = 0; rank < 3; rank++) {
        sluice_loader *loader = open_level(rank, 3, resident_bytes);
        assert_int_equal(sluice_loader_start_epoch(loader, 2), SLUICE_OK);
        assert_false(count_tokens(loader, steps, seen));
        bytes = sizeof(cursor);
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint64_t epoch = 0;
        sluice_loader *loader = open_level(rank, 2, resident_bytes);
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        assert_true(count_tokens(loader, UINT32_MAX, seen));
        assert_int_equal(sluice_loader_start_epoch(loader, 2), SLUICE_OK);
        assert_true(count_tokens(loader, UINT32_MAX, seen));
        sluice_loader_close(loader);
    }
    expect_all(seen, 2);
}

TEST(level_over_ranks_and_resumed_on_fewer)
{
    for (uint32_t steps = 0; steps < 20; steps += 6) {
        check_level(steps, 1);
        check_level(steps, UINT64_C(1) << 30);
    }
}

/* From the second batch on, nothing is allocated. */
TEST(level_rows_allocate_nothing)
{
    static uint8_t seen[TOKENS_MAX];
    sluice_loader *loader = open_level(1, 2, 0);
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    assert_false(count_tokens(loader, 60, seen));
    const uint64_t allocations = sl_memory_allocations();
    assert_false(count_tokens(loader, 200, seen));
    assert_int_equal(sl_memory_allocations(), allocations);
    sluice_loader_close(loader);
}

/* ---- documents that cannot be read ---- */

/* Flips a bit of every fifth nonempty document. Returns their number. */
static uint32_t damage(const char *path)
{
    static sluice_sample_info info;
    static uint64_t places[DOCUMENTS];
    static char shard[sizeof(info.file)];
    sluice_dataset *data = NULL;
    uint32_t count = 0;
    assert_int_equal(sluice_dataset_open(&data, &path, 1, NULL, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < DOCUMENTS; i += 5) {
        info = (sluice_sample_info)SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_get_sample(data, i, &info, NULL), SLUICE_OK);
        memcpy(shard, info.file, sizeof(shard));
        places[count] = info.offset + info.bytes - 1;
        count += length_of(i) > 0;
    }
    sluice_dataset_close(data);
    FILE *file = fopen(shard, "r+b");
    assert_non_null(file);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        const int byte = fgetc(file);
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        assert_true(byte != EOF && fputc(byte ^ 1, file) != EOF);
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

/* Counts how often each token is expected: once if its document can be read by itself. Returns the
 * number of unreadable documents. */
static uint32_t read_each(const char *path, uint8_t *expected)
{
    sluice_dataset *data = NULL;
    uint32_t unreadable = 0;
    uint64_t token = 1;
    assert_int_equal(sluice_dataset_open(&data, &path, 1, NULL, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        int32_t tokens[LENGTH * 2];
        size_t bytes;
        const bool good = sluice_dataset_read(data, i, "tokens", tokens, sizeof(tokens), &bytes,
                                              NULL) == SLUICE_OK;
        unreadable += !good;
        for (uint64_t k = 0; k < length_of(i); k++, token++) {
            expected[token] = good;
            assert_true(!good || (uint64_t)tokens[k] == token);
        }
    }
    sluice_dataset_close(data);
    return unreadable;
}

TEST(documents_that_cannot_be_read_are_left_out)
{
    static uint8_t expected[TOKENS_MAX];
    static uint8_t seen[TOKENS_MAX];
    char words[64];
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", test_path("damaged"));
    token_count = make_documents(path, 1, 1);
    const uint32_t unreadable = damage(path);
    assert_int_equal(read_each(path, expected), unreadable);
    memset(seen, 0, sizeof(seen));
    sluice_loader *loader = open_loader_of(open_documents(path), 4, 0, SLUICE_BAD_MASK);
    (void)snprintf(words, sizeof(words), " %u of %u documents of \"tokens\" cannot be read",
                   unreadable, (unsigned)DOCUMENTS);
    sluice_error warning = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_get_warning(loader, 0, &warning), SLUICE_OK);
    assert_non_null(strstr(warning.text, words));
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_true(count_tokens(loader, UINT32_MAX, seen));
    for (uint64_t i = 1; i <= token_count; i++) {
        assert_int_equal(seen[i], expected[i]);
    }
    sluice_loader_close(loader);
}

/* ---- patches of a second field ---- */

enum { PICTURES = 300, PATCH = 3, PER_TOKEN = 4 };

static uint64_t tokens_of(uint64_t document)
{
    return 1 + document * 31 % 40;
}

/* Some documents have no patches. */
static uint64_t patches_of(uint64_t document)
{
    return document % 3 == 0 ? 0 : document * 17 % 90;
}

static void make_pictures(const char *path, int32_t zstd_level)
{
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(fields[i].name, sizeof(fields[i].name), i == 0 ? "patches" : "tokens");
        fields[i].type = SLUICE_FIELD_TENSOR;
        fields[i].dtype = SLUICE_I32;
        fields[i].dims = 2 - i;
        fields[i].shape[1] = i == 0 ? PATCH : 0;
    }
    options.fields = fields;
    options.field_count = 2;
    options.zstd_level = zstd_level;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < PICTURES; i++) {
        int32_t tokens[64];
        int32_t patches[90 * PATCH];
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        for (uint64_t k = 0; k < tokens_of(i); k++) {
            tokens[k] = (int32_t)(i * 100 + k);
        }
        for (uint64_t k = 0; k < patches_of(i) * PATCH; k++) {
            patches[k] = (int32_t)(i * 1000 + k);
        }
        values[0].data = patches;
        values[0].bytes = patches_of(i) * PATCH * sizeof(*patches);
        values[1].data = tokens;
        values[1].bytes = tokens_of(i) * sizeof(*tokens);
        assert_int_equal(sluice_writer_add_values(writer, values, 2, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

/* Checks that all of a row's documents are present and fit it. */
static void check_pictures(const sluice_batch *batch, uint32_t row, uint8_t *seen)
{
    enum { MOST = 32 };
    const int64_t *samples = numbers_of(batch, "tokens.samples") + (size_t)row * MOST;
    const int32_t *lengths = array_of(batch, "tokens.media_lengths");
    const int32_t *begins = array_of(batch, "tokens.cu_seqlens_padded");
    const int64_t *tokens = numbers_of(batch, "tokens") + (size_t)row * LENGTH;
    const int32_t *patches = array_of(batch, "tokens.media");
    const int64_t *offsets = numbers_of(batch, "tokens.media_offsets");
    uint64_t used = 0;
    int64_t at = offsets[row];
    for (uint32_t i = 0; i < MOST; i++) {
        const uint64_t n = samples[i] >= 0 ? patches_of((uint64_t)samples[i]) : 0;
        assert_int_equal(lengths[(size_t)row * MOST + i], n);
        if (samples[i] < 0) {
            continue;
        }
        const uint64_t sample = (uint64_t)samples[i];
        assert_int_equal(tokens[begins[(size_t)row * (MOST + 1) + i]], sample * 100);
        for (uint64_t k = 0; k < n * PATCH; k++) {
            assert_int_equal(patches[(uint64_t)at * PATCH + k], sample * 1000 + k);
        }
        at += (int64_t)n;
        used += tokens_of(sample) + (n + PER_TOKEN - 1) / PER_TOKEN;
        seen[sample]++;
    }
    assert_int_equal(offsets[row + 1], at);
    assert_in_range(used, 1, LENGTH);
}

static void check_picture_epochs(const char *path, uint64_t resident_bytes)
{
    static uint8_t seen[PICTURES];
    sluice_column column = packed_column();
    column.media = "patches";
    column.per_token = PER_TOKEN;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = 4;
    options.resident_bytes = resident_bytes;
    memset(seen, 0, sizeof(seen));
    sluice_loader *loader = open_column(open_documents(path), &column, options);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        sluice_batch *batch = NULL;
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        sluice_status status;
        while ((status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
            for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
                check_pictures(batch, row, seen);
            }
            sluice_batch_release(batch);
        }
        assert_int_equal(status, SLUICE_END);
        for (uint32_t i = 0; i < PICTURES; i++) {
            assert_int_equal(seen[i], epoch + 1);
        }
    }
    sluice_loader_close(loader);
}

TEST(patches_come_with_their_documents)
{
    static const int32_t levels[2] = {SLUICE_ZSTD_OFF, 3};
    for (uint32_t i = 0; i < 2; i++) {
        make_pictures(test_path(i == 0 ? "plain" : "frames"), levels[i]);
        check_picture_epochs(test_path(i == 0 ? "plain" : "frames"), UINT64_C(1) << 30);
        check_picture_epochs(test_path(i == 0 ? "plain" : "frames"), 1);
    }
}
