/* SPDX-License-Identifier: Apache-2.0 */
/* Tests damaged and hostile shards: every flipped byte, many truncations, wrong versions, shards in
 * the wrong place, and false numbers with correct checksums. Nothing may crash, and no sample may
 * silently be another one. */
#include "dataset.h"
#include "packed.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "snapshot.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARD    "shard-000000.sluice"
#define MANIFEST "manifest.sluice"

/* Bytes of the cells in a sample with the fields image, label and key; and where its blobs begin.
 */
enum { IMAGE_CELL = 16, LABEL_CELL = 32, KEY_CELL = 40, BLOBS = 48 };

typedef struct fixture {
    char folder[256];
    char shard[300]; /* path of the first shard */
    snapshot samples;
    file_bytes file, manifest; /* that shard's bytes */
} fixture;

static void fixture_make(fixture *f, const packed_options *options)
{
    temporary_directory(f->folder, sizeof(f->folder));
    (void)snprintf(f->shard, sizeof(f->shard), "%s/" SHARD, f->folder);
    packed_make(f->folder, options);
    snapshot_take(&f->samples, f->folder);
    file_load(&f->file, f->folder, SHARD);
    file_load(&f->manifest, f->folder, MANIFEST);
}

static void fixture_remove(fixture *f)
{
    file_free(&f->file);
    file_free(&f->manifest);
    snapshot_free(&f->samples);
    remove_tree(f->folder);
}

/* `*state` is a packed_options, and then a fixture. */
static int setup(void **state)
{
    static fixture f;
    fixture_make(&f, *state);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture_remove(*state);
    return 0;
}

#define DAMAGE_TEST(test, ...)                                                              \
    {                                                                                       \
        .name = #test, .test_func = (test), .setup_func = setup, .teardown_func = teardown, \
        .initial_state = &(packed_options)                                                  \
        {                                                                                   \
            __VA_ARGS__                                                                     \
        }                                                                                   \
    }

/* The outcome for a damaged dataset. Unreadable samples add one finding. */
typedef struct outcome {
    sluice_status open;
    uint64_t errors, silent, missing, findings;
} outcome;

typedef enum when { VERIFY, VERIFY_IF_UNNOTICED } when;

static outcome look_at(const fixture *f, const char *path, when when_verified)
{
    sluice_dataset *dataset;
    outcome seen = {.open = sluice_dataset_open(&dataset, &path, 1, NULL, NULL)};
    if (seen.open == SLUICE_OK) {
        snapshot_difference difference = snapshot_compare(&f->samples, dataset);
        seen.errors = difference.errors;
        seen.silent = difference.silent;
        seen.missing = difference.missing;
        if (when_verified == VERIFY || seen.errors == 0) {
            seen.findings = snapshot_verify(dataset);
        }
        sluice_dataset_close(dataset);
    }
    return seen;
}

static outcome look(const fixture *f, const char *path)
{
    return look_at(f, path, VERIFY);
}

static void flip_and_look(const fixture *f, const file_bytes *file, size_t at, const char *path)
{
    const uint8_t good = file->data[at];
    file_store_byte(file, at, good ^ (uint8_t)(1U << (at % 8)));
    const outcome seen = look_at(f, path, at % 8 == 0 ? VERIFY : VERIFY_IF_UNNOTICED);
    file_store_byte(file, at, good);
    const bool noticed = seen.open < 0 || seen.errors > 0 || seen.findings > 0;
    if (!noticed || (at % 8 == 0 && seen.open == SLUICE_OK && seen.findings == 0) ||
        seen.silent > 0 || seen.missing > 0) {
        fail_msg("%s: a flip of byte %zu was %s", file->path, at,
                 noticed ? "read as another sample" : "not noticed");
    }
}

/* Every byte of header, index, metadata and manifest, opened both ways. */
static void every_flipped_byte_is_noticed(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    file_bytes *manifest = &f->manifest;
    for (size_t at = 0; at < 4096; at += at < 160 ? 1 : TEST_AMOUNT(1, 9)) {
        flip_and_look(f, shard, at, f->shard);
        if (at < 160 || at % 8 < 2) {
            flip_and_look(f, shard, at, f->folder);
        }
    }
    for (size_t at = get64(shard, SHARD_INDEX_OFFSET_AT); at < shard->size;
         at += TEST_AMOUNT(1, 3)) {
        flip_and_look(f, shard, at, at % 2 ? f->folder : f->shard);
    }
    for (size_t at = 0; at < manifest->size; at += at < 160 ? 1 : TEST_AMOUNT(1, 3)) {
        flip_and_look(f, manifest, at, f->folder);
    }
    assert_int_equal(look(f, f->folder).findings, 0);
}

/* The zeros after the samples, too, although no checksum covers them. */
static void every_flipped_byte_of_data_is_noticed(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const size_t index = get64(shard, SHARD_INDEX_OFFSET_AT);
    size_t tested = 0;
    for (size_t at = 4096; at < index; at += 211) {
        flip_and_look(f, shard, at, f->folder);
        tested++;
    }
    assert_true(tested > 100);
}

/* Damage in the second block affects only the samples of that block. */
static void damage_in_a_block_hurts_its_samples_only(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const size_t index = get64(shard, SHARD_INDEX_OFFSET_AT);
    assert_int_equal(get64(shard, 56), 2 * 4096);
    static const size_t places[] = {0, 50, 300, 4040, 4095};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const size_t at = index + 4096 + places[i];
        file_store_byte(shard, at, shard->data[at] ^ 0x10);
        const outcome seen = look(f, f->folder);
        file_store_byte(shard, at, shard->data[at]);
        assert_int_equal(seen.open, SLUICE_OK);
        assert_int_equal(seen.errors, 510 - 503);
        assert_int_equal(seen.silent, 0);
        assert_int_equal(seen.findings, 2);
    }
}

static void a_flip_in_a_sample_spoils_that_sample_only(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const char *path = f->folder;
    for (uint64_t i = 0; i < 5; i++) {
        const sluice_sample_info *info = &f->samples.samples[i].info;
        const size_t at = info->offset + i * (info->bytes - 1) / 4;
        file_store_byte(shard, at, shard->data[at] ^ 0x40);
        sluice_dataset *dataset;
        sluice_error error = SLUICE_ERROR_INIT;
        uint8_t image[4096];
        size_t bytes;
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
        for (uint64_t j = 0; j < 5; j++) {
            const sluice_status status =
                sluice_dataset_read(dataset, j, "image", image, sizeof(image), &bytes, &error);
            assert_int_equal(status, i == j ? SLUICE_CORRUPT : SLUICE_OK);
        }
        assert_int_equal(error.sample, i);
        assert_int_equal(error.offset, info->offset);
        assert_string_equal(error.file, f->shard);
        assert_non_null(strstr(error.text, "checksum"));
        assert_int_equal(snapshot_verify(dataset), 1);
        sluice_dataset_close(dataset);
        file_store_byte(shard, at, shard->data[at]);
    }
}

static void truncate_and_look(const fixture *f, const file_bytes *file, size_t bytes)
{
    file_store(file, bytes);
    const outcome whole = look(f, f->folder);
    const outcome lone = look(f, f->shard);
    const bool is_shard = strstr(file->path, "shard-") != NULL;
    assert_int_equal(whole.silent + lone.silent, 0);
    if (is_shard) {
        assert_int_equal(lone.open, SLUICE_CORRUPT);
        assert_int_equal(whole.open, SLUICE_OK);
        assert_int_equal(whole.errors, f->samples.count);
        assert_int_equal(whole.findings, 2);
    } else {
        assert_int_equal(whole.open, SLUICE_CORRUPT);
    }
}

static void every_truncation_is_refused(void **state)
{
    fixture *f = *state;
    const char *const names[] = {SHARD, MANIFEST};
    for (size_t n = 0; n < 2; n++) {
        file_bytes file;
        file_load(&file, f->folder, names[n]);
        for (size_t bytes = 0; bytes < file.size; bytes += 1 + bytes / 16) {
            truncate_and_look(f, &file, bytes);
        }
        truncate_and_look(f, &file, file.size - 1);
        /* Too long is wrong as well. */
        file.data = realloc(file.data, file.size + 1);
        file.data[file.size] = 0;
        truncate_and_look(f, &file, file.size + 1);
        file_store(&file, file.size);
        file_free(&file);
    }
    assert_int_equal(look(f, f->folder).findings, 0);
}

/* While the dataset is open: the reader must notice at the next read and survive. */
static void a_shard_that_shrinks_while_open_is_an_error(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const char *path = f->folder;
    sluice_dataset *dataset;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(snapshot_compare(&f->samples, dataset).errors, 0);
    assert_int_equal(truncate(shard->path, 4100), 0);
    const snapshot_difference difference = snapshot_compare(&f->samples, dataset);
    assert_int_equal(difference.errors, 4);
    assert_int_equal(difference.silent, 0);
    assert_int_equal(difference.last, SLUICE_CORRUPT);
    sluice_dataset_close(dataset);
}

static void other_versions_are_unsupported(void **state)
{
    fixture *f = *state;
    const char *const names[] = {SHARD, MANIFEST};
    for (size_t n = 0; n < 2; n++) {
        file_bytes file;
        file_load(&file, f->folder, names[n]);
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset *dataset;
        const char *path = file.path;
        put32(&file, 8, 3);
        seal_header(&file);
        file_store(&file, file.size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "newer version"));
        put32(&file, 8, 0);
        seal_header(&file);
        file_store(&file, file.size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_CORRUPT);
        put32(&file, 8, 2);
        put64(&file, 16, 4);
        seal_header(&file);
        file_store(&file, file.size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_UNSUPPORTED);
        put64(&file, 16, 0);
        seal_header(&file);
        file_store(&file, file.size);
        assert_int_equal(look(f, f->folder).findings, 0);
        file_free(&file);
    }
}

/* Contents that a newer library may write, with correct checksums: distinguished from damage. */
static void what_is_not_known_is_unsupported(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const size_t meta = get64(shard, SHARD_META_OFFSET_AT);
    const struct {
        size_t at;
        uint32_t value;
        const char *why;
    } changes[] = {{meta, 65, "too many fields"},         {meta, 10000, "too many fields"},
                   {meta, UINT32_MAX, "too many fields"}, {meta + 64 + 32, 7, "type"},
                   {meta + 64 + 44, 4, "encoding"},       {meta + 64 + 44, 5, "encoding"}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        sluice_dataset *dataset;
        sluice_error error = SLUICE_ERROR_INIT;
        const char *path = f->shard;
        const uint64_t good = get64(shard, changes[i].at);
        put32(shard, changes[i].at, changes[i].value);
        seal_shard(shard);
        file_store(shard, shard->size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_UNSUPPORTED);
        if (strstr(error.text, changes[i].why) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error.text, changes[i].why);
        }
        put64(shard, changes[i].at, good);
    }
}

static void make_two_shards(fixture *f)
{
    const packed_options options = {.samples = 9, .classes = 2, .shard_bytes = 12900};
    fixture_make(f, &options);
    assert_string_not_equal(f->samples.samples[0].info.file, f->samples.samples[8].info.file);
}

static void a_missing_shard_names_itself(void **state)
{
    fixture f;
    make_two_shards(&f);
    assert_int_equal(unlink(f.shard), 0);
    const char *path = f.folder;
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_sample_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, &error), SLUICE_IO);
    assert_string_equal(error.file, f.shard);
    assert_int_equal(error.sample, 0);
    assert_int_equal(sluice_dataset_get_sample(dataset, 8, &info, &error), SLUICE_OK);
    assert_int_equal(snapshot_verify(dataset), 2);
    sluice_dataset_close(dataset);
    fixture_remove(&f);
}

static void a_shard_in_the_place_of_another_is_refused(void **state)
{
    fixture f;
    make_two_shards(&f);
    char first[300];
    char second[300];
    char aside[300];
    (void)snprintf(first, sizeof(first), "%s/shard-000000.sluice", f.folder);
    (void)snprintf(second, sizeof(second), "%s/shard-000001.sluice", f.folder);
    (void)snprintf(aside, sizeof(aside), "%s/aside", f.folder);
    assert_int_equal(rename(first, aside), 0);
    assert_int_equal(rename(second, first), 0);
    assert_int_equal(rename(aside, second), 0);
    outcome seen = look(&f, f.folder);
    assert_int_equal(seen.open, SLUICE_OK);
    assert_int_equal(seen.errors, f.samples.count);
    assert_int_equal(seen.silent, 0);
    assert_int_equal(seen.findings, 3);
    fixture_remove(&f);
}

/* A whole shard, itself sound, that differs from the packed one in a single label. */
static void a_sound_shard_with_another_label_is_refused(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    shard->data[sample_at(shard, 1) + LABEL_CELL] ^= 1;
    seal_samples(shard);
    file_store(shard, shard->size);
    const outcome lone = look(f, f->shard);
    assert_int_equal(lone.silent, 1);
    assert_int_equal(lone.findings, 0);
    const outcome whole = look(f, f->folder);
    assert_int_equal(whole.errors, 3);
    assert_int_equal(whole.findings, 2);
}

/* It has as many samples, so that only the shard's identity differs. */
static void an_index_block_of_another_dataset_is_refused(void **state)
{
    fixture f;
    fixture other;
    file_bytes shard;
    file_bytes donor;
    const packed_options options = {.samples = 3, .classes = 2};
    const packed_options more = {.samples = 3, .classes = 2, .raw_every = 2};
    fixture_make(&f, &options);
    fixture_make(&other, &more);
    file_load(&shard, f.folder, SHARD);
    file_load(&donor, other.folder, SHARD);
    memcpy(shard.data + get64(&shard, SHARD_INDEX_OFFSET_AT),
           donor.data + get64(&donor, SHARD_INDEX_OFFSET_AT), 4096);
    file_store(&shard, shard.size);
    const outcome seen = look(&f, f.folder);
    assert_int_equal(seen.errors, 3);
    assert_int_equal(seen.silent, 0);
    /* Its labels must not be returned either. */
    sluice_dataset *dataset;
    sluice_sample_info info = {.struct_size = sizeof(info)};
    const char *path = f.folder;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    const sl_dataset *inside = (const sl_dataset *)(const void *)dataset;
    sl_sample sample;
    assert_int_equal(sl_dataset_find(inside, 0, &sample, NULL), SLUICE_CORRUPT);
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, NULL), SLUICE_CORRUPT);
    sluice_dataset_close(dataset);
    file_free(&shard);
    file_free(&donor);
    fixture_remove(&f);
    fixture_remove(&other);
}

static const uint64_t lies[] = {0,          1,
                                63,         64,
                                4095,       4096,
                                1U << 20,   1ULL << 31,
                                1ULL << 32, 1ULL << 48,
                                1ULL << 62, (1ULL << 63) - 1,
                                1ULL << 63, UINT64_MAX - 4095,
                                UINT64_MAX};

/* False header numbers with correct checksums. Some are harmless; none may crash, and if the
 * dataset still opens, it has the same samples or errors. */
static void header_lies_are_harmless(void **state)
{
    fixture *f = *state;
    const char *const names[] = {SHARD, MANIFEST};
    for (size_t n = 0; n < 2; n++) {
        file_bytes file;
        file_load(&file, f->folder, names[n]);
        uint64_t refused = 0;
        for (size_t at = 12; at < 152; at += 4) {
            const uint64_t good = get64(&file, at);
            for (size_t i = 0; i < sizeof(lies) / sizeof(*lies) + 4; i++) {
                const uint64_t near[] = {good + 1, good - 1, good + 4096, good - 4096};
                put64(&file, at, i < 4 ? near[i] : lies[i - 4]);
                seal_header(&file);
                file_store(&file, file.size);
                const outcome whole = look_at(f, f->folder, VERIFY_IF_UNNOTICED);
                const outcome lone = look_at(f, f->shard, VERIFY_IF_UNNOTICED);
                assert_int_equal(whole.silent + lone.silent, 0);
                refused += whole.open < 0 || lone.open < 0;
            }
            put64(&file, at, good);
        }
        assert_true(refused > 300);
        seal_header(&file);
        file_store(&file, file.size);
        file_free(&file);
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return *seed >> 33;
}

/* Changes a few bytes or a number anywhere in the part of the file without samples. */
static void mutate(file_bytes *file, size_t from, size_t to, uint64_t *seed)
{
    const size_t at = from + next_random(seed) % (to - from);
    switch (next_random(seed) % 3) {
    case 0:
        file->data[at] = (uint8_t)next_random(seed);
        break;
    case 1:
        file->data[at] ^= (uint8_t)(1U << (next_random(seed) % 8));
        break;
    default:
        if ((at & ~(size_t)7) + 8 <= file->size) {
            put64(file, at & ~(size_t)7, lies[next_random(seed) % (sizeof(lies) / sizeof(*lies))]);
        }
        break;
    }
}

static void touch_everything(const char *path)
{
    sluice_dataset *dataset;
    static uint8_t image[1 << 16];
    if (sluice_dataset_open(&dataset, &path, 1, NULL, NULL) < 0) {
        return;
    }
    for (uint64_t i = 0; i < 8; i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_sample_info info = {.struct_size = sizeof(info)};
        size_t bytes;
        (void)sluice_dataset_get_sample(dataset, i, &info, &error);
        if (sluice_dataset_read(dataset, i, "image", image, sizeof(image), &bytes, &error) == 0) {
            assert_true(bytes <= sizeof(image));
        }
        (void)sluice_dataset_class_name(dataset, (int64_t)i);
    }
    (void)snapshot_verify(dataset);
    sluice_dataset_close(dataset);
}

static void random_lies_with_right_checksums_do_not_crash(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    file_bytes *manifest = &f->manifest;
    uint8_t *good = malloc(shard->size + manifest->size);
    memcpy(good, shard->data, shard->size);
    memcpy(good + shard->size, manifest->data, manifest->size);
    const size_t index = get64(shard, SHARD_INDEX_OFFSET_AT);
    const size_t meta = get64(shard, SHARD_META_OFFSET_AT);
    uint64_t seed = 1;
    for (unsigned round = 0; round < TEST_AMOUNT(600, 200); round++) {
        if (round % 4 == 0) {
            mutate(shard, 0, 152, &seed);
        } else if (round % 4 == 1) {
            mutate(shard, meta, shard->size, &seed);
        } else {
            mutate(shard, round % 8 == 2 ? index : 4096, index + 40, &seed);
        }
        (round % 4 < 2 || round % 8 == 2 ? seal_shard : seal_samples)(shard);
        file_store(shard, shard->size);
        touch_everything(f->shard);
        mutate(manifest, round % 2 ? 0 : 4096, round % 2 ? 112 : manifest->size, &seed);
        seal_manifest(manifest);
        file_store(manifest, manifest->size);
        touch_everything(f->folder);
        memcpy(shard->data, good, shard->size);
        memcpy(manifest->data, good + shard->size, manifest->size);
    }
    free(good);
}

/* Sample 1 of a lone shard fails and is named, with an offset in [from, to). */
static void expect_corrupt(const fixture *f, int64_t from, int64_t to)
{
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_sample_info info = {.struct_size = sizeof(info)};
    const char *path = f->shard;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_sample(dataset, 1, &info, &error), SLUICE_CORRUPT);
    assert_int_equal(error.sample, 1);
    assert_string_equal(error.file, f->shard);
    assert_true(error.offset >= from && error.offset < to);
    assert_true(snapshot_verify(dataset) >= 1);
    sluice_dataset_close(dataset);
}

/* Fences that point outside, are reversed, or make a sample too short or too long. */
static void fence_lies_are_corrupt(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const size_t fence = get64(shard, SHARD_INDEX_OFFSET_AT) + 8;
    const uint64_t good = get64(shard, fence);
    const uint64_t next = get64(shard, fence + 8);
    const uint64_t wrong[] = {0,        4095,     next,       next + 1, good + 1,
                              good - 1, next - 7, 0x7fffffff, 1U << 31, UINT64_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        put64(shard, fence, wrong[i]);
        seal_shard(shard);
        file_store(shard, shard->size);
        expect_corrupt(f, 4096, (int64_t)shard->size);
    }
    put64(shard, fence, good);
}

/* False cells in samples with correct checksums. */
static void cell_lies_are_corrupt(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    const uint64_t sample = sample_at(shard, 1);
    static const struct {
        size_t at;
        uint32_t value;
    } changes[] = {{8, 0},
                   {8, 3},
                   {8, 6},
                   {8, 0xf},
                   {12, 1},
                   {IMAGE_CELL, 0},
                   {IMAGE_CELL, 1},
                   {IMAGE_CELL, 0xffffffff},
                   {IMAGE_CELL, 0x7fffffff},
                   {IMAGE_CELL + 4, 0x00010100},
                   {IMAGE_CELL + 4, 0x00000200},
                   {IMAGE_CELL + 8, 0},
                   {IMAGE_CELL + 12, 0},
                   {KEY_CELL, 0},
                   {KEY_CELL, 0xfffffff0},
                   {KEY_CELL + 4, 0x100},
                   {KEY_CELL + 4, 0x01000000}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        const uint64_t good = get64(shard, sample + changes[i].at);
        put32(shard, sample + changes[i].at, changes[i].value);
        seal_samples(shard);
        file_store(shard, shard->size);
        expect_corrupt(f, (int64_t)sample, (int64_t)sample_at(shard, 2));
        put64(shard, sample + changes[i].at, good);
    }
}

/* Two sound samples of one size are swapped: only their identity differs. */
static void samples_in_the_place_of_others_are_noticed(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    uint8_t first[512];
    /* packed.h: samples 15 apart have equal sizes, apart from their keys */
    const uint64_t a = sample_at(shard, 10);
    const uint64_t b = sample_at(shard, 25);
    const size_t bytes = sample_at(shard, 11) - a;
    assert_int_equal(sample_at(shard, 26) - b, bytes);
    assert_true(bytes <= sizeof(first));
    memcpy(first, shard->data + a, bytes);
    memcpy(shard->data + a, shard->data + b, bytes);
    memcpy(shard->data + b, first, bytes);
    file_store(shard, shard->size);
    const outcome seen = look(f, f->folder);
    assert_int_equal(seen.errors, 0);
    assert_int_equal(seen.silent, 2);
    assert_int_equal(seen.findings, 1);
}

/* Bytes unused by this version must be zero, so that a later one can use them. */
static void reserved_bytes_must_be_zero(void **state)
{
    fixture *f = *state;
    file_bytes *shard = &f->file;
    file_bytes *manifest = &f->manifest;
    const size_t index = get64(shard, SHARD_INDEX_OFFSET_AT);
    const size_t meta = get64(shard, SHARD_META_OFFSET_AT);
    const size_t in_shard[] = {144,
                               4087,
                               index + (size_t)4 * 8,
                               index + 4031,
                               index + 4044,
                               index + 4056,
                               index + 4087,
                               meta + 16,
                               meta + 63,
                               meta + 64 + 31,
                               meta + 64 + 40,
                               meta + 64 + 112,
                               meta + 64 + 127};
    for (size_t i = 0; i < sizeof(in_shard) / sizeof(in_shard[0]); i++) {
        shard->data[in_shard[i]] ^= 2;
        seal_shard(shard);
        file_store(shard, shard->size);
        const outcome seen = look(f, f->shard);
        assert_true(seen.open == SLUICE_CORRUPT || seen.errors == 3);
        shard->data[in_shard[i]] ^= 2;
    }
    seal_shard(shard);
    file_store(shard, shard->size);
    const size_t in_manifest[] = {112, 4087, 4096 + 60, 4096 + 64 + 20, 4096 + 64 + 64 + 120};
    for (size_t i = 0; i < sizeof(in_manifest) / sizeof(in_manifest[0]); i++) {
        manifest->data[in_manifest[i]] ^= 2;
        seal_manifest(manifest);
        file_store(manifest, manifest->size);
        assert_int_equal(look(f, f->folder).open, SLUICE_CORRUPT);
        manifest->data[in_manifest[i]] ^= 2;
    }
}

/* Checked in the header alone, before anything is read for that many samples. */
static void numbers_of_samples_out_of_range_are_refused(void **state)
{
    enum { SAMPLES_AT = 32, SOURCE_AT = 96, MOST = 62 };
    static const struct {
        uint64_t samples, source;
    } numbers[] = {
        {0, 3}, /* fewer than shards */
        {(UINT64_C(1) << MOST) + 1, (UINT64_C(1) << MOST) + 1},
        {3, 2}, /* more than the source has */
        {3, (UINT64_C(1) << MOST) + 1},
    };
    fixture *f = *state;
    file_bytes *manifest = &f->manifest;
    const char *path = f->folder;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        put64(manifest, SAMPLES_AT, numbers[i].samples);
        put64(manifest, SOURCE_AT, numbers[i].source);
        seal_manifest(manifest);
        file_store(manifest, manifest->size);
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, "the number of samples is out of range"));
        assert_int_equal(error.offset, SAMPLES_AT);
    }
}

static void files_that_are_no_shards_are_refused(void **state)
{
    char folder[256];
    char path[300];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/x.sluice", folder);
    const char *paths = path;
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(path, "", 0);
    assert_int_equal(sluice_dataset_open(&dataset, &paths, 1, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "0 bytes"));
    assert_string_equal(error.file, path);
    static uint8_t junk[9000];
    memset(junk, 0x5A, sizeof(junk));
    write_file(path, junk, sizeof(junk));
    assert_int_equal(sluice_dataset_open(&dataset, &paths, 1, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "not a sluice shard"));
    (void)snprintf(path, sizeof(path), "%s/x.txt", folder);
    write_file(path, junk, sizeof(junk));
    assert_int_equal(sluice_dataset_open(&dataset, &paths, 1, NULL, &error), SLUICE_INVALID);
    (void)snprintf(path, sizeof(path), "%s/nothing", folder);
    assert_int_equal(sluice_dataset_open(&dataset, &paths, 1, NULL, &error), SLUICE_IO);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAMAGE_TEST(every_flipped_byte_is_noticed, .samples = 3, .classes = 2, .raw_every = 2),
        DAMAGE_TEST(every_flipped_byte_of_data_is_noticed, .samples = 80, .classes = 2),
        DAMAGE_TEST(damage_in_a_block_hurts_its_samples_only, .samples = 510, .classes = 2,
                    .raw_every = 1),
        DAMAGE_TEST(a_flip_in_a_sample_spoils_that_sample_only, .samples = 5, .classes = 5),
        DAMAGE_TEST(every_truncation_is_refused, .samples = 4, .classes = 2),
        DAMAGE_TEST(a_shard_that_shrinks_while_open_is_an_error, .samples = 4, .classes = 2),
        DAMAGE_TEST(other_versions_are_unsupported, .samples = 2, .classes = 1),
        DAMAGE_TEST(what_is_not_known_is_unsupported, .samples = 3, .classes = 2),
        cmocka_unit_test(a_missing_shard_names_itself),
        cmocka_unit_test(a_shard_in_the_place_of_another_is_refused),
        DAMAGE_TEST(a_sound_shard_with_another_label_is_refused, .samples = 3, .classes = 2),
        cmocka_unit_test(an_index_block_of_another_dataset_is_refused),
        DAMAGE_TEST(header_lies_are_harmless, .samples = 3, .classes = 2),
        DAMAGE_TEST(random_lies_with_right_checksums_do_not_crash, .samples = 4, .classes = 3,
                    .raw_every = 2, .zstd_level = 1),
        DAMAGE_TEST(fence_lies_are_corrupt, .samples = 3, .classes = 2),
        DAMAGE_TEST(cell_lies_are_corrupt, .samples = 3, .classes = 2),
        DAMAGE_TEST(samples_in_the_place_of_others_are_noticed, .samples = 31, .classes = 1,
                    .raw_every = 1),
        DAMAGE_TEST(reserved_bytes_must_be_zero, .samples = 3, .classes = 2),
        DAMAGE_TEST(numbers_of_samples_out_of_range_are_refused, .samples = 3, .classes = 2),
        cmocka_unit_test(files_that_are_no_shards_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
