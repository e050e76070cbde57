/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packs interrupted by a power failure (tests/support/power.h). After each operation,
 * whatever the disk forgot despite the syncs so far, visible files are complete, verify finds
 * nothing, and packing again gives the same bytes as without the failure. */
#include "pack.h"
#include "pack_setup.h"
#include "power.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHARD_BYTES = 6000, PARTS = 2 };

typedef struct fixture {
    pack_setup setup;
    char work[256];
    char root[300];  /* the recorded folder */
    char whole[320]; /* root/pack at the end */
    char base[300];  /* its earlier contents, or "" */
    char into[300];
    sluice_pack_options options;
    uint64_t before, after; /* samples */
    bool joins;
} fixture;

static sluice_pack_options small_options(void)
{
    sluice_pack_options options = pack_options();
    options.shard_bytes = SHARD_BYTES;
    return options;
}

static void fixture_make(fixture *f)
{
    memset(f, 0, sizeof(*f));
    pack_setup_make(&f->setup, 2, 2, false);
    temporary_directory(f->work, sizeof(f->work));
    (void)snprintf(f->root, sizeof(f->root), "%s/root", f->work);
    (void)snprintf(f->whole, sizeof(f->whole), "%s/root/pack", f->work);
    (void)snprintf(f->into, sizeof(f->into), "%s/into", f->work);
    assert_int_equal(mkdir(f->root, 0700), 0);
    f->options = small_options();
    f->after = 4;
}

static void fixture_remove(fixture *f)
{
    remove_tree(f->work);
    pack_setup_remove(&f->setup);
}

static sluice_status run_all(const fixture *f, const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sluice_pack_options options = f->options;
    for (options.part = 0; status == SLUICE_OK && options.part < options.parts; options.part++) {
        status = pack_run(&f->setup, path, &options, NULL, error);
    }
    return status;
}

/* Returns the number of samples of the dataset at the path, in which verify must find nothing; 0 if
 * it does not open. */
static uint64_t samples_of(const char *path)
{
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    options.workers = 1;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, NULL) < 0) {
        return 0;
    }
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    const sluice_status status = sluice_dataset_verify(dataset, &options, &result, NULL);
    if (status < 0 || result.bad > 0) {
        power_print_state();
        fail_msg("published what verify refuses");
    }
    sluice_dataset_close(dataset);
    return info.samples;
}

/* Packs again and compares. */
static void go_on(const fixture *f, const char *path)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = run_all(f, path, &error);
    if (status != SLUICE_OK || !folders_equal(path, f->whole)) {
        power_print_state();
        fail_msg("packing again: %d %s \"%s\"", status, error.file, error.text);
    }
}

static void check_pack(const char *folder, void *ctx)
{
    char path[320];
    const fixture *f = ctx;
    (void)snprintf(path, sizeof(path), "%s/pack", folder);
    const uint64_t samples = samples_of(path);
    if (samples != f->before && samples != f->after && samples != 0) {
        power_print_state();
        fail_msg("%llu samples", (unsigned long long)samples);
    }
    if (f->before > 0 && samples == 0 && f->options.overwrite == 0) {
        power_print_state();
        fail_msg("the earlier dataset is lost");
    }
    if (f->before == 0 && access(path, F_OK) == 0 && !folder_is_part_of(path, f->whole)) {
        power_print_state();
        fail_msg("something is published that is not whole");
    }
    go_on(f, path);
}

/* Records the pack and visits each state. */
static void fail_everywhere(fixture *f, const char *what)
{
    power_record(f->root);
    assert_int_equal(run_all(f, f->whole, NULL), SLUICE_OK);
    power_stop();
    assert_int_equal(samples_of(f->whole), f->after);
    const uint32_t states = power_each(f->into, TEST_AMOUNT(1, 5), 1, check_pack, f);
    print_message("%s: %u operations, %u states\n", what, power_operations(), states);
    assert_true(states > power_operations() / TEST_AMOUNT(1, 5));
}

TEST(a_new_pack)
{
    fixture f;
    fixture_make(&f);
    fail_everywhere(&f, "new");
    fixture_remove(&f);
}

TEST(what_is_added)
{
    fixture f;
    fixture_make(&f);
    assert_int_equal(run_all(&f, f.whole, NULL), SLUICE_OK);
    f.options.append = 1;
    f.options.seed = 17;
    f.before = 4;
    f.after = 8;
    fail_everywhere(&f, "added");
    fixture_remove(&f);
}

/* Both parts in turn; the last one joins them. */
TEST(parts_that_are_joined)
{
    fixture f;
    fixture_make(&f);
    f.options.parts = PARTS;
    fail_everywhere(&f, "parts");
    fixture_remove(&f);
}

/* Replaces one dataset by another. */
TEST(a_pack_over_another)
{
    fixture f;
    fixture_make(&f);
    f.options.seed = 17;
    assert_int_equal(run_all(&f, f.whole, NULL), SLUICE_OK);
    f.options = small_options();
    f.options.overwrite = 1;
    f.before = 4;
    fail_everywhere(&f, "overwritten");
    fixture_remove(&f);
}
