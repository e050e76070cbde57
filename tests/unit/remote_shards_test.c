/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the requests needed to open a packed dataset of 1,000 shards from a store. */
#include "curl_library.h"
#include "http_server.h"
#include "packed.h"
#include "test.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARDS = 1000 };

static http_server *server;

/* Skips syncing: 1,000 shards are 1,000 files, and no test here depends on it. */
int __wrap_fsync(int fd); // NOLINT: names are ld's
int __wrap_fsync(int fd)  // NOLINT
{
    (void)fd;
    return 0;
}

int __wrap_fdatasync(int fd); // NOLINT: names are ld's
int __wrap_fdatasync(int fd)  // NOLINT
{
    (void)fd;
    return 0;
}

static int begin(void **state)
{
    const sl_curl_calls *calls;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    assert_int_equal(test_folder_make(state), 0);
    assert_int_equal(mkdir(test_path("bucket"), 0700), 0);
    /* a shard has at least one sample */
    packed_make(test_path("bucket/packed"),
                &(packed_options){.samples = SHARDS, .classes = 3, .shard_bytes = 1});
    server = http_server_start(&(http_server_config){.folder = test_folder()});
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    config.anonymous = 1;
    config.endpoint = http_server_url(server);
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
    return 0;
}

static int end(void **state)
{
    http_server_stop(server);
    return test_folder_remove(state);
}

static sluice_dataset *open_at(const char *address)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &address, 1, NULL, &error) != SLUICE_OK) {
        fail_msg("%s: %s", address, error.text);
    }
    return dataset;
}

/* A sample of any shard is the same as from the folder. */
static void compare_sample(const sluice_dataset *a, const sluice_dataset *b, uint64_t index)
{
    sluice_sample_info found[2] = {SLUICE_SAMPLE_INFO_INIT, SLUICE_SAMPLE_INFO_INIT};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_get_sample(a, index, &found[0], &error), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_sample(b, index, &found[1], &error), SLUICE_OK);
    assert_string_equal(found[0].key, found[1].key);
    assert_int_equal(found[0].label, found[1].label);
    assert_int_equal(found[0].bytes, found[1].bytes);
}

TEST(opening_takes_three_requests)
{
    char addresses[2][128];
    sluice_dataset *local = open_at(test_path("bucket/packed"));
    (void)snprintf(addresses[0], sizeof(addresses[0]), "s3://bucket/packed");
    (void)snprintf(addresses[1], sizeof(addresses[1]), "%s/bucket/packed/",
                   http_server_url(server));
    for (size_t i = 0; i < 2; i++) {
        http_server_reset_counts(server);
        sluice_dataset *dataset = open_at(addresses[i]);
        const http_counts counts = http_server_counts(server);
        if (counts.requests < 1 || counts.requests > 3 || counts.errors > 0) {
            char log[4096];
            (void)http_server_log(server, log, sizeof(log));
            fail_msg("%s: %llu requests\n%s", addresses[i], (unsigned long long)counts.requests,
                     log);
        }
        sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
        assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
        assert_int_equal(info.shards, SHARDS);
        assert_int_equal(info.samples, SHARDS);
        compare_sample(dataset, local, 0);
        compare_sample(dataset, local, SHARDS / 2);
        compare_sample(dataset, local, SHARDS - 1);
        sluice_dataset_close(dataset);
    }
    sluice_dataset_close(local);
}

TEST_GROUP(begin, end)
