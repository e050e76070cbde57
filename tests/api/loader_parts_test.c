/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reading parts of large tensors separately: the batches equal those of whole samples, bit
 * for bit, in every epoch, on every rank and after resuming, for flat files, .npy, .npz and shards.
 * Only the needed bytes are read, and files that have changed are reported. */
#include "loader_setup.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SAMPLES = 5,
    D = 80,
    H = 128,
    W = 160,
    EPOCHS = TEST_AMOUNT(3, 2),
    LOCAL = 30,
    ENTRY = 46,
    HEADER = 128
};

static char folder[256];
static char paths[4][300]; /* flat, npy, npz, shards */
static uint16_t *volume;
static uint8_t *mask, *content;

enum { FLAT, NPY, NPZ, SHARDS };

/* Each .npz file has another shape. */
static void shape_of(uint64_t sample, int64_t *shape)
{
    shape[0] = D + (int64_t)sample * 3;
    shape[1] = H - (int64_t)sample;
    shape[2] = W + (int64_t)(sample * 7 % 5);
}

static size_t count_of(const int64_t *shape)
{
    return (size_t)(shape[0] * shape[1] * shape[2]);
}

TEST_OWN_MEMORY static void fill(uint64_t sample, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        volume[i] = (uint16_t)(i * 40503 + sample * 977 + (i >> 12));
        mask[i] = (uint8_t)(i * 7 + (i >> 9) + sample);
    }
}

TEST_OWN_MEMORY static void put_text(uint8_t *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)text[i];
    }
}

static size_t put_npy(uint8_t *to, const char *descr, const char *shape)
{
    char text[HEADER];
    const int length = snprintf(
        text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': %s}", descr, shape);
    memset(to, ' ', HEADER);
    put_text(to, "\x93NUMPY\1\0\x76\0", 10);
    put_text(to + 10, text, (size_t)length);
    to[HEADER - 1] = '\n';
    return HEADER;
}

/* ---- zip ---- */

TEST_OWN_MEMORY static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    static uint32_t table[256];
    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) {
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320U : 0);
        }
    }
    uint32_t crc = ~0U;
    for (size_t i = 0; i < size; i++) {
        crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    }
    return ~crc;
}

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> 8 * i);
    }
}

typedef struct zip {
    FILE *file;
    uint8_t directory[1024];
    size_t directory_bytes, at;
    uint16_t members;
} zip;

/* Wraps `bytes` bytes of `content` in a deflate stream of uncompressed blocks, or stores them. */
static void add(zip *z, const char *name, size_t bytes, bool deflated)
{
    enum { BLOCK = 65535, EXTRA = 20 };
    const size_t length = strlen(name);
    const size_t blocks = (bytes + BLOCK - 1) / BLOCK;
    const size_t packed = deflated ? bytes + 5 * blocks : bytes;
    uint8_t local[LOCAL] = {0};
    uint8_t *entry = z->directory + z->directory_bytes;
    const uint8_t extra[EXTRA] = {0xfe, 0xca, EXTRA - 4};
    put(local, 0x04034b50, 4);
    put(local + 8, deflated ? 8 : 0, 2);
    put(local + 14, crc_of(content, bytes), 4);
    put(local + 18, packed, 4);
    put(local + 22, bytes, 4);
    put(local + 26, length, 2);
    put(entry, 0x02014b50, 4);
    memcpy(entry + 6, local + 4, 24);
    put(entry + 42, z->at, 4);
    put_text(entry + ENTRY, name, length);
    put(local + 28, EXTRA, 2);
    fwrite(local, 1, LOCAL, z->file);
    fwrite(name, 1, length, z->file);
    fwrite(extra, 1, EXTRA, z->file);
    for (size_t i = 0; i < blocks; i++) {
        const size_t rest = bytes - i * BLOCK;
        const size_t size = rest < BLOCK ? rest : BLOCK;
        uint8_t head[5] = {i + 1 == blocks};
        put(head + 1, size, 2);
        put(head + 3, ~size, 2);
        fwrite(head, 1, deflated ? 5 : 0, z->file);
        fwrite(content + i * BLOCK, 1, size, z->file);
    }
    z->at += LOCAL + length + EXTRA + packed;
    z->directory_bytes += ENTRY + length;
    z->members++;
}

static void finish(zip *z)
{
    uint8_t end[22] = {0};
    put(end, 0x06054b50, 4);
    put(end + 8, z->members, 2);
    put(end + 10, z->members, 2);
    put(end + 12, z->directory_bytes, 4);
    put(end + 16, z->at, 4);
    fwrite(z->directory, 1, z->directory_bytes, z->file);
    fwrite(end, 1, sizeof(end), z->file);
    assert_int_equal(fclose(z->file), 0);
}

static void npz_path(uint64_t sample, char *path, size_t capacity)
{
    (void)snprintf(path, capacity, "%s/%d.npz", paths[NPZ], (int)sample);
}

static void write_npz(uint64_t sample, bool deflated)
{
    char path[400];
    char text[64];
    int64_t shape[3];
    npz_path(sample, path, sizeof(path));
    shape_of(sample, shape);
    const size_t count = count_of(shape);
    (void)snprintf(text, sizeof(text), "(%d, %d, %d)", (int)shape[0], (int)shape[1], (int)shape[2]);
    fill(sample, count);
    zip z = {.file = fopen(path, "wb")};
    assert_non_null(z.file);
    memcpy(content + put_npy(content, "<u2", text), volume, count * 2);
    add(&z, "x.npy", HEADER + count * 2, deflated);
    memcpy(content + put_npy(content, "|u1", text), mask, count);
    add(&z, "y.npy", HEADER + count, false);
    finish(&z);
}

/* ---- the others ---- */

static void write_rows(const char *path, bool npy)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    uint8_t head[HEADER];
    if (npy) {
        fwrite(head, 1, put_npy(head, "<u2", "(5, 80, 128, 160)"), file);
    }
    for (uint64_t i = 0; i < SAMPLES; i++) {
        fill(i, (size_t)D * H * W);
        assert_int_equal(fwrite(volume, 2, (size_t)D * H * W, file), D * H * W);
    }
    assert_int_equal(fclose(file), 0);
}

static sluice_field volume_field(void)
{
    sluice_field field = SLUICE_FIELD_INIT;
    const int64_t shape[3] = {D, H, W};
    (void)snprintf(field.name, sizeof(field.name), "x");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U16;
    field.dims = 3;
    memcpy(field.shape, shape, sizeof(shape));
    field.compression = SLUICE_COMPRESSION_NEVER;
    return field;
}

static void write_shards(const char *path)
{
    sluice_field field = volume_field();
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.fields = &field;
    options.field_count = 1;
    options.shard_bytes = 4 << 20;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        fill(i, (size_t)D * H * W);
        value.data = volume;
        value.bytes = (uint64_t)D * H * W * 2;
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, &error), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
}

/* ---- loaders ---- */

typedef struct asked {
    int kind; /* of dataset */
    sluice_column_part part;
    int64_t shape[3];
    int32_t dtype;
    bool with_mask;
} asked;

static sluice_columns *columns_of(const asked *a)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_TENSOR;
    column.field = a->kind == NPY ? "tensor" : "x";
    column.name = "x";
    column.part = a->part;
    column.dims = 3;
    column.dtype = a->dtype;
    memcpy(column.shape, a->shape, sizeof(a->shape));
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    if (a->with_mask) {
        column.field = column.name = "y";
        column.dtype = 0;
        assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    }
    return columns;
}

static sluice_loader *open_loader(const asked *a, sluice_loader_options options)
{
    sluice_columns *columns = columns_of(a);
    const sluice_field field = volume_field();
    sluice_dataset_options how = {.struct_size = sizeof(how)};
    sluice_dataset *dataset = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const char *path = paths[a->kind];
    how.flat = a->kind == FLAT ? &field : NULL;
    if (sluice_dataset_open(&dataset, &path, 1, &how, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
    return loader;
}

static sluice_loader_options options_of(bool whole)
{
    sluice_loader_options options = setup_options();
    options.batch_size = 2;
    options.last_batch = SLUICE_LAST_SHORT;
    options.workers = 2;
    options.end_epoch = EPOCHS;
    options.page_cache = SLUICE_CACHE_BUFFERED;
    options.whole_samples = whole;
    return options;
}

static void same_batch(const sluice_batch *a, const sluice_batch *b)
{
    assert_int_equal(sluice_batch_columns(a), sluice_batch_columns(b));
    for (uint32_t i = 0; i < sluice_batch_columns(a); i++) {
        sluice_tensor one = SLUICE_TENSOR_INIT;
        sluice_tensor other = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_get_column(a, i, &one), SLUICE_OK);
        assert_int_equal(sluice_batch_get_column(b, i, &other), SLUICE_OK);
        assert_int_equal(one.size_bytes, other.size_bytes);
        assert_memory_equal(one.data, other.data, one.size_bytes);
    }
}

/* Compares the remaining steps of both epochs, or `steps` of them. */
static void same_steps(sluice_loader *a, sluice_loader *b, uint64_t steps)
{
    for (; steps > 0; steps--) {
        sluice_batch *one = NULL;
        sluice_batch *other = NULL;
        const sluice_status status = sluice_loader_next(a, &one, -1);
        assert_int_equal(sluice_loader_next(b, &other, -1), status);
        if (status != SLUICE_OK) {
            assert_int_equal(status, SLUICE_END);
            return;
        }
        same_batch(one, other);
        sluice_batch_release(one);
        sluice_batch_release(other);
    }
}

/* Returns the mean number of bytes per read. */
static uint64_t mean_read(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_int_equal(stats.bad_samples, 0);
    return stats.reads > 0 ? stats.bytes_read / stats.reads : 0;
}

static void same_epochs(const asked *a, uint64_t most_bytes)
{
    sluice_loader *parts = open_loader(a, options_of(false));
    sluice_loader *whole = open_loader(a, options_of(true));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        assert_int_equal(sluice_loader_start_epoch(parts, epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(whole, epoch), SLUICE_OK);
        same_steps(parts, whole, UINT64_MAX);
    }
    assert_in_range(mean_read(parts), 1, most_bytes);
    sluice_loader_close(parts);
    sluice_loader_close(whole);
}

static const int64_t small[3] = {10, 16, 24};

static asked crop_of(int kind)
{
    asked a = {.kind = kind, .part = SLUICE_PART_RANDOM, .with_mask = kind == NPZ};
    memcpy(a.shape, small, sizeof(small));
    return a;
}

static uint64_t needed(const asked *a)
{
    const uint64_t elements = (uint64_t)(a->shape[0] * a->shape[1] * a->shape[2]);
    return elements * (a->with_mask ? 3 : 2);
}

TEST(every_format)
{
    for (int kind = FLAT; kind <= SHARDS; kind++) {
        asked a = crop_of(kind);
        const uint64_t heads = kind == NPZ ? 400 : 0;
        same_epochs(&a, needed(&a) * 6 / 5 + heads);
        a.part = SLUICE_PART_CENTER;
        a.dtype = SLUICE_F32;
        same_epochs(&a, needed(&a) * 6 / 5 + heads);
    }
}

/* Parts as wide as the tensor, nearly as wide, or flat: runs are planes, ranges, rows. */
TEST(every_form)
{
    static const int64_t forms[][3] = {{9, H, W},     {9, 17, W}, {9, 17, W - 6},
                                       {D, 2, 150},   {1, 1, 1},  {D - 1, H, 2},
                                       {1, 100, 100}, {D, H, W},  {40, 120, 160}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i += TEST_AMOUNT(1, 2)) {
        asked a = crop_of(SHARDS);
        memcpy(a.shape, forms[i], sizeof(a.shape));
        same_epochs(&a, UINT64_MAX);
    }
}

/* Compared with the formula, without a loader that reads whole samples. */
TEST(the_middle)
{
    asked a = crop_of(FLAT);
    a.part = SLUICE_PART_CENTER;
    sluice_loader *loader = open_loader(&a, options_of(false));
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor x = SLUICE_TENSOR_INIT;
        sluice_tensor index = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "x", &x), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
        const uint16_t *at = x.data;
        for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
            fill((uint64_t)((const int64_t *)index.data)[row], (size_t)D * H * W);
            for (int64_t i = 0; i < small[0] * small[1] * small[2]; i++) {
                const int64_t z = (D - small[0]) / 2 + i / (small[1] * small[2]);
                const int64_t y = (H - small[1]) / 2 + i / small[2] % small[1];
                assert_int_equal(*at++,
                                 volume[(z * H + y) * W + (W - small[2]) / 2 + i % small[2]]);
            }
        }
        sluice_batch_release(batch);
    }
    sluice_loader_close(loader);
}

/* A cursor from one reading method is valid for the other. */
TEST(ranks_and_cursors)
{
    const asked a = crop_of(NPZ);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        sluice_loader_options options = options_of(false);
        sluice_loader_options as_whole = options_of(true);
        options.world_size = as_whole.world_size = 2;
        options.rank = as_whole.rank = rank;
        options.batch_size = as_whole.batch_size = 1;
        sluice_loader *parts = open_loader(&a, options);
        sluice_loader *whole = open_loader(&a, as_whole);
        assert_int_equal(sluice_loader_start_epoch(parts, 1), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(whole, 1), SLUICE_OK);
        same_steps(parts, whole, 1);
        assert_int_equal(sluice_loader_save(whole, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(parts);
        parts = open_loader(&a, options);
        assert_int_equal(sluice_loader_restore(parts, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(epoch, 1);
        for (; epoch < EPOCHS; epoch++) {
            assert_int_equal(sluice_loader_start_epoch(parts, epoch), SLUICE_OK);
            if (epoch > 1) {
                assert_int_equal(sluice_loader_start_epoch(whole, epoch), SLUICE_OK);
            }
            same_steps(parts, whole, UINT64_MAX);
        }
        sluice_loader_close(parts);
        sluice_loader_close(whole);
    }
}

/* By io_uring, past the page cache, and from memory: equal to whole samples. */
TEST(every_way)
{
    const asked a = crop_of(NPY);
    for (int32_t cache = SLUICE_CACHE_AUTO; cache <= SLUICE_CACHE_DROP; cache++) {
        sluice_loader_options options = options_of(false);
        options.page_cache = cache;
        options.shuffle = cache % 3;
        sluice_loader_options as_whole = options;
        as_whole.whole_samples = 1;
        options.resident_bytes = cache == SLUICE_CACHE_AUTO ? 1 : 0;
        sluice_loader *parts = open_loader(&a, options);
        sluice_loader *whole = open_loader(&a, as_whole);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            assert_int_equal(sluice_loader_start_epoch(parts, epoch), SLUICE_OK);
            assert_int_equal(sluice_loader_start_epoch(whole, epoch), SLUICE_OK);
            same_steps(parts, whole, UINT64_MAX);
        }
        assert_in_range(mean_read(parts), 1, needed(&a) * 6 / 5);
        sluice_loader_close(parts);
        sluice_loader_close(whole);
    }
}

/* One file's array is compressed: it is read whole. */
TEST(some_are_compressed)
{
    write_npz(2, true);
    const asked a = crop_of(NPZ);
    same_epochs(&a, (uint64_t)D * H * W);
    write_npz(2, false);
}

/* ---- files that are not what they were ---- */

/* Returns the number of masked rows of an epoch, and the message for the last one. */
static int count_bad(sluice_loader *loader)
{
    int bad = 0;
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor status = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "status", &status), SLUICE_OK);
        for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
            bad += ((const uint8_t *)status.data)[i] == SLUICE_ROW_BAD;
        }
        sluice_batch_release(batch);
    }
    return bad;
}

static void expect_words(const char *path, const char *words)
{
    char text[4096] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
}

static void expect_bad(const asked *a, sluice_loader *loader, int count, const char *words)
{
    char list[400];
    (void)snprintf(list, sizeof(list), "%s/bad-%d", folder, a->kind);
    assert_int_equal(count_bad(loader), count);
    sluice_loader_close(loader);
    expect_words(list, words);
    assert_int_equal(unlink(list), 0);
}

static sluice_loader *open_masking(const asked *a)
{
    static char list[400];
    sluice_loader_options options = options_of(false);
    (void)snprintf(list, sizeof(list), "%s/bad-%d", folder, a->kind);
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.quarantine_path = list;
    options.end_epoch = 1;
    return open_loader(a, options);
}

TEST(a_file_that_shrinks)
{
    asked a = crop_of(FLAT);
    sluice_loader *loader = open_masking(&a);
    assert_int_equal(truncate(paths[FLAT], (off_t)4 * D * H * W * 2 + 1000), 0);
    expect_bad(&a, loader, SAMPLES, "the file has");
    write_rows(paths[FLAT], false);
}

/* Writes like a copy that keeps the times: only the file's bytes show the change. */
static void overwrite(const char *path, long at, const char *byte)
{
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(byte, 1, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(an_array_that_was_replaced)
{
    char path[400];
    const asked a = crop_of(NPZ);
    npz_path(3, path, sizeof(path));
    /* the place of the shape; the number of dimensions; the name in the zip header */
    static const struct {
        long at;
        const char *from, *to;
    } changes[] = {
        {LOCAL + 5 + 20 + 61, "", "9"}, {LOCAL, "x", "z"}, {0, "P", "Q"}, {8, "", "\x08"}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        sluice_loader *loader = open_masking(&a);
        overwrite(path, changes[i].at, changes[i].to);
        expect_bad(&a, loader, 1, "changed since the file was opened");
        write_npz(3, false);
    }
    sluice_loader *loader = open_masking(&a);
    write_npz(3, false);
    expect_bad(&a, loader, 1, "the file was changed since it was opened");
}

/* ---- the files ---- */

static int make(void **state)
{
    const char *names[] = {"flat.bin", "rows.npy", "npz", "shards"};
    const size_t capacity = (size_t)(D + 20) * (H + 5) * (W + 5);
    temporary_directory(folder, sizeof(folder));
    for (int i = 0; i < 4; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
    }
    volume = malloc(capacity * 2);
    mask = malloc(capacity);
    content = malloc(capacity * 2 + HEADER);
    if (volume == NULL || mask == NULL || content == NULL || mkdir(paths[NPZ], 0700) != 0) {
        return 1;
    }
    write_rows(paths[FLAT], false);
    write_rows(paths[NPY], true);
    write_shards(paths[SHARDS]);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        write_npz(i, false);
    }
    return 0;
}

static int clean(void **state)
{
    free(volume);
    free(mask);
    free(content);
    remove_tree(folder);
    return 0;
}

TEST_GROUP(make, clean)
