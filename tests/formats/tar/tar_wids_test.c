/* SPDX-License-Identifier: Apache-2.0 */
/* Tests JSON lists of tar archives, as WebDataset's widsindex writes them: the archives in the
 * list's order, and invalid lists. */
#include "dataset_checks.h"
#include "tar_make.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ARCHIVES = 3, SAMPLES = 4 };

/* Writes the list of `shards`, followed by `more`. */
static const char *list_of(const char *shards, const char *more)
{
    char text[1024];
    const int length =
        snprintf(text, sizeof(text),
                 "{\"__kind__\": \"wids-shard-index-v1\", \"shardlist\": [%s]%s}", shards, more);
    write_file(test_path("index.json"), text, (uint32_t)length);
    return test_path("index.json");
}

/* Archive a is data/a.tar; its sample i has the text "a.i". */
static int setup(void **state)
{
    test_folder_make(state);
    assert_int_equal(mkdir(test_path("data"), 0700), 0);
    for (unsigned a = 0; a < ARCHIVES; a++) {
        uint8_t archive[(2 * SAMPLES + 2) * TAR_BLOCK];
        size_t at = 0;
        char name[64];
        for (unsigned i = 0; i < SAMPLES; i++) {
            char text[16];
            (void)snprintf(name, sizeof(name), "%u%u.txt", a, i);
            (void)snprintf(text, sizeof(text), "%u.%u", a, i);
            at += tar_put(archive + at, name, text, 3);
        }
        at += tar_put_end(archive + at);
        (void)snprintf(name, sizeof(name), "data/%u.tar", a);
        write_file(test_path("%s", name), archive, (uint32_t)at);
    }
    return 0;
}

/* Checks the samples of the archives in `order`, one digit each. */
static void expect_archives(const char *list, const char *order)
{
    sluice_dataset *dataset = dataset_opened(list);
    dataset_expect(dataset, "tar", strlen(order) * SAMPLES);
    for (unsigned i = 0; i < strlen(order) * SAMPLES; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%c.%u", order[i / SAMPLES], i % SAMPLES);
        dataset_expect_bytes(dataset, i, "txt", text, 3);
    }
    sluice_dataset_close(dataset);
}

TEST(archives_in_the_order_of_the_list)
{
    expect_archives(list_of("{\"url\": \"data/2.tar\", \"nsamples\": 4}, "
                            "{\"url\": \"data/0.tar\", \"nsamples\": 4}",
                            ""),
                    "20");
    expect_archives(list_of("{\"url\": \"data/1.tar\"}", ""), "1");
    expect_archives(list_of("", ", \"datasets\": [{\"base\": \"data\", \"shardlist\": [{\"url\": "
                                "\"1.tar\"}, {\"url\": \"0.tar\"}]}]"),
                    "10");
}

TEST(lists_that_are_refused)
{
    static const struct {
        const char *shards, *file, *words;
        sluice_status status;
    } wrong[] = {
        {"", "index.json", "the list of archives is missing", SLUICE_UNSUPPORTED},
        {"{\"url\": \"s3://a/b.tar\"}", "index.json", "remote", SLUICE_UNSUPPORTED},
        {"{\"url\": \"data/{0..2}.tar\"}", "index.json", "each archive", SLUICE_UNSUPPORTED},
        {"{\"url\": \"../data/0.tar\"}", "index.json", "archive 0", SLUICE_INVALID},
        {"{\"url\": \"data/0.tar\", \"nsamples\": 5}", "index.json", "", SLUICE_CORRUPT},
        {"{\"url\": \"data/9.tar\"}", "9.tar", "", SLUICE_IO},
        {"{\"nsamples\": 5}", "index.json", "", SLUICE_CORRUPT},
        {"7", "index.json", "", SLUICE_CORRUPT},
        {"{", "index.json", "", SLUICE_CORRUPT},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        dataset_refused(list_of(wrong[i].shards, ""), wrong[i].status, wrong[i].file,
                        wrong[i].words);
    }
}

TEST_GROUP(setup, test_folder_remove)
