/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that go wrong by a seed: what passes costs nothing, what stays costs only its own rows. */
#include "batches.h"
#include "fault_setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* Over `path` with faults as over the folder without. */
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
    (void)state;
    const sluice_loader_options options = setup_options();
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const sl_fault_config fault = {
            .seed = seed, .short_permille = 300, .late_permille = 300, .again_permille = 200};
        expect_same(photos.path, &options, &fault);
    }
}

static void faults_of_shards_do_not_matter(void **state)
{
    (void)state;
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

/* Places that always fail, and reads that never come back: some rows are masked, the others right,
 * the number of batches the same, and the loader closes. */
static void dead_places_cost_only_their_rows(void **state)
{
    (void)state;
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

/* ---- an index that cannot be read for a moment ---- */

/* Index entries are read like samples: what passes costs nothing, whatever the policy. Errors are
 * rare enough that none comes three times in a row, which would be for good. */
static void passing_failures_cost_nothing(void **state)
{
    (void)state;
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

static int setup(void **state)
{
    (void)state;
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
    (void)state;
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
    return cmocka_run_group_tests(tests, setup, teardown);
}
