/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of opening windows, and their positions in sparse files too large to be walked: computed
 * if samples have equal sizes, an error if there are too many to visit.
 */
#include "clock.h"
#include "flat.h"
#include "formats.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "test.h"
#include "windows.h"

#include <sluice/writer.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far above the time for arithmetic, far below that of a walk. */
#define PROMPT_NS UINT64_C(3000000000)
#define TIB       (UINT64_C(1) << 40)

typedef struct fixture {
    char folder[256];
    char paths[3][300];
    const char *list[3];
    uint64_t begin_cpu_ns;
} fixture;

static void fixture_make(fixture *f)
{
    temporary_directory(f->folder, sizeof(f->folder));
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(f->paths[i], sizeof(f->paths[i]), "%s/%zu.bin", f->folder, i);
        f->list[i] = f->paths[i];
    }
    f->begin_cpu_ns = test_cpu_ns();
}

static void fixture_remove(fixture *f)
{
    assert_true(test_cpu_ns() - f->begin_cpu_ns < PROMPT_NS);
    remove_tree(f->folder);
}

/* Makes a file that is one hole. */
static void make_hole(const char *path, uint64_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)bytes) != 0) {
        skip(); /* the file system does not support such files */
    }
    close(fd);
}

static sl_dataset *open_holes(fixture *f, size_t files, uint64_t record, const uint64_t *bytes)
{
    const sl_field field = {
        .name = "t", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8, .dims = 1, .shape = {record}};
    sl_dataset *base = NULL;
    for (size_t i = 0; i < files; i++) {
        make_hole(f->paths[i], bytes[i]);
    }
    assert_int_equal(sl_flat_open(&base, f->list, files, &field, NULL), SLUICE_OK);
    return base;
}

static sluice_status cut(sl_dataset **windows, sl_dataset *base, uint64_t span, uint64_t stride,
                         sluice_error *error)
{
    const sl_window_shape shape = {.field = 0, .span = span, .stride = stride};
    const sluice_status status = sl_windows_open(windows, base, &shape, error);
    sl_dataset_close(base);
    return status;
}

static void expect_at(const sl_dataset *windows, uint64_t index, uint32_t object, uint64_t offset)
{
    sl_sample sample;
    assert_int_equal(sl_dataset_find(windows, index, &sample, NULL), SLUICE_OK);
    assert_int_equal(sample.place.object, object);
    assert_int_equal(sample.place.offset, offset);
}

TEST(samples_of_one_size_are_not_walked)
{
    fixture f;
    sl_dataset *windows;
    fixture_make(&f);
    const uint64_t bytes[] = {TIB};
    assert_int_equal(cut(&windows, open_holes(&f, 1, 1, bytes), 1, 1, NULL), SLUICE_OK);
    assert_int_equal(windows->info.samples, TIB);
    assert_int_equal(windows->info.bytes, TIB);
    expect_at(windows, 0, 0, 0);
    expect_at(windows, TIB - 1, 0, TIB - 1);
    expect_at(windows, TIB / 3, 0, TIB / 3);
    sl_dataset_close(windows);
    fixture_remove(&f);
}

/* Three files of 32-byte records, the first two with a shorter one at the end: windows of 8 every
 * 8, so that each byte except the remainder is in one. */
TEST(a_shorter_sample_at_each_end)
{
    fixture f;
    sl_dataset *windows;
    fixture_make(&f);
    const uint64_t bytes[] = {TIB + 12, 5, TIB + 24};
    assert_int_equal(cut(&windows, open_holes(&f, 3, 32, bytes), 8, 8, NULL), SLUICE_OK);
    const uint64_t first = TIB / 8 + 1;
    assert_int_equal(windows->info.samples, first + TIB / 8 + 3);
    uint64_t at = 1;
    for (int i = 0; i < 2000; i++, at = at * 6364136223846793005U + 1442695040888963407U) {
        const uint64_t number = (at >> 16) % windows->info.samples;
        const bool in_first = number < first;
        expect_at(windows, number, in_first ? 0 : 2, (in_first ? number : number - first) * 8);
    }
    expect_at(windows, first - 1, 0, TIB);
    expect_at(windows, first, 2, 0);
    expect_at(windows, windows->info.samples - 1, 2, TIB + 16);
    sl_dataset_close(windows);
    fixture_remove(&f);
}

TEST(more_bytes_than_can_be_counted)
{
    fixture f;
    sl_dataset *windows;
    sluice_error error;
    fixture_make(&f);
    const uint64_t bytes[] = {TIB};
    const uint64_t span = UINT64_C(1) << 29;
    assert_int_equal(cut(&windows, open_holes(&f, 1, UINT64_C(1) << 30, bytes), span, 1, &error),
                     SLUICE_INVALID);
    assert_non_null(strstr(error.text, "exceed 2^63 bytes"));
    fixture_remove(&f);
}

/* ---- shards that claim more than they hold ---- */

/* Makes a shard of ten tensors. */
static void make_shard(fixture *f, bool same, file_bytes *shard)
{
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "t");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U8;
    field.dims = 1;
    field.compression = SLUICE_COMPRESSION_NEVER;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = &field;
    options.field_count = 1;
    sluice_writer *writer = NULL;
    assert_int_equal(sluice_writer_open(&writer, f->folder, &options, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < 10; i++) {
        static const uint8_t data[32];
        sluice_value value = SLUICE_VALUE_INIT;
        value.data = data;
        value.bytes = same ? 12 : 12 + i;
        value.shape[0] = (int64_t)value.bytes;
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    file_load(shard, f->folder, "shard-000000.sluice");
}

/* Makes the shard claim `samples` of `bytes` in total, in a file of that size that is a hole except
 * for header and metadata. */
static void claim(file_bytes *shard, uint64_t samples, uint64_t bytes)
{
    const uint64_t meta_bytes = get64(shard, SHARD_META_BYTES_AT);
    const uint64_t meta_was = shard->size - meta_bytes;
    const bool same = get32(shard, SHARD_RECORD_BYTES_AT) != 0;
    const uint64_t index = (4096 + bytes + 4095) / 4096 * 4096;
    const uint64_t index_bytes = same ? 0 : (samples + 502) / 503 * 4096;
    put64(shard, 24, index + index_bytes + meta_bytes);
    put64(shard, SHARD_SAMPLES_AT, samples);
    put64(shard, 40, bytes);
    put64(shard, SHARD_INDEX_OFFSET_AT, index);
    put64(shard, 56, index_bytes);
    put64(shard, SHARD_META_OFFSET_AT, index + index_bytes);
    put64(shard, 128, samples);
    seal_header(shard);
    const int fd = open(shard->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)(index + index_bytes + meta_bytes)) != 0) {
        skip();
    }
    assert_int_equal(pwrite(fd, shard->data, 4096, 0), 4096);
    assert_int_equal(pwrite(fd, shard->data + meta_was, meta_bytes, (off_t)(index + index_bytes)),
                     meta_bytes);
    close(fd);
}

static sluice_status open_claim(const file_bytes *shard, sl_dataset **windows, sluice_error *error)
{
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    const char *path = shard->path;
    sl_dataset *base = NULL;
    sl_error_clear(error);
    const sluice_status status = sl_dataset_open(&base, &path, 1, &options, error);
    return status == SLUICE_OK ? cut(windows, base, 4, 4, error) : status;
}

static void expect_refused(const file_bytes *shard, sluice_status wanted, const char *words)
{
    sl_dataset *windows;
    sluice_error error;
    assert_int_equal(open_claim(shard, &windows, &error), wanted);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

TEST(shards_of_holes)
{
    fixture f;
    file_bytes shard;
    sl_dataset *windows;
    sluice_error error;
    fixture_make(&f);
    make_shard(&f, true, &shard);
    const uint32_t record = get32(&shard, SHARD_RECORD_BYTES_AT);
    const uint64_t many = UINT64_C(1) << 36;
    claim(&shard, many, many * record);
    if (open_claim(&shard, &windows, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
        return;
    }
    assert_int_equal(windows->info.samples, many * 3);
    expect_at(windows, many * 3 - 1, 0, 4096 + many * record - 4);
    sl_dataset_close(windows);
    put32(&shard, SHARD_RECORD_BYTES_AT, 1); /* less than a sample's header */
    claim(&shard, TIB, TIB);
    expect_refused(&shard, SLUICE_CORRUPT, "do not fit in");
    file_free(&shard);
    fixture_remove(&f);
}

TEST(shards_of_holes_with_an_index)
{
    fixture f;
    file_bytes shard;
    fixture_make(&f);
    make_shard(&f, false, &shard);
    assert_int_equal(get32(&shard, SHARD_RECORD_BYTES_AT), 0);
    claim(&shard, TIB, TIB);
    expect_refused(&shard, SLUICE_CORRUPT, "do not fit in");
    claim(&shard, UINT64_C(1) << 36, UINT64_C(1) << 42);
    expect_refused(&shard, SLUICE_UNSUPPORTED, "looking up 68719476736 samples");
    claim(&shard, UINT64_C(1) << 29, UINT64_C(1) << 35);
    expect_refused(&shard, SLUICE_CORRUPT, "index block does not match");
    file_free(&shard);
    fixture_remove(&f);
}
