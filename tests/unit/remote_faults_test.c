/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the faults of a server through the store's own functions: a read gets the right bytes or
 * fails with the address, the reason and no secret, after few requests, and never hangs. */
#include "curl_library.h"
#include "http_server.h"
#include "store.h"
#include "test.h"
#include "test_folder.h"

#include <sluice/remote.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large objects are read by ranges. */
enum {
    OBJECT_BYTES = 3000000,
    READ_AT = 2000000,
    READ_BYTES = 100000,
    SMALL_BYTES = 60,
    TRIES_MOST = 24
};

typedef struct fault_case {
    const char *rule;
    bool passes;
    const char *says; /* expected in the error; NULL: any error */
    bool is_small;    /* the object has SMALL_BYTES */
    bool only_first;  /* only for reads from the first request on */
} fault_case;

static const fault_case cases[] = {
    /* Transient faults are retried. */
    {"count=2 status=503 code=SlowDown", true, NULL, false, false},
    {"count=2 status=503 retry-after=0", true, NULL, false, false},
    {"count=2 status=429 retry-after=0", true, NULL, false, false},
    {"count=2 status=500", true, NULL, false, false},
    {"count=2 truncate=1000", true, NULL, false, false},
    {"count=2 reset=1000", true, NULL, false, false},
    {"count=2 shorten=10", true, NULL, false, false},
    {"count=2 range-off=1", true, NULL, false, false},
    {"count=2 extra=10", true, NULL, false, false},
    {"count=2 garbage", true, NULL, false, false},
    {"count=2 close", true, NULL, false, false},
    {"count=2 ignore-range", true, NULL, false, false},
    {"count=2 gzip", true, NULL, false, false},
    {"count=1 endless-body", true, NULL, false, false},
    {"count=1 endless-headers", true, NULL, false, false},
    /* Unusual but correct responses. */
    {"chunked", true, NULL, false, false},
    {"no-length", true, NULL, false, false},
    {"interim", true, NULL, false, false},
    {"delay=20", true, NULL, false, false},
    {"drip=10", true, NULL, true, false},
    {"etag=none", true, NULL, false, true},
    {"etag=weak", true, NULL, false, true},
    /* Persistent faults are reported. */
    {"status=503 retry-after=0", false, "answered 503; tries: ", false, false},
    {"status=429 retry-after=0", false, "answered 429; tries: ", false, false},
    {"status=500 retry-after=0", false, "answered 500; tries: ", false, false},
    {"status=403 code=AccessDenied", false, "403", false, false},
    {"status=401", false, "401", false, false},
    {"truncate=1000", false, NULL, false, false},
    {"reset=1000", false, "reset", false, false},
    {"shorten=10", false, NULL, false, false},
    {"range-off=1", false, "another range", false, false},
    {"extra=10", false, "more than", false, false},
    {"garbage", false, "not HTTP", false, false},
    {"close", false, NULL, false, false},
    {"ignore-range", false, "200 instead of 206", false, false},
    {"gzip", false, NULL, false, false},
    {"endless-body", false, "more than", false, false},
    {"endless-headers", false, "64 KiB of headers", false, false},
    {"huge-header=100000", false, "64 KiB of headers", false, false},
    {"ignore-range shorten=5", false, NULL, false, false},
    {"redirect=file:///etc/hostname", false, "redirects", false, false},
    {"redirect=ftp://127.0.0.1/x", false, "redirects", false, false},
    {"redirect=gopher://127.0.0.1/x", false, "redirects", false, false},
    /* Each of these leads to the next. */
    {"redirect=/b/again-%n", false, "redirects in a circle", false, false},
};

/* A stall beyond the limit is an error, without a retry. */
static const fault_case stalls[] = {
    {"stall-head", false, "sent nothing", false, false},
    {"stall-body=100", false, "sent nothing", false, false},
    {"stall-body=0", false, "sent nothing", true, false},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]), STALLS = sizeof(stalls) / sizeof(stalls[0]) };

static uint8_t *right; /* the contents of every object */

/* A read from the first request on, or of an object opened well before. */
typedef struct reading {
    const fault_case *of;
    bool later;
    char path[64], address[256];
    pthread_t thread;
    /* ---- */
    sluice_status status;
    bool equal;
    sluice_error error;
} reading;

static sluice_status read_object(const reading *of, uint8_t *to, size_t at, size_t bytes,
                                 sluice_error *error)
{
    sl_handle handle = {.fd = -1};
    sl_file_identity identity;
    const sl_file_name name = {.stage = "dataset", .path = of->address};
    sluice_status status = sl_handle_open(&handle, name, &identity, error);
    if (status == SLUICE_OK) {
        status = sl_handle_read(&handle, to, bytes, at, error);
    }
    sl_handle_close(&handle);
    return status;
}

static void *reading_main(void *argument)
{
    reading *of = argument;
    const size_t at = of->of->is_small ? 0 : READ_AT;
    const size_t bytes = of->of->is_small ? SMALL_BYTES : READ_BYTES;
    uint8_t *to = calloc(1, bytes);
    of->error = (sluice_error)SLUICE_ERROR_INIT;
    of->status = to != NULL ? read_object(of, to, at, bytes, &of->error) : SLUICE_NOMEM;
    of->equal = to != NULL && memcmp(to, right + at, bytes) == 0;
    free(to);
    return NULL;
}

/* Objects have the same bytes: they are links to two files. */
static void make_objects(void)
{
    uint8_t *data = malloc(OBJECT_BYTES);
    uint32_t random = 1;
    assert_non_null(data);
    for (size_t i = 0; i < OBJECT_BYTES; i++) {
        random = random * 1664525U + 1013904223U;
        data[i] = (uint8_t)(random >> 24);
    }
    assert_int_equal(mkdir(test_path("b"), 0700), 0);
    write_file(test_path("large"), data, OBJECT_BYTES);
    write_file(test_path("small"), data, SMALL_BYTES);
    right = data;
}

static void begin_reading(reading *of, http_server *server, const char *name, uint32_t number)
{
    char path[sizeof(of->path)]; /* gcc believes a path within `of` is overwritten */
    (void)snprintf(path, sizeof(path), "/b/%s-%02u.bin", name, number);
    memcpy(of->path, path, sizeof(path));
    (void)snprintf(of->address, sizeof(of->address), "%s%s?X-Amz-Signature=SECRETSIGNATURE",
                   http_server_url(server), path);
    assert_int_equal(
        link(test_path(of->of->is_small ? "small" : "large"), test_path("%s", of->path + 1)), 0);
}

static void configure(const char *endpoint, uint32_t stall_ms)
{
    const sluice_remote_config config = {.struct_size = sizeof(config),
                                         .anonymous = 1,
                                         .endpoint = endpoint,
                                         .stall_ns = (uint64_t)stall_ms * 1000000};
    const sl_curl_calls *calls;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        print_message("%s\n", error.text);
        exit(77);
    }
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
}

static uint32_t requests_for(const char *log, const char *path)
{
    uint32_t count = 0;
    for (const char *at = log; (at = strstr(at, path)) != NULL; at++) {
        count++;
    }
    return count;
}

/* Returns a description of a wrong outcome, or NULL. */
static const char *wrong_of(const reading *of, http_server *server, const char *log)
{
    const char *shown = http_server_url(server) + strlen("http://");
    const sluice_error *error = &of->error;
    const uint32_t requests = requests_for(log, of->path);
    if (strstr(error->text, "SECRET") != NULL || strstr(error->file, "SECRET") != NULL) {
        return "a secret is shown";
    }
    if (requests < 1 || requests > TRIES_MOST) {
        return "it took too many requests, or none";
    }
    if (of->of->passes) {
        return of->status != SLUICE_OK ? "it failed" : !of->equal ? "the bytes are wrong" : NULL;
    }
    if (of->status == SLUICE_OK) {
        return "it did not fail";
    }
    if ((strstr(error->file, shown) == NULL && strstr(error->text, shown) == NULL) ||
        (strstr(error->file, of->path) == NULL && strstr(error->text, of->path) == NULL)) {
        return "the address is missing";
    }
    return of->of->says != NULL && strstr(error->text, of->of->says) == NULL
               ? "the reason is missing"
               : NULL;
}

static uint32_t check_reading(const reading *of, http_server *server, const char *log)
{
    const char *wrong = wrong_of(of, server, log);
    print_message("%s%s (%u requests): %d %s: %s\n", of->of->rule, of->later ? ", later" : "",
                  requests_for(log, of->path), (int)of->status, of->error.file, of->error.text);
    if (wrong != NULL) {
        print_message("    WRONG: %s\n", wrong);
    }
    return wrong != NULL;
}

static char *script_of(const reading *readings, uint32_t count)
{
    const size_t capacity = 512 * (size_t)count + 64;
    char *script = malloc(capacity);
    assert_non_null(script);
    size_t length = (size_t)snprintf(script, capacity, "path=^/b/again redirect=/b/again-%%n\n");
    for (uint32_t i = 0; i < count; i++) {
        length += (size_t)snprintf(script + length, capacity - length, "path=^%s %s %s\n",
                                   readings[i].path, readings[i].later ? "skip=1" : "",
                                   readings[i].of->rule);
    }
    return script;
}

/* Reads all cases at once, since most of the time is spent waiting for retries. Returns the number
 * of unexpected outcomes. */
static uint32_t run_readings(http_server *server, reading *readings, uint32_t count)
{
    char *script = script_of(readings, count);
    uint32_t wrong = 0;
    http_server_script(server, script);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&readings[i].thread, NULL, reading_main, &readings[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(readings[i].thread, NULL), 0);
    }
    const size_t bytes = http_server_log(server, NULL, 0) + 1;
    char *log = malloc(bytes);
    assert_non_null(log);
    (void)http_server_log(server, log, bytes);
    for (uint32_t i = 0; i < count; i++) {
        wrong += check_reading(&readings[i], server, log);
    }
    free(log);
    free(script);
    return wrong;
}

TEST_WITH(a_wrong_answer_is_right_at_last_or_an_error, test_folder_make, test_folder_remove)
{
    const http_server_config config = {.folder = test_folder()};
    http_server *server = http_server_start(&config);
    static reading readings[2 * CASES];
    uint32_t count = 0;
    configure(http_server_url(server), 10000);
    make_objects();
    for (uint32_t i = 0; i < CASES; i++) {
        readings[count] = (reading){.of = &cases[i]};
        begin_reading(&readings[count++], server, "first", i);
        if (!cases[i].only_first) {
            readings[count] = (reading){.of = &cases[i], .later = true};
            begin_reading(&readings[count++], server, "later", i);
        }
    }
    assert_int_equal(run_readings(server, readings, count), 0);
    assert_int_equal(http_server_counts(server).errors, 0); /* no HEAD */
    http_server_stop(server);
    free(right);
}

TEST_WITH(a_stall_is_an_error, test_folder_make, test_folder_remove)
{
    const http_server_config config = {.folder = test_folder()};
    http_server *server = http_server_start(&config);
    static reading readings[2 * STALLS];
    configure(http_server_url(server), 3000); /* a busy machine may delay the server, too */
    make_objects();
    for (uint32_t i = 0; i < 2 * STALLS; i++) {
        readings[i] =
            (reading){.of = &stalls[i / 2], .later = i % 2 != 0 && !stalls[i / 2].is_small};
        begin_reading(&readings[i], server, "stall", i);
    }
    assert_int_equal(run_readings(server, readings, 2 * STALLS), 0);
    http_server_stop(server);
    free(right);
}

/* ---- a bucket of a million keys ---- */

enum { KEYS = TEST_AMOUNT(1000000, 50000), PAGE_KEYS = 1000 };

typedef struct seen_keys {
    uint8_t *seen;
    uint32_t count, wrong;
} seen_keys;

static sluice_status see_key(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    seen_keys *all = ctx;
    char *end = NULL;
    const unsigned long number = strtoul(entry->name, &end, 10);
    (void)error;
    if (number >= KEYS || strcmp(end, ".bin") != 0 || entry->kind != SL_ENTRY_FILE ||
        all->seen[number] != 0) {
        all->wrong++;
    } else {
        all->seen[number] = 1;
        all->count++;
    }
    return SLUICE_OK;
}

TEST(a_million_keys_are_listed_once_each)
{
    const http_server_config config = {.script = "kind=list share=0.01 status=503 retry-after=0"};
    http_server *server = http_server_start(&config);
    http_server_many(server, "big", KEYS, KEYS, 10);
    configure(http_server_url(server), 30000);
    seen_keys all = {.seen = calloc(1, KEYS)};
    assert_non_null(all.seen);
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_file_name folder = {.stage = "dataset", .path = "s3://big/class00000"};
    const sluice_status status = sl_store_list(folder, see_key, &all, &error);
    print_message("%s %s\n", error.file, error.text);
    assert_int_equal(status, SLUICE_OK);
    assert_int_equal(all.count, KEYS);
    assert_int_equal(all.wrong, 0);
    /* Pages are fetched concurrently, with few wasted requests. */
    const http_counts counts = http_server_counts(server);
    assert_in_range(counts.kinds[HTTP_LIST], KEYS / PAGE_KEYS, 2 * KEYS / PAGE_KEYS + 64);
    assert_in_range(counts.most_at_once, 2, 64);
    assert_int_equal(counts.kinds[HTTP_GET], 0);
    free(all.seen);
    http_server_stop(server);
}
