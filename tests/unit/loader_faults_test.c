/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that fail according to a seed: transient faults change nothing, lasting ones affect only
 * their own rows. */
#include "batches.h"
#include "fault_setup.h"
#include "packed.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 5, PER_CLASS = 40, SAMPLES = CLASSES * PER_CLASS };

static photo_folder photos;
static char packed[300];

static void run(batches *all, const char *path, const sluice_loader_options *options,
                const sl_fault_config *fault)
{
    sluice_loader *loader = fault_loader(path, options, fault);
    batches_collect(all, loader, 1);
    sluice_loader_close(loader);
}

/* Expects the same batches from `path` with faults as from the folder without. */
static void expect_same(const char *path, const sluice_loader_options *options,
                        const sl_fault_config *fault)
{
    batches sound;
    batches faulty;
    run(&sound, photos.path, options, NULL);
    run(&faulty, path, options, fault);
    assert_int_equal(sound.end, SLUICE_END);
    assert_int_equal(faulty.end, SLUICE_END);
    assert_int_equal(sound.rows, SAMPLES);
    assert_true(batches_equal(&sound, &faulty));
    batches_free(&sound);
    batches_free(&faulty);
}

static void faults_of_files_do_not_matter(void **state)
{
    const sluice_loader_options options = setup_options();
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const sl_fault_config fault = {
            .seed = seed, .short_permille = 300, .late_permille = 300, .again_permille = 200};
        expect_same(photos.path, &options, &fault);
    }
}

static void faults_of_shards_do_not_matter(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        sluice_loader_options options = setup_options();
        options.io_backend = seed % 2 == 0 ? SLUICE_IO_AUTO : SLUICE_IO_PREAD;
        options.shuffle = seed % 3 == 0 ? SLUICE_SHUFFLE_NONE : SLUICE_SHUFFLE_FULL;
        const sl_fault_config fault = {.seed = seed,
                                       .short_permille = 300,
                                       .late_permille = 300,
                                       .again_permille = 100,
                                       .eio_permille = 50};
        expect_same(packed, &options, &fault);
    }
}

/* Offsets that always fail, and reads that never return: some rows are masked, the others right,
 * the number of batches the same, and the loader closes. */
static void dead_places_cost_only_their_rows(void **state)
{
    batches folder;
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    run(&folder, photos.path, &options, NULL);
    options.stall_warn_ns = 10000000;
    options.stall_fail_ns = 40000000;
    uint64_t masked = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        const sl_fault_config fault = {.seed = seed, .dead_permille = 100, .lost_permille = 15};
        batches shards;
        run(&shards, packed, &options, &fault);
        assert_int_equal(shards.end, SLUICE_END);
        assert_int_equal(shards.rows, folder.rows);
        for (uint64_t i = 0; i < folder.rows; i++) {
            assert_int_equal(shards.indices[i], folder.indices[i]);
            masked += !shards.mask[i];
            if (shards.mask[i]) {
                assert_memory_equal(shards.images + i * folder.row_bytes,
                                    folder.images + i * folder.row_bytes, folder.row_bytes);
            }
        }
        batches_free(&shards);
    }
    assert_true(masked > 0);
    batches_free(&folder);
}

/* ---- an index that is briefly unreadable ---- */

/* Index entries are read like samples: transient errors change nothing under any policy. Errors are
 * rare enough that none occurs three times in a row, which would be final. */
static void passing_failures_cost_nothing(void **state)
{
    for (int32_t policy = SLUICE_BAD_FAIL; policy <= SLUICE_BAD_MASK; policy++) {
        sluice_loader_options options = setup_options();
        const sl_fault_config fault = {
            .seed = 5 + (uint64_t)policy, .again_permille = 300, .eio_permille = 20};
        options.on_bad_sample = policy;
        batches sound;
        batches faulty;
        run(&sound, packed, &options, NULL);
        run(&faulty, packed, &options, &fault);
        assert_int_equal(faulty.end, SLUICE_END);
        assert_true(batches_equal(&sound, &faulty));
        batches_free(&sound);
        batches_free(&faulty);
    }
}

/* ---- an index read that hangs while many rows wait for it ---- */

#define MS UINT64_C(1000000)

enum { FEW = 200, MANY = 1200, SHARD_BYTES = 24000, EACH_MISSING = 4 };

/* Only reads: no copy in memory. */
static sluice_loader_options index_options(int32_t policy, int32_t backend)
{
    sluice_loader_options options = setup_options();
    options.resident_bytes = 1;
    options.on_bad_sample = policy;
    options.io_backend = backend;
    options.last_batch = SLUICE_LAST_SHORT;
    return options;
}

static uint64_t count_good(const batches *all)
{
    uint64_t good = 0;
    for (uint64_t i = 0; i < all->rows; i++) {
        good += all->mask[i];
    }
    return good;
}

/* The read of the index block, which all rows wait for, never returns. */
static void look_at_hung_index(const file_bytes *shard, int32_t policy, int32_t backend)
{
    batches all;
    sluice_loader_options options = index_options(policy, backend);
    const int64_t index = (int64_t)get64(shard, SHARD_INDEX_OFFSET_AT);
    const sl_fault_config fault = {.hold_at = (uint64_t)index, .hold_first = 1};
    options.end_epoch = 2; /* early requests belong to the first epoch */
    options.stall_warn_ns = 750 * MS;
    options.stall_fail_ns = 1500 * MS; /* more than a good read takes on a busy machine */
    const uint64_t before = setup_now_ns();
    sluice_loader *loader = fault_loader(shard->path, &options, &fault);
    batches_collect(&all, loader, 1);
    assert_true(setup_now_ns() - before < TEST_PATIENCE_NS);
    if (policy == SLUICE_BAD_FAIL) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(all.end, SLUICE_IO);
        assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_IO);
        assert_int_equal(error.sys_errno, ETIMEDOUT);
        assert_string_equal(error.file, shard->path);
        assert_int_equal(error.offset, index);
    } else {
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(all.rows, FEW);
        assert_true(policy == SLUICE_BAD_REPLACE ? count_good(&all) == FEW
                                                 : count_good(&all) < FEW);
        /* The next row requests it again. */
        batches_free(&all);
        batches_collect(&all, loader, 2);
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(count_good(&all), FEW);
    }
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_true(stats.reads_stalled >= 1);
    batches_free(&all);
    sluice_loader_close(loader);
}

static void an_index_read_that_hangs_is_given_up(void **state)
{
    char folder[256];
    file_bytes shard;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = FEW, .classes = 3});
    file_load(&shard, folder, "shard-000000.sluice");
    for (int32_t policy = SLUICE_BAD_FAIL; policy <= SLUICE_BAD_MASK; policy++) {
        look_at_hung_index(&shard, policy, SLUICE_IO_AUTO);
    }
    look_at_hung_index(&shard, SLUICE_BAD_MASK, SLUICE_IO_PREAD);
    file_free(&shard);
    remove_tree(folder);
}

/* Every read is slow, so that rows wait together. */
static const sl_fault_config slow = {.hold_first = UINT32_MAX, .late_ns = 15 * MS};

/* Takes all of epoch 1 with all rows in flight at once. */
static void collect(batches *all, const char *folder, int32_t policy, int32_t backend,
                    const sl_fault_config *fault)
{
    sluice_loader_options options = index_options(policy, backend);
    options.batch_size = MANY / 3;
    options.io_depth = 128; /* above the number of shards: all missing ones are found at once */
    sluice_loader *loader = fault_loader(folder, &options, fault);
    batches_collect(all, loader, 1);
    sluice_loader_close(loader);
}

static void many_rows_wait_for_indexes(void **state)
{
    char folder[256];
    batches sound;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder,
                &(packed_options){.samples = MANY, .classes = 3, .shard_bytes = SHARD_BYTES});
    collect(&sound, folder, SLUICE_BAD_FAIL, SLUICE_IO_AUTO, NULL);
    assert_int_equal(count_good(&sound), MANY);
    for (int32_t policy = SLUICE_BAD_FAIL; policy <= SLUICE_BAD_MASK; policy++) {
        batches late;
        collect(&late, folder, policy, policy % 2 ? SLUICE_IO_AUTO : SLUICE_IO_PREAD, &slow);
        assert_int_equal(late.end, SLUICE_END);
        assert_true(batches_equal(&sound, &late));
        batches_free(&late);
    }
    batches_free(&sound);
    remove_tree(folder);
}

/* Removes each EACH_MISSING-th shard. `missing`: for each sample, whether its shard is gone. */
static void remove_shards(const char *folder, bool missing[MANY])
{
    sluice_dataset *dataset = setup_dataset(folder);
    for (uint64_t i = 0; i < MANY; i++) {
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &info, NULL), SLUICE_OK);
        const char *number = strstr(info.file, "shard-") + strlen("shard-");
        missing[i] = strtoul(number, NULL, 10) % EACH_MISSING == 1;
    }
    sluice_dataset_close(dataset);
    for (uint32_t shard = 1;; shard += EACH_MISSING) {
        char path[300];
        (void)snprintf(path, sizeof(path), "%s/shard-%06u.sluice", folder, shard);
        if (unlink(path) != 0) {
            assert_true(shard > 8);
            return;
        }
    }
}

/* Hundreds of substitutes wait for the indexes of their shards at once. */
static void many_substitutes_wait_for_indexes(void **state)
{
    static bool missing[MANY];
    char folder[256];
    batches sound;
    batches masked;
    batches replaced;
    batches again;
    batches failed;
    uint64_t bad = 0;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder,
                &(packed_options){.samples = MANY, .classes = 3, .shard_bytes = SHARD_BYTES});
    collect(&sound, folder, SLUICE_BAD_FAIL, SLUICE_IO_AUTO, NULL);
    remove_shards(folder, missing);
    collect(&failed, folder, SLUICE_BAD_FAIL, SLUICE_IO_AUTO, &slow);
    assert_int_equal(failed.end, SLUICE_IO);
    collect(&masked, folder, SLUICE_BAD_MASK, SLUICE_IO_AUTO, &slow);
    collect(&replaced, folder, SLUICE_BAD_REPLACE, SLUICE_IO_AUTO, &slow);
    collect(&again, folder, SLUICE_BAD_REPLACE, SLUICE_IO_PREAD, NULL);
    assert_int_equal(masked.end, SLUICE_END);
    assert_int_equal(replaced.end, SLUICE_END);
    assert_int_equal(masked.rows, MANY);
    assert_int_equal(replaced.rows, MANY);
    assert_true(batches_equal(&replaced, &again));
    for (uint64_t i = 0; i < MANY; i++) {
        const bool gone = missing[sound.indices[i]];
        const uint8_t *row = sound.images + i * sound.row_bytes;
        bad += gone;
        assert_int_equal(masked.indices[i], sound.indices[i]);
        assert_int_equal(masked.mask[i], !gone);
        assert_true(replaced.mask[i] && !missing[replaced.indices[i]]);
        if (!gone) {
            assert_int_equal(replaced.indices[i], sound.indices[i]);
            assert_memory_equal(masked.images + i * sound.row_bytes, row, sound.row_bytes);
            assert_memory_equal(replaced.images + i * sound.row_bytes, row, sound.row_bytes);
        }
    }
    assert_true(bad > 256); /* more than are examined together */
    batches_free(&sound);
    batches_free(&masked);
    batches_free(&replaced);
    batches_free(&again);
    batches_free(&failed);
    remove_tree(folder);
}

static int setup(void **state)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.keep_order = 1;
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    temporary_directory(packed, sizeof(packed));
    sluice_dataset *dataset = setup_dataset(photos.path);
    assert_int_equal(sluice_pack(dataset, packed, &options, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    return 0;
}

static int teardown(void **state)
{
    remove_tree(packed);
    photo_folder_remove(&photos);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_files_do_not_matter),
        cmocka_unit_test(faults_of_shards_do_not_matter),
        cmocka_unit_test(dead_places_cost_only_their_rows),
        cmocka_unit_test(passing_failures_cost_nothing),
    };
    const struct CMUnitTest of_indexes[] = {
        cmocka_unit_test(an_index_read_that_hangs_is_given_up),
        cmocka_unit_test(many_rows_wait_for_indexes),
        cmocka_unit_test(many_substitutes_wait_for_indexes),
    };
    return cmocka_run_group_tests(tests, setup, teardown) +
           cmocka_run_group_tests(of_indexes, NULL, NULL);
}
