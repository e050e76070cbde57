/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a build without libcurl (curl_absent.c): every address fails immediately, with the
 * reason. */
#include "backend.h"
#include "curl_library.h"
#include "engine.h"
#include "reads.h"
#include "store.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char missing[] = "built without libcurl";

static sluice_status no_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    fail_msg("%s is listed", entry->name);
    return SLUICE_OK;
}

TEST(every_address_is_refused_with_the_reason)
{
    static const char *const addresses[] = {"s3://b/x.tar",       "s3://b/x/",   "gs://b/x",
                                            "https://h/x.tar",    "http://h/x/", "http://h/packed",
                                            "hf://datasets/o/n/x"};
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        const sl_file_name name = {.stage = "dataset", .path = addresses[i]};
        uint8_t *data = NULL;
        size_t bytes = 0;
        sluice_error error;
        assert_true(sl_store_read_whole(name, 1 << 20, &data, &bytes, &error) < 0);
        const bool is_folder = addresses[i][strlen(addresses[i]) - 1] == '/';
        if (strstr(error.text, missing) == NULL && !is_folder) {
            fail_msg("%s: %s", addresses[i], error.text);
        }
        assert_true(sl_store_list(name, no_entry, NULL, &error) < 0);
        if (strstr(error.text, missing) == NULL) {
            fail_msg("%s: %s", addresses[i], error.text);
        }
    }
}

static void note_done(sl_remote_read *read)
{
    (*(int *)read->ctx)++;
}

TEST(reads_and_requests_end_at_once)
{
    uint8_t buffer[16];
    sl_object *object = NULL;
    assert_int_equal(sl_object_open(&object, "https://h/x.tar", NULL), 0);
    int done = 0;
    sl_remote_read read = {.object = object,
                           .bytes = sizeof(buffer),
                           .buffer = buffer,
                           .done = note_done,
                           .ctx = &done};
    sl_remote_read_start(&read);
    assert_int_equal(done, 1);
    assert_true(read.result < 0);
    assert_non_null(strstr(read.reason, missing));
    sl_object_release(object);
    sl_exchange exchange = {.url = "https://h/x.tar"};
    sluice_error error;
    assert_int_equal(sl_engine_run(&exchange, &error), SLUICE_UNSUPPORTED);
    sl_exchange_free(&exchange);
    assert_int_equal(sl_engine_threads(), 0);
}
