/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packed datasets to which classes were added: by many processes and after accidents, the
 * bytes equal those of one process. What their files say about classes is verified. */
#include "dataset_checks.h"
#include "pack.h"
#include "pack_parts.h"
#include "shard_bytes.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 5, EACH = 4, ADDED = CLASSES * EACH, FEATURES_AT = 16, ROWS_AT = 4096 };

static const sl_class_request by_name = {.allow_case_duplicates = false};

/* Packs the rig's photos in `whole` and `path`; more photos come with two more classes. */
typedef struct grown {
    parts_rig rig;
    pack_setup more;
    uint64_t before;
} grown;

static sluice_status add(const grown *g, const char *path, uint32_t part, uint32_t parts,
                         sluice_error *error)
{
    sluice_pack_result result;
    sluice_pack_options options = parts_options(part, parts);
    options.append = 1;
    return sl_pack(g->more.dataset, path, &options, &by_name, &result, error);
}

static void grown_make(grown *g)
{
    const sluice_pack_options options = pack_options();
    parts_make(&g->rig, PACK_SHARD_BYTES);
    pack_setup_make(&g->more, CLASSES, EACH, false);
    assert_int_equal(pack_run(&g->rig.setup, g->rig.path, &options, NULL, NULL), SLUICE_OK);
    g->before = parts_samples_of(g->rig.path, NULL);
    assert_int_equal(add(g, g->rig.whole, 0, 1, NULL), SLUICE_OK);
}

static void grown_remove(grown *g)
{
    pack_setup_remove(&g->more);
    parts_remove(&g->rig);
}

TEST(classes_come_behind_those_that_are_there)
{
    grown g;
    uint32_t seen[CLASSES] = {0};
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    grown_make(&g);
    sluice_dataset *before = dataset_opened(g.rig.path);
    assert_int_equal(sluice_dataset_get_info(before, &info), SLUICE_OK);
    assert_true(info.classes < CLASSES);
    sluice_dataset_close(before);
    sluice_dataset *dataset = dataset_opened(g.rig.whole);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.classes, CLASSES);
    assert_int_equal(info.samples, g.before + ADDED);
    for (uint64_t i = g.before; i < info.samples; i++) {
        static sluice_sample_info sample;
        sample = (sluice_sample_info)SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_in_range(sample.label, 0, CLASSES - 1);
        const char *class = sluice_dataset_class_name(dataset, sample.label);
        assert_memory_equal(sample.key, class, strlen(class)); /* the source folder's name */
        seen[sample.label]++;
    }
    for (uint32_t i = 0; i < CLASSES; i++) {
        assert_int_equal(seen[i], EACH);
    }
    sluice_dataset_close(dataset);
    grown_remove(&g);
}

TEST(many_processes_and_accidents_make_the_same)
{
    grown g;
    grown_make(&g);
    for (uint32_t parts = 1; parts < 5; parts++) {
        for (uint32_t k = 0; k < 5; k++) {
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                _exit(add(&g, g.rig.path, 0, parts, NULL) == SLUICE_OK ? 0 : 1);
            }
            (void)usleep(200 + 1500 * k);
            (void)kill(child, SIGKILL);
            (void)parts_wait_for(child);
            const uint64_t samples = parts_samples_of(g.rig.path, NULL);
            assert_true(samples == g.before || samples == g.before + ADDED);
        }
        for (uint32_t k = parts; k-- > 0;) {
            assert_int_equal(add(&g, g.rig.path, k, parts, NULL), SLUICE_OK);
        }
        parts_expect_whole(&g.rig, "grown in parts", parts);
        remove_tree(g.rig.path);
        const sluice_pack_options options = pack_options();
        assert_int_equal(pack_run(&g.rig.setup, g.rig.path, &options, NULL, NULL), SLUICE_OK);
    }
    grown_remove(&g);
}

static void note(void *user, const sluice_error *finding)
{
    sluice_error *first = user;
    if (first->status == 0) {
        *first = *finding;
    }
}

/* Returns verify's first finding. */
static sluice_error look(const char *path)
{
    sluice_error first = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = dataset_opened(path);
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    options.workers = 1;
    options.on_finding = note;
    options.user = &first;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    return first;
}

static void expect_refused(const char *path, sluice_status status, const char *words)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, &error), status);
    assert_non_null(strstr(error.text, words));
}

TEST(manifests_that_lie_are_noticed)
{
    grown g;
    file_bytes manifest;
    grown_make(&g);
    file_load(&manifest, g.rig.whole, "manifest.sluice");
    assert_int_equal(look(g.rig.whole).status, SLUICE_OK);
    assert_int_equal(get64(&manifest, FEATURES_AT) & 2, 2);
    /* Without the feature flag, the shards must match the manifest. */
    put64(&manifest, FEATURES_AT, get64(&manifest, FEATURES_AT) & ~UINT64_C(2));
    seal_manifest(&manifest);
    file_store(&manifest, manifest.size);
    expect_refused(g.rig.whole, SLUICE_CORRUPT, "do not add up");
    put64(&manifest, FEATURES_AT, get64(&manifest, FEATURES_AT) | 2);
    /* A shard's metadata are neither longer than the maximum nor shorter than any. */
    const uint64_t bytes = get64(&manifest, ROWS_AT + 16);
    const uint64_t most = get64(&manifest, SHARD_META_BYTES_AT);
    const uint64_t lies[] = {bytes + most, bytes - most, bytes - 4096, UINT64_MAX, 0};
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        put64(&manifest, ROWS_AT + 16, lies[i]);
        seal_manifest(&manifest);
        file_store(&manifest, manifest.size);
        expect_refused(g.rig.whole, SLUICE_CORRUPT, "");
    }
    put64(&manifest, ROWS_AT + 16, bytes);
    /* After the first class is renamed, neither earlier nor later shards match. */
    uint8_t *name = memmem(manifest.data, manifest.size, "c00", 4);
    assert_non_null(name);
    name[0] = 'x';
    seal_manifest(&manifest);
    file_store(&manifest, manifest.size);
    assert_non_null(strstr(look(g.rig.whole).text, "the first classes, differ from those"));
    name[0] = 'c';
    seal_manifest(&manifest);
    file_store(&manifest, manifest.size);
    assert_int_equal(look(g.rig.whole).status, SLUICE_OK);
    file_free(&manifest);
    grown_remove(&g);
}
