/* SPDX-License-Identifier: Apache-2.0 */
/* Tests very many shards, and more samples than 32 bits can count: the file system calls of
 * opening, how often files are opened later, and that far positions return the right bytes. The
 * shards are sparse except for a page at each end: windows of a long tensor are not checksummed, so
 * holes are zeros. */
#include "loader_setup.h"
#include "shard_bytes.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE    4096U
#define RECORD  0x7fffffffU /* bytes of a sample, the maximum */
#define ROW     64U
#define ROWS_AT 4096U

enum { MANY = 2000, FEW = 3, SAMPLES = 2, LENGTH = 4, SMALL = 100, BATCH = 64 };

static char many[300], few[300];
static uint64_t each; /* windows per sample */
static uint32_t head; /* bytes of a sample before its tensor */

/* ---- calls to the file system ---- */

static _Atomic uint32_t opened, listed, reads;

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset);

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int fd = __real_open(path, flags, mode);
    opened += fd >= 0 && strstr(path, ".sluice") != NULL;
    return fd;
}

DIR *__wrap_opendir(const char *path)
{
    listed++;
    return __real_opendir(path);
}

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset)
{
    reads++;
    return __real_pread(fd, to, bytes, offset);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static void forget(void)
{
    opened = 0;
    listed = 0;
    reads = 0;
}

/* ---- the files ---- */

/* One shard with one short sample, as the writer makes it. */
static void write_template(const char *path)
{
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "tokens");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U8;
    field.dims = 1;
    field.compression = SLUICE_COMPRESSION_NEVER;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = &field;
    options.field_count = 1;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    const uint8_t tokens[SMALL] = {0};
    sluice_value value = SLUICE_VALUE_INIT;
    value.data = tokens;
    value.bytes = SMALL;
    value.shape[0] = SMALL;
    assert_int_equal(sluice_writer_add_values(writer, &value, 1, &error), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
}

/* Gives the template SAMPLES samples of RECORD bytes; the metadata end the file. */
static void enlarge(file_bytes *shard)
{
    const uint64_t data = (uint64_t)SAMPLES * RECORD;
    const uint64_t index = PAGE + (data + PAGE - 1) / PAGE * PAGE;
    const uint64_t meta = get64(shard, SHARD_META_BYTES_AT);
    head = get32(shard, SHARD_RECORD_BYTES_AT) - (uint32_t)SMALL;
    each = RECORD - head - LENGTH + 1;
    put64(shard, 24, index + meta);
    put64(shard, SHARD_SAMPLES_AT, SAMPLES);
    put64(shard, 40, data);
    put64(shard, SHARD_INDEX_OFFSET_AT, index);
    put32(shard, SHARD_RECORD_BYTES_AT, RECORD);
    put64(shard, 120, 0);
    put64(shard, 128, SAMPLES);
}

static void write_at(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
}

/* Writes the template as shard `number`; `metadata` belong to this shard. */
static void write_shard(const char *folder, file_bytes *shard, uint32_t number,
                        const uint8_t *metadata)
{
    const uint64_t index = get64(shard, SHARD_INDEX_OFFSET_AT);
    put64(shard, SHARD_META_OFFSET_AT, index);
    put32(shard, 112, number);
    seal_header(shard);
    (void)snprintf(shard->path, sizeof(shard->path), "%s/shard-%06u.sluice", folder, number);
    const int fd = __real_open(shard->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    write_at(fd, shard->data, PAGE, 0);
    write_at(fd, metadata, get64(shard, SHARD_META_BYTES_AT), index);
    assert_int_equal(close(fd), 0);
}

static void put_row(file_bytes *manifest, const file_bytes *shard, uint32_t number)
{
    static const uint32_t fields[] = {32, 24, 40, 48, 4088, 96};
    const size_t row = ROWS_AT + (size_t)number * ROW;
    put64(manifest, row, (uint64_t)number * SAMPLES);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        put64(manifest, row + 8 * (i + 1), get64(shard, fields[i]));
    }
    put32(manifest, row + 56, number);
    put32(manifest, row + 60, RECORD);
}

static void make_shards(char folder[300], uint32_t count)
{
    char path[400];
    file_bytes shard;
    file_bytes manifest;
    temporary_directory(folder, 300);
    (void)snprintf(path, sizeof(path), "%s/template", folder);
    write_template(path);
    file_load(&shard, path, "shard-000000.sluice");
    file_load(&manifest, path, "manifest.sluice");
    const uint8_t *metadata = shard.data + get64(&shard, SHARD_META_OFFSET_AT);
    const uint64_t meta = get64(&manifest, 80);
    enlarge(&shard);
    manifest.size = ROWS_AT + (size_t)count * ROW + meta;
    manifest.data = realloc(manifest.data, manifest.size);
    assert_non_null(manifest.data);
    for (uint32_t i = 0; i < count; i++) {
        write_shard(folder, &shard, i, metadata);
        put_row(&manifest, &shard, i);
    }
    memcpy(manifest.data + manifest.size - meta, metadata, meta);
    put64(&manifest, 24, manifest.size);
    put64(&manifest, 32, (uint64_t)count * SAMPLES);
    put64(&manifest, 40, (uint64_t)count * SAMPLES * RECORD);
    put64(&manifest, 48, count);
    put64(&manifest, 56, (uint64_t)count * ROW);
    put64(&manifest, 72, manifest.size - meta);
    put64(&manifest, 96, (uint64_t)count * SAMPLES);
    seal_manifest(&manifest);
    (void)snprintf(manifest.path, sizeof(manifest.path), "%s/manifest.sluice", folder);
    file_store(&manifest, manifest.size);
    file_free(&manifest);
    file_free(&shard);
}

/* Makes window `number` and the following ones begin with 1, 2, 3, ... */
static void mark(uint64_t number, uint32_t count)
{
    uint8_t bytes[256];
    for (uint32_t i = 0; i < count; i++, number++) {
        char path[400];
        bytes[i] = (uint8_t)(i + 1);
        const uint64_t sample = number / each;
        (void)snprintf(path, sizeof(path), "%s/shard-%06u.sluice", few,
                       (unsigned)(sample / SAMPLES));
        const int fd = __real_open(path, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        write_at(fd, &bytes[i], 1, PAGE + sample % SAMPLES * RECORD + head + number % each);
        assert_int_equal(close(fd), 0);
    }
}

/* ---- loaders ---- */

static sluice_loader *open_windows(const char *path, sluice_loader_options options)
{
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_window(columns, "tokens", LENGTH, 1, SLUICE_U8), SLUICE_OK);
    sluice_dataset *dataset = setup_dataset(path);
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
    return loader;
}

static sluice_loader_options window_options(sluice_shuffle shuffle)
{
    sluice_loader_options options = setup_options();
    options.batch_size = BATCH;
    options.shuffle = shuffle;
    return options;
}

/* Returns the first bytes of the windows of the next batch, and their numbers. */
static void next_batch(sluice_loader *loader, uint8_t first[BATCH], int64_t numbers[BATCH])
{
    sluice_batch *batch = NULL;
    sluice_tensor index = SLUICE_TENSOR_INIT;
    sluice_tensor tokens = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_rows(batch), BATCH);
    assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "tokens", &tokens), SLUICE_OK);
    memcpy(numbers, index.data, BATCH * sizeof(*numbers));
    for (uint32_t i = 0; i < BATCH; i++) {
        first[i] = ((const uint8_t *)tokens.data)[(size_t)i * LENGTH];
    }
    sluice_batch_release(batch);
}

static uint64_t allocations(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats.allocations;
}

/* ---- tests ---- */

TEST(opening_reads_the_manifest_alone)
{
    sluice_loader *other = open_windows(few, window_options(SLUICE_SHUFFLE_NONE));
    const uint64_t before = allocations(other);
    forget();
    sluice_dataset *dataset = setup_dataset(many);
    assert_int_equal(opened, 1);
    assert_int_equal(listed, 0);
    assert_true(reads < 16);
    assert_true(allocations(other) - before < 40); /* not one per shard */
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.shards, MANY);
    assert_int_equal(info.samples, MANY * SAMPLES);
    sluice_dataset_close(dataset);
    sluice_loader_close(other);
}

/* The manifest gives the number of windows. */
TEST(windows_are_counted_without_the_shards)
{
    forget();
    sluice_loader *loader = open_windows(many, window_options(SLUICE_SHUFFLE_NONE));
    assert_int_equal(opened, 1);
    assert_int_equal(listed, 0);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_steps(loader), (uint64_t)MANY * SAMPLES * each / BATCH);
    sluice_loader_close(loader);
}

/* One open for a shard's header and the bytes read after it. */
TEST(a_sample_costs_one_open)
{
    enum { STEPS = 20, ON_THEIR_WAY = 64 };
    sluice_loader_options options = window_options(SLUICE_SHUFFLE_FULL);
    options.page_cache = SLUICE_CACHE_DIRECT; /* AUTO may open cached files a second time */
    sluice_loader *loader = open_windows(many, options);
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    uint8_t first[BATCH];
    int64_t numbers[BATCH];
    forget();
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (int i = 0; i < STEPS; i++) {
        next_batch(loader, first, numbers);
    }
    sluice_loader_cancel(loader);
    const uint32_t opens = opened;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    sluice_loader_close(loader);
    const uint64_t samples = stats.bytes_wanted / LENGTH;
    /* without direct reads, such files are opened a second time */
    if (stats.io_direct && opens > samples + ON_THEIR_WAY) {
        fail_msg("%u opens for %llu samples", opens, (unsigned long long)samples);
    }
}

/* Rows 2^32 and on, on their rank: their bytes, and the position at which a cursor resumes. */
TEST(far_positions_give_what_lies_there)
{
    uint8_t first[BATCH];
    int64_t numbers[BATCH];
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch = 0;
    const uint64_t at = (uint64_t)1 << 32;
    const uint64_t world = (uint64_t)1 << 20;
    const uint32_t batch = 8192;
    const uint64_t far = world * batch + (uint64_t)999 * BATCH;
    mark(at, 32);
    mark(far, 32);
    sluice_loader_options options = window_options(SLUICE_SHUFFLE_NONE);
    options.world_size = (uint32_t)world;
    options.batch_size = batch;
    options.last_batch = SLUICE_LAST_SHORT; /* another step follows */
    options.rank = (uint32_t)(at / batch);
    sluice_loader *loader = open_windows(few, options);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    sluice_batch *whole = NULL;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_loader_next(loader, &whole, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(whole, "tokens", &tensor), SLUICE_OK);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(((const uint8_t *)tensor.data)[(size_t)i * LENGTH], i < 32 ? i + 1 : 0);
    }
    sluice_batch_release(whole);
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);

    options = window_options(SLUICE_SHUFFLE_NONE);
    options.world_size = 1000;
    options.rank = 999;
    loader = open_windows(few, options);
    assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    next_batch(loader, first, numbers);
    for (uint32_t i = 0; i < BATCH; i++) {
        assert_int_equal(numbers[i], far + i);
        assert_int_equal(first[i], i < 32 ? i + 1 : 0);
    }
    sluice_loader_close(loader);
}

TEST(thousand_ranks_have_the_same_steps)
{
    static const uint32_t ranks[] = {0, 1, 500, 999};
    const uint64_t windows = (uint64_t)FEW * SAMPLES * each;
    assert_true(windows > UINT64_C(10000000000));
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        uint8_t first[BATCH];
        int64_t numbers[BATCH];
        bool far = false;
        sluice_loader_options options = window_options(SLUICE_SHUFFLE_FULL);
        options.world_size = 1000;
        options.rank = ranks[i];
        sluice_loader *loader = open_windows(few, options);
        assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
        assert_int_equal(sluice_loader_steps(loader), windows / 1000 / BATCH);
        next_batch(loader, first, numbers);
        for (uint32_t k = 0; k < BATCH; k++) {
            assert_true(numbers[k] >= 0 && (uint64_t)numbers[k] < windows);
            far = far || numbers[k] > UINT32_MAX;
        }
        assert_true(far);
        sluice_loader_close(loader);
    }
}

static int set_up(void **state)
{
    make_shards(many, MANY);
    make_shards(few, FEW);
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(many);
    remove_tree(few);
    return 0;
}

TEST_GROUP(set_up, tear_down)
