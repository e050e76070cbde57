/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packs in parts: regardless of their number, order, accidents and concurrency, the folder
 * equals that of one process, and parts that do not belong together are not joined. */
#include "pack.h"
#include "pack_parts.h"
#include "shard_bytes.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Steps through the parts by `step`, which visits all of them if it is coprime to their number. */
TEST(any_number_gives_the_same_bytes)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 7, 29, 64};
    for (uint32_t budget = 0; budget < 2; budget++) {
        parts_rig f;
        parts_make(&f, budget == 0 ? PACK_SHARD_BYTES : 1);
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            const uint32_t step = counts[i] % 5 != 0 && counts[i] > 1 ? 5 : 1;
            uint64_t samples = 0;
            for (uint32_t k = 0; k < counts[i]; k++) {
                sluice_pack_options options = parts_options((k + 1) * step % counts[i], counts[i]);
                sluice_pack_result result;
                options.shard_bytes = budget == 0 ? PACK_SHARD_BYTES : 1;
                options.workers = 1 + k % 3;
                assert_int_equal(pack_run(&f.setup, f.path, &options, &result, NULL), SLUICE_OK);
                assert_int_equal(result.complete, k + 1 == counts[i]);
                samples += result.samples;
            }
            assert_int_equal(samples, 24);
            parts_expect_whole(&f, "parts", counts[i]);
            remove_tree(f.path);
        }
        parts_remove(&f);
    }
}

/* One shard per sample, none where the sample is bad: the manifest says so, and every sample is
 * found. */
TEST(shards_of_bad_samples_only_are_passed_over)
{
    parts_rig f;
    file_bytes manifest;
    parts_make(&f, 1);
    file_load(&manifest, f.whole, "manifest.sluice");
    assert_int_equal(get64(&manifest, 16), 1);
    assert_int_equal(get64(&manifest, 48), 24);
    file_free(&manifest);
    assert_int_equal(count_names(f.whole, is_shard), 24);
    const char *path = f.whole;
    sluice_dataset *dataset;
    sluice_verify_options options = {.struct_size = sizeof(options)};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, 24);
    assert_int_equal(result.bad, 0);
    sluice_dataset_close(dataset);
    parts_remove(&f);
}

TEST(a_part_again_changes_nothing)
{
    parts_rig f;
    sluice_pack_result result;
    parts_make(&f, PACK_SHARD_BYTES);
    for (uint32_t k = 0; k < 3; k++) {
        sluice_pack_options options = parts_options(k, 3);
        assert_int_equal(pack_run(&f.setup, f.path, &options, &result, NULL), SLUICE_OK);
        const uint64_t samples = result.samples;
        assert_int_equal(pack_run(&f.setup, f.path, &options, &result, NULL), SLUICE_OK);
        assert_int_equal(result.was_complete, k == 2);
        assert_int_equal(result.resumed_samples, k == 2 ? 24 : samples);
    }
    parts_expect_whole(&f, "again", 0);
    /* A pack in another number of parts, or a whole one, finds the work done too. */
    sluice_pack_options options = parts_options(4, 9);
    assert_int_equal(pack_run(&f.setup, f.path, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.was_complete, 1);
    options = parts_options(0, 1);
    assert_int_equal(pack_run(&f.setup, f.path, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.was_complete, 1);
    assert_int_equal(sl_pack_join(f.path, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, 24);
    parts_expect_whole(&f, "again", 1);
    parts_remove(&f);
}

/* ---- several at once; some die ---- */

static pid_t begin_part(const parts_rig *f, uint32_t part, uint32_t parts)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const sluice_pack_options options = parts_options(part, parts);
        _exit(pack_run(&f->setup, f->path, &options, NULL, NULL) == SLUICE_OK ? 0 : 1);
    }
    return child;
}

TEST(many_at_once)
{
    parts_rig f;
    parts_make(&f, PACK_SHARD_BYTES);
    for (uint32_t round = 0; round < TEST_AMOUNT(12, 4); round++) {
        const uint32_t parts = 2 + round % 4;
        pid_t children[10];
        /* Each part runs twice, as when a scheduler restarts a late one. */
        for (uint32_t k = 0; k < 2 * parts; k++) {
            children[k] = begin_part(&f, k % parts, parts);
        }
        for (uint32_t k = 0; k < 2 * parts; k++) {
            assert_int_equal(parts_wait_for(children[k]), 0);
        }
        /* A late process may have left its part's file: the next one removes it. */
        sluice_pack_result result;
        assert_int_equal(sl_pack_join(f.path, &result, NULL), SLUICE_OK);
        parts_expect_whole(&f, "round", round);
        remove_tree(f.path);
    }
    parts_remove(&f);
}

static void finish_by(const parts_rig *f, uint32_t parts)
{
    for (uint32_t k = 0; k < parts; k++) {
        const sluice_pack_options options = parts_options(k, parts);
        sluice_error error = SLUICE_ERROR_INIT;
        if (pack_run(&f->setup, f->path, &options, NULL, &error) != SLUICE_OK) {
            fail_msg("part %u of %u: %s %s", k, parts, error.file, error.text);
        }
    }
}

TEST(killed_at_any_moment)
{
    parts_rig f;
    parts_make(&f, PACK_SHARD_BYTES);
    for (uint32_t round = 0; round < TEST_AMOUNT(30, 10); round++) {
        pid_t children[3];
        for (uint32_t k = 0; k < 3; k++) {
            children[k] = begin_part(&f, k, 3);
        }
        (void)usleep(200 + round * 400);
        (void)kill(children[round % 3], SIGKILL);
        for (uint32_t k = 0; k < 3; k++) {
            (void)parts_wait_for(children[k]);
        }
        finish_by(&f, 1 + round % 4); /* another number of processes */
        parts_expect_whole(&f, "killed in round", round);
        remove_tree(f.path);
    }
    parts_remove(&f);
}

/* ---- joining ---- */

/* Each part in a folder of its own, then all files in one folder. */
TEST(parts_from_several_folders)
{
    parts_rig f;
    char command[2000];
    sluice_pack_result result;
    parts_make(&f, PACK_SHARD_BYTES);
    for (uint32_t k = 0; k < 3; k++) {
        const sluice_pack_options options = parts_options(k, 3);
        char own[340];
        (void)snprintf(own, sizeof(own), "%s/own%u", f.work, k);
        assert_int_equal(pack_run(&f.setup, own, &options, &result, NULL), SLUICE_OK);
        assert_int_equal(result.complete, 0);
    }
    (void)snprintf(command, sizeof(command),
                   "mkdir '%s' && for own in '%s'/own?; do cp \"$own\"/* '%s'; done", f.path,
                   f.work, f.path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    assert_int_equal(sl_pack_join(f.path, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, 24);
    assert_int_equal(result.rejected, f.setup.bad);
    assert_int_equal(result.complete, 1);
    parts_expect_whole(&f, "copied", 0);
    parts_remove(&f);
}

TEST(two_joins_at_once)
{
    parts_rig f;
    parts_make(&f, PACK_SHARD_BYTES);
    char own[340];
    (void)snprintf(own, sizeof(own), "%s/own", f.work);
    for (uint32_t k = 0; k < 2; k++) {
        const sluice_pack_options options = parts_options(k, 3);
        assert_int_equal(pack_run(&f.setup, own, &options, NULL, NULL), SLUICE_OK);
    }
    (void)snprintf(own, sizeof(own), "%s/last", f.work);
    const sluice_pack_options options = parts_options(2, 3);
    assert_int_equal(pack_run(&f.setup, own, &options, NULL, NULL), SLUICE_OK);
    for (uint32_t round = 0; round < TEST_AMOUNT(20, 6); round++) {
        char command[2000];
        (void)snprintf(command, sizeof(command),
                       "mkdir '%s' && cp '%s'/own/* '%s' && cp '%s'/last/* '%s'", f.path, f.work,
                       f.path, f.work, f.path);
        assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
        pid_t children[3];
        for (uint32_t k = 0; k < 3; k++) {
            children[k] = fork();
            assert_true(children[k] >= 0);
            if (children[k] == 0) {
                sluice_pack_result result;
                _exit(sl_pack_join(f.path, &result, NULL) == SLUICE_OK && result.samples == 24 ? 0
                                                                                               : 1);
            }
        }
        for (uint32_t k = 0; k < 3; k++) {
            assert_int_equal(parts_wait_for(children[k]), 0);
        }
        parts_expect_whole(&f, "joined at once", round);
        remove_tree(f.path);
    }
    parts_remove(&f);
}

static void expect_no_join(const parts_rig *f, const char *says)
{
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    char manifest[340];
    assert_int_equal(sl_pack_join(f->path, &result, &error), SLUICE_STATE);
    if (strstr(error.text, says) == NULL) {
        fail_msg("\"%s\" should say \"%s\"", error.text, says);
    }
    (void)snprintf(manifest, sizeof(manifest), "%s/manifest.sluice", f->path);
    assert_int_not_equal(access(manifest, F_OK), 0);
}

TEST(what_is_missing_is_named)
{
    parts_rig f;
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    assert_int_equal(sl_pack_join(f.path, &result, &error), SLUICE_IO);
    sluice_pack_options options = parts_options(1, 4);
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    options.part = 2;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    expect_no_join(&f, "the pack has 4 parts, counted from 0; 2 are missing: 0, 3");
    /* An unfinished pack is not a dataset. */
    const char *path = f.path;
    sluice_dataset *dataset;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), SLUICE_INVALID);
    options.part = 0;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    expect_no_join(&f, "1 is missing: 3");
    /* A shard disappears: the next run of its part rebuilds it. */
    char shard[340];
    (void)snprintf(shard, sizeof(shard), "%s/shard-000000.sluice", f.path);
    assert_int_equal(unlink(shard), 0);
    options.part = 3;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "shard-000000.sluice"));
    assert_non_null(strstr(error.text, "part 0"));
    options.part = 0;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    parts_expect_whole(&f, "mended", 0);
    parts_remove(&f);
}

TEST(what_does_not_belong_is_refused)
{
    parts_rig f;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    sluice_pack_options options = parts_options(0, 2);
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    /* Into the same folder, the pack does not even begin. */
    options.part = 1;
    options.seed++;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "seed="));
    /* From another folder, the join notices it. */
    char other[340];
    (void)snprintf(other, sizeof(other), "%s/other", f.work);
    assert_int_equal(pack_run(&f.setup, other, &options, NULL, NULL), SLUICE_OK);
    parts_copy_file(other, f.path, "pack.00001-of-00002.part");
    expect_no_join(&f, "part 1 is from another source, or packed with other options");
    /* A file that belongs to no part. */
    char path[340];
    (void)snprintf(path, sizeof(path), "%s/pack.00001-of-00002.part", f.path);
    write_file(path, "half", 4);
    sluice_pack_result result;
    assert_true(sl_pack_join(f.path, &result, &error) < 0);
    assert_string_equal(error.file, path);
    options.seed--;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    parts_expect_whole(&f, "mended", 1);
    parts_remove(&f);
}

static void put_stale_sets(const parts_rig *f, file_bytes *stale, uint32_t but)
{
    assert_int_equal(mkdir(f->path, 0777), 0);
    for (uint32_t parts = 1; parts < 8; parts++) {
        for (uint32_t k = 0; k < parts && parts != but; k++) {
            (void)snprintf(stale->path, sizeof(stale->path), "%s/pack.%05u-of-%05u.part", f->path,
                           k, parts);
            file_store(stale, stale->size);
        }
    }
}

/* Files of other part numbers, left by an earlier pack, do not prevent joining complete parts.
 * There are so many that our two are not both listed first, whatever order the file system lists
 * in. */
TEST(stale_sets_of_parts_are_passed_over)
{
    parts_rig f;
    char other[340];
    file_bytes stale;
    sluice_pack_result result;
    parts_make(&f, PACK_SHARD_BYTES);
    sluice_pack_options options = parts_options(0, 2);
    options.seed++;
    (void)snprintf(other, sizeof(other), "%s/other", f.work);
    assert_int_equal(pack_run(&f.setup, other, &options, NULL, NULL), SLUICE_OK);
    file_load(&stale, other, "pack.00000-of-00002.part");
    for (uint32_t parts = 2; parts < 4; parts++) {
        put_stale_sets(&f, &stale, parts);
        for (uint32_t k = 0; k < parts; k++) {
            char command[2000];
            char own[340];
            (void)snprintf(own, sizeof(own), "%s/own%u-of-%u", f.work, k, parts);
            options = parts_options(k, parts);
            assert_int_equal(pack_run(&f.setup, own, &options, NULL, NULL), SLUICE_OK);
            (void)snprintf(command, sizeof(command), "cp '%s'/* '%s'", own, f.path);
            assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
        }
        assert_int_equal(sl_pack_join(f.path, &result, NULL), SLUICE_OK);
        assert_int_equal(result.samples, 24);
        parts_expect_whole(&f, "stale", parts);
        remove_tree(f.path);
    }
    file_free(&stale);
    parts_remove(&f);
}

/* Another pack's lists of omitted samples omit nothing here. */
TEST(lists_of_another_pack_do_not_count)
{
    parts_rig f;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_result result;
    parts_make(&f, 1);
    char other[340];
    (void)snprintf(other, sizeof(other), "%s/other", f.work);
    sluice_pack_options options = parts_options(0, 2);
    options.shard_bytes = 1;
    options.seed++;
    for (options.part = 0; options.part < 1; options.part++) {
        assert_int_equal(pack_run(&f.setup, other, &options, NULL, NULL), SLUICE_OK);
    }
    assert_int_equal(mkdir(f.path, 0777), 0);
    for (uint32_t k = 0; k < 29; k++) {
        char name[64];
        char from[420];
        (void)snprintf(name, sizeof(name), "shard-%06u.rejected", k);
        (void)snprintf(from, sizeof(from), "%s/%s", other, name);
        if (access(from, F_OK) == 0) {
            parts_copy_file(other, f.path, name);
        }
    }
    assert_true(count_names(f.path, NULL) > 0);
    options = parts_options(0, 1);
    options.shard_bytes = 1;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_STATE);
    /* With a journal, they are not trusted. */
    sluice_pack_options part = parts_options(0, 29);
    part.shard_bytes = 1;
    (void)snprintf(other, sizeof(other), "%s/begun", f.work);
    assert_int_equal(pack_run(&f.setup, other, &part, NULL, NULL), SLUICE_OK);
    parts_copy_file(other, f.path, "pack.journal");
    assert_int_equal(pack_run(&f.setup, f.path, &options, &result, &error), SLUICE_OK);
    assert_int_equal(result.samples, 24);
    parts_expect_whole(&f, "lists", 0);
    parts_remove(&f);
}

/* A shard of the same size, but not the one that the part wrote. */
TEST(a_shard_from_elsewhere_is_not_joined)
{
    parts_rig f;
    sluice_error error = SLUICE_ERROR_INIT;
    parts_make(&f, PACK_SHARD_BYTES);
    sluice_pack_options options = parts_options(0, 2);
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, NULL), SLUICE_OK);
    file_bytes shard;
    file_load(&shard, f.path, "shard-000000.sluice");
    file_store_byte(&shard, 140, shard.data[140] ^ 1);
    file_free(&shard);
    options.part = 1;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "not the shard that part 0 made"));
    parts_remove(&f);
}

/* Verifying in parts finds damage wherever the parts meet. */
TEST(parts_of_a_verification_miss_nothing)
{
    parts_rig f;
    parts_make(&f, PACK_SHARD_BYTES);
    file_bytes shard;
    file_load(&shard, f.whole, "shard-000001.sluice");
    file_store_byte(&shard, 6000, shard.data[6000] ^ 1);
    const char *path = f.whole;
    for (int gone = 0; gone < 2; gone++) {
        sluice_dataset *dataset;
        assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
        if (gone) {
            assert_int_equal(unlink(shard.path), 0);
        }
        for (uint32_t parts = 1; parts < 12; parts++) {
            uint64_t samples = 0;
            uint64_t bad = 0;
            for (uint32_t k = 0; k < parts; k++) {
                sluice_verify_options options = {
                    .struct_size = sizeof(options), .part = k, .parts = parts};
                sluice_verify_result result = {.struct_size = sizeof(result)};
                assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL),
                                 SLUICE_OK);
                samples += result.samples;
                bad += result.bad;
            }
            assert_true(gone || samples == 24);
            assert_int_equal(bad, gone ? 2 : 1); /* gone: the file, and unchecked samples */
        }
        sluice_dataset_close(dataset);
    }
    file_free(&shard);
    parts_remove(&f);
}
