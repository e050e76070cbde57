/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the error for a folder in which a pack or writer did not finish, and that its advice
 * works. */
#include "pack_setup.h"
#include "packed.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect_refused(const char *folder, const char *says, const char *says_not)
{
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, &folder, 1, NULL, &error), SLUICE_INVALID);
    assert_string_equal(error.file, folder);
    if (strstr(error.text, says) == NULL || strstr(error.text, says_not) != NULL) {
        fail_msg("\"%s\" should say \"%s\" and not \"%s\"", error.text, says, says_not);
    }
}

static void expect_opens(const char *path)
{
    sluice_dataset *dataset;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
}

TEST(an_unfinished_pack_says_so)
{
    pack_setup setup;
    char work[256];
    char path[300];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_options options = pack_options();
    pack_setup_make(&setup, 3, 8, true);
    temporary_directory(work, sizeof(work));
    (void)snprintf(path, sizeof(path), "%s/pack", work);
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    options.shard_bytes = UINT64_MAX; /* no shard is complete at the first bad sample */
    assert_true(pack_run(&setup, path, &options, NULL, &error) < 0);
    assert_int_equal(count_names(path, is_shard), 0);
    expect_refused(path, "unfinished pack (", "has shards");
    /* With overwrite, it starts over. */
    options.overwrite = 1;
    options.shard_bytes = PACK_SHARD_BYTES;
    assert_true(pack_run(&setup, path, &options, NULL, &error) < 0);
    expect_refused(path, "unfinished pack (", "has shards");
    /* Without, it resumes. */
    options.overwrite = 0;
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    assert_int_equal(pack_run(&setup, path, &options, NULL, &error), SLUICE_OK);
    expect_opens(path);
    remove_tree(work);
    pack_setup_remove(&setup);
}

/* Nothing can resume there: the intended contents are unknown. */
TEST(shards_alone_are_no_pack)
{
    char folder[256];
    char path[300];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 9, .classes = 2});
    (void)snprintf(path, sizeof(path), "%s/manifest.sluice", folder);
    assert_int_equal(unlink(path), 0);
    expect_refused(folder, "single shards", "goes on");
    (void)snprintf(path, sizeof(path), "%s/shard-000000.sluice", folder);
    expect_opens(path);
    packed_make(folder, &(packed_options){.samples = 9, .classes = 2}); /* overwrites */
    expect_opens(folder);
    remove_tree(folder);
}
