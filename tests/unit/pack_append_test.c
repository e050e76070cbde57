/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packs that add to a dataset: existing samples stay unchanged, new ones follow them, and
 * accidents lose neither. */
#include "pack.h"
#include "pack_parts.h"
#include "shard_bytes.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A second pack of the same photos, in another order and with another shard size. */
static sluice_pack_options append_options(uint32_t part, uint32_t parts)
{
    sluice_pack_options options = parts_options(part, parts);
    options.append = 1;
    options.seed = 17;
    options.shard_bytes = 15000;
    return options;
}

/* Killed midway: the existing samples remain. */
static void append_and_die(const parts_rig *f, useconds_t after)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const sluice_pack_options options = append_options(0, 1);
        _exit(pack_run(&f->setup, f->path, &options, NULL, NULL) == SLUICE_OK ? 0 : 1);
    }
    (void)usleep(after);
    (void)kill(child, SIGKILL);
    (void)parts_wait_for(child);
}

TEST(what_is_added_comes_behind)
{
    parts_rig f;
    sluice_pack_result result;
    parts_make(&f, PACK_SHARD_BYTES);
    const sluice_pack_options all = append_options(0, 1);
    uint64_t before;
    uint64_t now;
    assert_int_equal(parts_samples_of(f.whole, &before), 24);
    assert_int_equal(pack_run(&f.setup, f.whole, &all, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, 24);
    assert_int_equal(result.complete, 1);
    assert_int_equal(parts_samples_of(f.whole, &now), 48);
    assert_true(now != before);
    assert_int_equal(parts_lines_of(f.whole, "rejected.tsv"), 1 + 2 * f.setup.bad);
    assert_int_equal(pack_run(&f.setup, f.whole, &all, &result, NULL), SLUICE_OK);
    assert_int_equal(result.was_complete, 1);
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    /* In parts and after accidents, the result is the same. */
    for (uint32_t parts = 1; parts < 6; parts++) {
        const sluice_pack_options options = pack_options();
        assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
        for (uint32_t k = 0; k < 6; k++) {
            uint64_t fingerprint;
            append_and_die(&f, 100 + 900 * k);
            const uint64_t samples = parts_samples_of(f.path, &fingerprint);
            assert_true((samples == 24 && fingerprint == before) ||
                        (samples == 48 && fingerprint == now));
        }
        for (uint32_t k = 0; k < parts; k++) {
            const sluice_pack_options part = append_options(parts - 1 - k, parts);
            assert_int_equal(pack_run(&f.setup, f.path, &part, &result, NULL), SLUICE_OK);
        }
        parts_expect_whole(&f, "added in parts", parts);
        remove_tree(f.path);
    }
    parts_remove(&f);
}

TEST(what_does_not_fit_is_not_added)
{
    parts_rig f;
    pack_setup other;
    sluice_error error = SLUICE_ERROR_INIT;
    uint64_t before;
    uint64_t after;
    parts_make(&f, PACK_SHARD_BYTES);
    (void)parts_samples_of(f.whole, &before);
    sluice_pack_options options = append_options(0, 1);
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "no packed dataset here"));
    pack_setup_make(&other, 4, 3, false);
    assert_int_equal(pack_run(&other, f.whole, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "classes"));
    options.zstd_level = 3;
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "zstd level"));
    (void)parts_samples_of(f.whole, &after);
    assert_true(before == after);
    /* Begun on a dataset that another pack has extended since. */
    options = append_options(0, 2);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, NULL), SLUICE_OK);
    char journal[340];
    char aside[340];
    (void)snprintf(journal, sizeof(journal), "%s/pack.journal", f.whole);
    (void)snprintf(aside, sizeof(aside), "%s/aside", f.work);
    assert_int_equal(rename(journal, aside), 0);
    sluice_pack_options another = append_options(0, 1);
    another.seed = 99;
    assert_int_equal(pack_run(&f.setup, f.whole, &another, NULL, &error), SLUICE_OK);
    assert_int_equal(rename(aside, journal), 0);
    for (options.part = 0; options.part < 2; options.part++) {
        assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, &error), SLUICE_STATE);
        assert_non_null(strstr(error.text, "differs from the dataset"));
    }
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    pack_setup_remove(&other);
    parts_remove(&f);
}

/* The number of candidate samples, which the packed samples do not show. */
TEST(another_count_is_another_dataset)
{
    enum { SOURCE_SAMPLES_AT = 96 };
    parts_rig f;
    file_bytes manifest;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    sluice_pack_options options = append_options(0, 2);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, NULL), SLUICE_OK);
    file_load(&manifest, f.whole, "manifest.sluice");
    const uint64_t count = get64(&manifest, SOURCE_SAMPLES_AT);
    options.part = 1;
    for (int more = 1; more >= 0; more--) {
        put64(&manifest, SOURCE_SAMPLES_AT, count + (uint64_t)more);
        seal_manifest(&manifest);
        file_store(&manifest, manifest.size);
        assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, &error),
                         more > 0 ? SLUICE_STATE : SLUICE_OK);
        assert_true(more == 0 || strstr(error.text, "differs from the dataset") != NULL);
    }
    file_free(&manifest);
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    parts_remove(&f);
}

/* ---- leftovers ---- */

/* A dataset that cannot be checked is not added to a second time. */
TEST(a_damaged_dataset_is_not_added_to_again)
{
    parts_rig f;
    sluice_error error = SLUICE_ERROR_INIT;
    char aside[340];
    parts_make(&f, PACK_SHARD_BYTES);
    const sluice_pack_options options = append_options(0, 1);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, NULL), SLUICE_OK);
    (void)snprintf(aside, sizeof(aside), "%s/aside", f.work);
    parts_move_file(f.whole, "shard-000001.sluice", aside);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "missing"));
    char back[340];
    (void)snprintf(back, sizeof(back), "%s/shard-000001.sluice", f.whole);
    assert_int_equal(rename(aside, back), 0);
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    parts_remove(&f);
}

/* An addition that is abandoned and replaced by another, whose shards have the same numbers and may
 * begin at the same positions. */
TEST(what_was_given_up_is_not_taken_over)
{
    parts_rig f;
    char aside[340];
    sluice_pack_result result;
    parts_make(&f, 1);
    (void)snprintf(aside, sizeof(aside), "%s/aside", f.work);
    sluice_pack_options first = append_options(0, 2);
    first.shard_bytes = 1;
    assert_int_equal(pack_run(&f.setup, f.whole, &first, NULL, NULL), SLUICE_OK);
    parts_move_file(f.whole, "pack.journal", aside);
    sluice_pack_options between = append_options(0, 1);
    between.shard_bytes = 1;
    between.keep_order = 1;
    assert_int_equal(pack_run(&f.setup, f.whole, &between, NULL, NULL), SLUICE_OK);
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    first.parts = 1;
    assert_int_equal(pack_run(&f.setup, f.whole, &first, &result, NULL), SLUICE_OK);
    assert_int_equal(result.resumed_samples, 0);
    assert_int_equal(parts_samples_of(f.whole, NULL), 72);
    assert_int_equal(parts_lines_of(f.whole, "rejected.tsv"), 1 + 3 * f.setup.bad);
    parts_remove(&f);
}

TEST(a_lost_journal_joins_nothing)
{
    parts_rig f;
    char aside[340];
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    (void)snprintf(aside, sizeof(aside), "%s/aside", f.work);
    for (uint32_t k = 0; k < 2; k++) {
        const sluice_pack_options options = append_options(k, 3);
        assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, NULL), SLUICE_OK);
    }
    parts_move_file(f.whole, "pack.journal", aside);
    assert_int_equal(sl_pack_join(f.whole, &result, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "pack.journal is missing"));
    char back[340];
    (void)snprintf(back, sizeof(back), "%s/pack.journal", f.whole);
    assert_int_equal(rename(aside, back), 0);
    const sluice_pack_options options = append_options(2, 3);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.complete, 1);
    assert_int_equal(parts_samples_of(f.whole, NULL), 48);
    parts_remove(&f);
}

/* An addition's journal without the line that names its dataset. */
TEST(a_journal_that_is_cut_short_harms_nothing)
{
    parts_rig f;
    file_bytes journal;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    const sluice_pack_options options = append_options(0, 2);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, NULL), SLUICE_OK);
    file_load(&journal, f.whole, "pack.journal");
    size_t lines = 0;
    size_t end = 0;
    while (lines < 3) {
        lines += journal.data[end++] == '\n';
    }
    file_store(&journal, end);
    file_free(&journal);
    assert_int_equal(pack_run(&f.setup, f.whole, &options, NULL, &error), SLUICE_STATE);
    assert_int_equal(parts_samples_of(f.whole, NULL), 24);
    parts_remove(&f);
}
