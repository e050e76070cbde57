/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reads of objects from a misbehaving server: they return the right bytes or an error. */
#include "curl_library.h"
#include "hosts.h"
#include "http_server.h"
#include "memory.h"
#include "reads.h"
#include "settings.h"
#include "stop.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS  UINT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

enum { OBJECT_BYTES = 9 << 20, SMALL_BYTES = 5000, MANY = 100 };

static http_server *server;
static uint8_t *object_bytes;

/* Names that earlier tests left no trace of in hosts.h: each server has its own port. */
static void serve(http_server **at, const char *script)
{
    *at = http_server_start(&(http_server_config){.script = script});
    http_server_put(*at, "/bucket/large", object_bytes, OBJECT_BYTES);
    http_server_put(*at, "/bucket/small", object_bytes, SMALL_BYTES);
}

static int begin(void **state)
{
    (void)state;
    const sl_curl_calls *calls;
    sluice_error error;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    object_bytes = sl_malloc(OBJECT_BYTES);
    for (size_t i = 0; i < OBJECT_BYTES; i++) {
        object_bytes[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    sl_engine_set_threads(2, 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sl_free(object_bytes);
    return 0;
}

static int begin_server(void **state)
{
    (void)state;
    serve(&server, NULL);
    return 0;
}

static int end_server(void **state)
{
    (void)state;
    http_server_stop(server);
    const sl_remote_choice none = {.region = NULL};
    assert_int_equal(sl_remote_settings_choose(&none, NULL), SLUICE_OK);
    return 0;
}

static sl_object *open_object(const char *name)
{
    char address[256];
    sl_object *object = NULL;
    (void)snprintf(address, sizeof(address), "%s/bucket/%s", http_server_url(server), name);
    assert_int_equal(sl_object_open(&object, address, NULL), 0);
    return object;
}

/* Reads once from a fresh object and returns the result. Checks the bytes, and that none follow
 * them. */
static int64_t read_once(const char *name, sl_remote_read read)
{
    enum { BEHIND = 16 };
    uint8_t *buffer = sl_malloc(read.bytes + BEHIND);
    memset(buffer, 0xee, read.bytes + BEHIND);
    sl_object *held = read.object;
    read.object = held != NULL ? held : open_object(name);
    read.buffer = buffer;
    const int64_t result = sl_remote_read_run(&read);
    assert_int_equal(read.reason[0] != '\0', result < 0);
    if (result > 0) {
        assert_memory_equal(buffer, object_bytes + read.offset, (size_t)result);
    }
    for (uint32_t i = 0; i < BEHIND; i++) {
        assert_int_equal(buffer[read.bytes + i], 0xee);
    }
    if (held == NULL) {
        sl_object_release(read.object);
    }
    sl_free(buffer);
    return result;
}

TEST_WITH(ranges, begin_server, end_server)
{
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 100, .bytes = 1000}), 1000);
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 4900, .bytes = 1000}), 100);
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 0, .bytes = 9000}), 5000);
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 5000, .bytes = 10}), 0);
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 7000, .bytes = 10}), 0);
    assert_int_equal(read_once("small", (sl_remote_read){.offset = 7000, .bytes = 0}), 0);
    assert_int_equal(read_once("small", (sl_remote_read){.whole = true, .bytes = 5000}), 5000);
    assert_int_equal(read_once("small", (sl_remote_read){.whole = true, .bytes = 9000}), 5000);
    assert_int_equal(read_once("missing", (sl_remote_read){.bytes = 10}), -ENOENT);
    assert_int_equal(http_server_counts(server).kinds[HTTP_HEAD], 0);
}

/* Its size is known from the first response on. */
TEST_WITH(size_is_learned, begin_server, end_server)
{
    sl_object *object = open_object("small");
    uint8_t buffer[100];
    sl_remote_read read = {.object = object, .whole = true, .bytes = 100, .buffer = buffer};
    assert_int_equal(sl_remote_read_run(&read), -EFBIG);
    assert_int_equal(read.object_bytes, SMALL_BYTES);
    read = (sl_remote_read){.object = object, .offset = 10, .bytes = 100, .buffer = buffer};
    assert_int_equal(sl_remote_read_run(&read), 100);
    assert_int_equal(read.object_bytes, SMALL_BYTES);
    http_server_reset_counts(server);
    read = (sl_remote_read){.object = object, .whole = true, .bytes = 100, .buffer = buffer};
    assert_int_equal(sl_remote_read_run(&read), -EFBIG);
    read = (sl_remote_read){.object = object, .offset = 5000, .bytes = 100, .buffer = buffer};
    assert_int_equal(sl_remote_read_run(&read), 0);
    assert_int_equal(http_server_counts(server).requests, 0);
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    assert_int_equal(http_server_counts(server).if_match, 1);
    sl_object_release(object);
}

TEST_WITH(replaced, begin_server, end_server)
{
    sl_object *object = open_object("small");
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    http_server_script(server, "replace\n");
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), -EREMCHG);
    sl_object_release(object);
}

/* A consistent response that is shorter than the known size of the object. */
/* A response without the object's length, from a server that ignores If-Match. */
TEST_WITH(replaced_by_one_of_unknown_size, begin_server, end_server)
{
    for (int sized = 0; sized < 2; sized++) {
        sl_object *object = open_object("small");
        http_server_script(server, sized ? "etag=W/\"one\"\n" : "etag=W/\"one\" no-total\n");
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
        http_server_script(server, "etag=W/\"two\" no-total\n");
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), -EREMCHG);
        http_server_script(server, "etag=W/\"two\"\n");
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), -EREMCHG);
        sl_object_release(object);
    }
}

/* More bytes arrive than the response announces, and than the buffer holds. */
TEST_WITH(more_than_the_length_says, begin_server, end_server)
{
    http_server_script(server, "chunked claim=50\n");
    assert_int_equal(read_once("small", (sl_remote_read){.whole = true, .bytes = 100}), -EBADMSG);
}

TEST_WITH(shortened, begin_server, end_server)
{
    sl_object *object = open_object("small");
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    http_server_script(server, "ignore-range shorten=5\n");
    const sl_remote_read all = {.object = object, .bytes = 5000, .stall_ns = 200 * MS};
    assert_true(read_once("", all) < 0);
    http_server_script(server, "ignore-range shorten=5 count=2\n");
    const int64_t result = read_once("", (sl_remote_read){.object = object, .bytes = 5000});
    assert_true(result == 5000 || result == -EREMCHG);
    sl_object_release(object);
}

/* ---- faults ---- */

static const struct {
    const char *fault;
    int64_t always; /* the result if every request is affected */
} faults[] = {
    {"truncate=100", -ECONNRESET},
    {"reset=100", -ECONNRESET},
    {"extra=10", -EBADMSG},
    {"shorten=10", -EBADMSG},
    {"range-off=10", -EBADMSG},
    {"ignore-range", -EBADMSG},
    {"endless-body", -EBADMSG},
    {"endless-headers", -EBADMSG},
    {"garbage", -EBADMSG},
    {"close", -ECONNRESET},
    {"gzip", -EBADMSG},
    {"stall-head", -ETIMEDOUT},
    {"stall-body=100", -ETIMEDOUT},
    {"drip=50", -ETIMEDOUT},
    {"status=500", -EBUSY},
    {"status=503 code=SlowDown", -EBUSY},
    {"status=429 retry-after=1", -EBUSY},
};

/* A read ends at about its stall limit, whatever the server does. */
TEST_WITH(faults_for_ever, begin_server, end_server)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char script[128];
        (void)snprintf(script, sizeof(script), "%s\n", faults[i].fault);
        http_server_script(server, script);
        const int64_t result =
            read_once("small", (sl_remote_read){.offset = 50, .bytes = 1000, .stall_ns = 200 * MS});
        /* on a busy machine, any of them may exceed the limit */
        if (result != faults[i].always && result != -ETIMEDOUT) {
            fail_msg("%s: %lld", faults[i].fault, (long long)result);
        }
    }
}

/* Transient faults are retried. */
TEST_WITH(faults_that_pass, begin_server, end_server)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char script[128];
        if (faults[i].always == -ETIMEDOUT || strstr(faults[i].fault, "retry-after") != NULL) {
            continue;
        }
        (void)snprintf(script, sizeof(script), "%s count=1\n", faults[i].fault);
        http_server_script(server, script);
        const int64_t result = read_once("small", (sl_remote_read){.offset = 50, .bytes = 1000});
        if (result != 1000) {
            fail_msg("%s: %lld", faults[i].fault, (long long)result);
        }
    }
}

TEST_WITH(odd_answers, begin_server, end_server)
{
    static const char *const scripts[] = {"interim\n", "chunked\n", "etag=weak\n", "etag=none\n"};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        http_server_script(server, scripts[i]);
        sl_object *object = open_object("small");
        for (uint32_t at = 0; at < 3; at++) {
            const sl_remote_read read = {.object = object, .offset = at, .bytes = 100};
            assert_int_equal(read_once("", read), 100);
        }
        sl_object_release(object);
    }
}

TEST_WITH(refused, begin_server, end_server)
{
    http_server_script(server, "status=403 code=AccessDenied\n");
    http_server_reset_counts(server);
    assert_int_equal(read_once("small", (sl_remote_read){.bytes = 10}), -EACCES);
    assert_int_equal(http_server_counts(server).requests, 1);
}

/* ---- redirects ---- */

TEST_WITH(redirects, begin_server, end_server)
{
    char script[256];
    (void)snprintf(script, sizeof(script),
                   "path=^/bucket/small redirect=%s/bucket/large?signature=%%n\n",
                   http_server_url(server));
    http_server_script(server, script);
    sl_object *object = open_object("small");
    http_server_reset_counts(server);
    for (uint32_t i = 0; i < 3; i++) {
        const sl_remote_read read = {.object = object, .offset = MIB, .bytes = 100};
        assert_int_equal(read_once("", read), 100);
    }
    assert_int_equal(http_server_counts(server).requests, 4); /* the location is requested once */

    /* when its target is no longer valid, the server is asked again */
    (void)snprintf(script + strlen(script), sizeof(script) - strlen(script),
                   "path=signature count=1 status=403 code=AccessDenied\n");
    http_server_script(server, script);
    http_server_reset_counts(server);
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .offset = MIB, .bytes = 100}),
                     100);
    assert_int_equal(http_server_counts(server).requests, 3);
    sl_object_release(object);

    http_server_script(server, "redirect=/bucket/small\n"); /* in a circle */
    assert_int_equal(read_once("small", (sl_remote_read){.bytes = 10}), -EPERM);
    http_server_script(server, "redirect=file:///etc/passwd\n");
    assert_int_equal(read_once("small", (sl_remote_read){.bytes = 10}), -EPERM);
}

/* ---- stores ---- */

static sl_object *open_address(const char *address)
{
    sl_object *object = NULL;
    assert_int_equal(sl_object_open(&object, address, NULL), 0);
    return object;
}

/* The hub redirects to an address that is valid for a second; then the hub is asked again. */
TEST(hub)
{
    server = http_server_start(&(http_server_config){.link_seconds = 1});
    http_server_put(server, "/datasets/owner/name/file", object_bytes, SMALL_BYTES);
    assert_int_equal(setenv("HF_ENDPOINT", http_server_url(server), 1), 0);
    assert_int_equal(setenv("HF_TOKEN", "hf_secret", 1), 0);
    sl_object *object = open_address("hf://datasets/owner/name/file");
    const sl_remote_read read = {.object = object, .offset = 5, .bytes = 100};
    assert_int_equal(read_once("", read), 100);
    assert_int_equal(read_once("", read), 100);
    http_counts counts = http_server_counts(server);
    assert_in_range(counts.kinds[HTTP_RESOLVE], 1, 2);                /* 2: 1 s has elapsed */
    assert_int_equal(counts.signed_ones, counts.kinds[HTTP_RESOLVE]); /* the target gets no token */
    while (counts.kinds[HTTP_RESOLVE] < 2) {
        assert_int_equal(read_once("", read), 100);
        counts = http_server_counts(server);
    }
    assert_int_equal(counts.signed_ones, counts.kinds[HTTP_RESOLVE]);
    sl_object_release(object);
    (void)end_server(NULL);
}

static void use_s3(void)
{
    assert_int_equal(setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1), 0);
    assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
    assert_int_equal(setenv("AWS_CONFIG_FILE", "/nonexistent", 1), 0);
    assert_int_equal(setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1), 0);
    const sl_remote_choice choice = {.endpoint = http_server_url(server)};
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
}

/* A clock that is off by 20 minutes costs one request, once. */
TEST_WITH(clock_of_the_server, begin_server, end_server)
{
    use_s3();
    http_server_script(server, "clock=-1200\n");
    sl_object *object = open_address("s3://bucket/small");
    const sl_remote_read read = {.object = object, .offset = 5, .bytes = 100};
    assert_int_equal(read_once("", read), 100);
    assert_int_equal(http_server_counts(server).requests, 2);
    assert_int_equal(read_once("", read), 100);
    assert_int_equal(http_server_counts(server).requests, 3);
    assert_int_equal(http_server_counts(server).signed_ones, 3);
    sl_object_release(object);
}

TEST_WITH(credentials_expire, begin_server, end_server)
{
    use_s3();
    http_server_script(server, "count=1 status=400 code=ExpiredToken\n");
    sl_object *object = open_address("s3://bucket/small");
    const sl_remote_read read = {.object = object, .offset = 5, .bytes = 100};
    assert_int_equal(read_once("", read), 100);
    assert_int_equal(http_server_counts(server).requests, 2);
    http_server_script(server, "status=400 code=ExpiredToken\n"); /* forever */
    assert_int_equal(read_once("", read), -EACCES);
    assert_int_equal(http_server_counts(server).requests, 4);
    sl_object_release(object);
}

/* ---- many at once ---- */

typedef struct many_reads {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t done;
    sl_remote_read reads[MANY];
    uint8_t *buffers;
} many_reads;

static void many_done(sl_remote_read *read)
{
    many_reads *many = read->ctx;
    sl_lock(&many->mutex);
    many->done++;
    sl_cond_signal(&many->cond);
    sl_unlock(&many->mutex);
}

static void many_start(many_reads *many, sl_object *object, uint32_t bytes)
{
    sl_mutex_init(&many->mutex);
    sl_cond_init(&many->cond);
    many->done = 0;
    many->buffers = sl_malloc((size_t)MANY * bytes);
    for (uint32_t i = 0; i < MANY; i++) {
        many->reads[i] = (sl_remote_read){.object = object,
                                          .offset = i * UINT64_C(7919) % (OBJECT_BYTES - bytes),
                                          .bytes = bytes,
                                          .buffer = many->buffers + (size_t)i * bytes,
                                          .done = many_done,
                                          .ctx = many};
        sl_remote_read_start(&many->reads[i]);
    }
}

static void many_wait(many_reads *many)
{
    sl_lock(&many->mutex);
    while (many->done < MANY) {
        sl_cond_wait(&many->cond, &many->mutex);
    }
    sl_unlock(&many->mutex);
}

static void many_end(many_reads *many)
{
    sl_free(many->buffers);
    sl_cond_destroy(&many->cond);
    sl_mutex_destroy(&many->mutex);
}

static void check_many(many_reads *many)
{
    for (uint32_t i = 0; i < MANY; i++) {
        const sl_remote_read *read = &many->reads[i];
        if (read->result != read->bytes) {
            fail_msg("%lld: %s", (long long)read->result, read->reason);
        }
        assert_memory_equal(read->buffer, object_bytes + read->offset, read->bytes);
    }
}

static sl_host_stats stats_of_server(void)
{
    static sl_host_stats stats[256];
    const uint32_t count = sl_hosts_get_stats(stats, 256);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stats[i].host, http_server_url(server) + strlen("http://")) == 0) {
            return stats[i];
        }
    }
    fail();
    return stats[0];
}

static int begin_hub(void **state)
{
    (void)state;
    server = http_server_start(&(http_server_config){.direct_bytes = SMALL_BYTES + 1});
    http_server_put(server, "/datasets/owner/name/large", object_bytes, OBJECT_BYTES);
    http_server_put(server, "/datasets/owner/name/small", object_bytes, SMALL_BYTES);
    assert_int_equal(setenv("HF_ENDPOINT", http_server_url(server), 1), 0);
    return 0;
}

/* The hub limits requests: of many reads, the first resolves the location and the others wait. */
TEST_WITH(one_read_asks_for_the_redirect, begin_hub, end_server)
{
    many_reads many;
    http_server_script(server, "kind=resolve delay=100\n");
    sl_object *object = open_address("hf://datasets/owner/name/large");
    many_start(&many, object, 1000);
    many_wait(&many);
    check_many(&many);
    many_end(&many);
    sl_object_release(object);
    assert_int_equal(http_server_counts(server).kinds[HTTP_RESOLVE], 1);
    http_server_script(server, "");
    /* the hub serves small files itself: the others wait only for the first read */
    object = open_address("hf://datasets/owner/name/small");
    for (uint32_t i = 0; i < 3; i++) {
        const sl_remote_read read = {.object = object, .offset = i, .bytes = 100};
        assert_int_equal(read_once("", read), 100);
    }
    assert_in_range(http_server_counts(server).kinds[HTTP_RESOLVE], 1 + 3, 1 + 2 * 3); /* hedges */
    sl_object_release(object);
}

/* The first read is canceled or delayed: the others resolve the location themselves. */
TEST_WITH(a_read_that_asks_for_the_redirect_holds_up_none, begin_hub, end_server)
{
    for (int cancels = 0; cancels < 2; cancels++) {
        many_reads many;
        const uint64_t struck = http_server_counts(server).struck;
        http_server_script(server, "kind=resolve count=1 stall-head\n");
        sl_object *object = open_address("hf://datasets/owner/name/large");
        many_start(&many, object, 1000);
        while (http_server_counts(server).struck == struck) {
            (void)usleep(1000);
        }
        if (cancels) {
            sl_remote_read_cancel(&many.reads[0]);
        }
        const uint32_t wanted = cancels ? MANY : MANY - 1;
        sl_lock(&many.mutex);
        while (many.done < wanted) {
            sl_cond_wait(&many.cond, &many.mutex);
        }
        sl_unlock(&many.mutex);
        for (uint32_t i = 1; i < MANY; i++) {
            assert_int_equal(many.reads[i].result, 1000);
        }
        sl_remote_read_cancel(&many.reads[0]);
        many_wait(&many);
        assert_int_equal(many.reads[0].result, -ECANCELED);
        many_end(&many);
        sl_object_release(object);
    }
}

TEST_WITH(connections_are_limited, begin_server, end_server)
{
    many_reads many;
    const sl_remote_choice choice = {.connections = 6};
    sl_object *object = open_object("large");
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
    http_server_script(server, "delay=2\n");
    many_start(&many, object, 1000);
    many_wait(&many);
    check_many(&many);
    many_end(&many);
    assert_in_range(http_server_counts(server).most_at_once, 2, 6);
    sl_object_release(object);
}

/* A storm: a third of all requests gets a 503. The window shrinks, and every read succeeds. */
TEST_WITH(storm, begin_server, end_server)
{
    many_reads many;
    sl_object *object = open_object("large");
    const uint32_t before = sl_host_window(sl_host_find("a host without a past"));
    http_server_script(server, "every=3 status=503 code=SlowDown\n");
    many_start(&many, object, 1000);
    many_wait(&many);
    check_many(&many);
    many_end(&many);
    const sl_host_stats stats = stats_of_server();
    assert_true(stats.window < before);
    assert_in_range(stats.busy, MANY / 3, MANY);
    assert_in_range(stats.retried, MANY / 4, stats.busy); /* hedges are not retried */
    assert_int_equal(stats.flying, 0);
    sl_object_release(object);
}

/* All kinds of faults at once never yield a wrong byte. */
TEST_WITH(weather, begin_server, end_server)
{
    many_reads many;
    sl_object *object = open_object("large");
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    http_server_script(server, "share=0.05 seed=1 truncate=500\n"
                               "share=0.05 seed=2 reset=300\n"
                               "share=0.05 seed=3 extra=10\n"
                               "share=0.05 seed=4 shorten=10\n"
                               "share=0.05 seed=5 range-off=10\n"
                               "share=0.05 seed=6 status=503\n"
                               "share=0.05 seed=7 close\n");
    many_start(&many, object, 2000);
    many_wait(&many);
    check_many(&many);
    many_end(&many);
    sl_object_release(object);
}

/* A few late responses are requested a second time, for at most a twentieth of the requests. */
TEST_WITH(hedges, begin_server, end_server)
{
    sl_object *object = open_object("large");
    for (uint32_t i = 0; i < 80; i++) {
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    }
    http_server_script(server, "skip=9 count=1 stall-head\n");
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    }
    http_server_script(server, "skip=9 count=1 stall-body=50\n");
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    }
    const sl_host_stats stats = stats_of_server();
    assert_true(stats.hedges_won >= 2);
    assert_true(stats.hedged <= stats.requests / 20 + 1);
    assert_int_equal(stats.flying, 0);
    sl_object_release(object);
}

TEST_WITH(cancel, begin_server, end_server)
{
    many_reads many;
    const sl_remote_choice choice = {.connections = 10}; /* most wait for a slot */
    sl_object *object = open_object("large");
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
    http_server_script(server, "every=2 stall-head\nevery=3 status=503\n");
    many_start(&many, object, 1000);
    for (uint32_t i = 0; i < MANY; i++) {
        sl_remote_read_cancel(&many.reads[i]);
    }
    many_wait(&many);
    for (uint32_t i = 0; i < MANY; i++) {
        const sl_remote_read *read = &many.reads[i];
        assert_true(read->result == -ECANCELED || read->result == 1000);
        sl_remote_read_cancel(&many.reads[i]); /* has no effect */
    }
    many_end(&many);
    assert_int_equal(stats_of_server().flying, 0);
    sl_object_release(object);
}

static int32_t stop_at_once(void *user)
{
    (void)user;
    return 1;
}

TEST_WITH(stop, begin_server, end_server)
{
    sl_stop stop;
    http_server_script(server, "stall-head\n");
    sl_stop_begin(&stop, stop_at_once, NULL);
    assert_int_equal(read_once("small", (sl_remote_read){.bytes = 100}), -ECANCELED);
    sl_stop_end(&stop);
}

/* ---- cache nodes ---- */

enum { NODES = 3 };

static http_server *nodes[NODES];

static int begin_nodes(void **state)
{
    char list[256] = "";
    (void)begin_server(state);
    for (uint32_t i = 0; i < NODES; i++) {
        serve(&nodes[i], NULL);
        (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s127.0.0.1:%u",
                       i > 0 ? ", " : "", http_server_port(nodes[i]));
    }
    const sl_remote_choice choice = {.cache_nodes = list};
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
    return 0;
}

static int end_nodes(void **state)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (nodes[i] != NULL) {
            http_server_stop(nodes[i]);
        }
    }
    return end_server(state);
}

static uint64_t requests_of(http_server *at)
{
    return at == NULL ? 0 : http_server_counts(at).requests;
}

static uint64_t requests_of_nodes(void)
{
    return requests_of(nodes[0]) + requests_of(nodes[1]) + requests_of(nodes[2]);
}

/* Returns the node that got the request. */
static uint32_t node_asked(void)
{
    uint32_t node = 0;
    while (node < NODES && requests_of(nodes[node]) == 0) {
        node++;
    }
    assert_in_range(node, 0, NODES - 1);
    return node;
}

static void reset_nodes(void)
{
    http_server_reset_counts(server);
    for (uint32_t i = 0; i < NODES; i++) {
        if (nodes[i] != NULL) {
            http_server_reset_counts(nodes[i]);
        }
    }
}

/* As with nodes: the ETags of all servers must be those of the store. */
static sl_object *open_known(void)
{
    sl_object *object = open_object("large");
    assert_int_equal(read_once("", (sl_remote_read){.object = object, .bytes = 100}), 100);
    assert_int_equal(requests_of(server), 1); /* its ETag is not known yet */
    assert_int_equal(requests_of_nodes(), 0);
    reset_nodes();
    return object;
}

TEST_WITH(nodes_serve, begin_nodes, end_nodes)
{
    sl_object *object = open_known();
    const sl_remote_read across = {.object = object, .offset = 7 * MIB, .bytes = 2 * MIB};
    assert_int_equal(read_once("", across), 2 * MIB);
    assert_int_equal(requests_of(server), 0);
    assert_int_equal(requests_of_nodes(), 2); /* one per slice */
    sl_remote_read past = across;
    past.from_store = true;
    assert_int_equal(read_once("", past), 2 * MIB);
    assert_int_equal(requests_of(server), 1);
    assert_int_equal(requests_of_nodes(), 2);
    sl_object_release(object);
}

/* One dead node: the second owner serves; two dead nodes: the store does. */
TEST_WITH(nodes_die, begin_nodes, end_nodes)
{
    sl_object *object = open_known();
    const sl_remote_read read = {.object = object, .offset = MIB, .bytes = 1000};
    for (uint32_t dead = 0; dead < 2; dead++) {
        assert_int_equal(read_once("", read), 1000);
        assert_int_equal(requests_of_nodes(), 1);
        assert_int_equal(requests_of(server), 0);
        const uint32_t node = node_asked();
        http_server_stop(nodes[node]);
        nodes[node] = NULL;
        reset_nodes();
    }
    assert_int_equal(read_once("", read), 1000);
    assert_int_equal(requests_of_nodes(), 0);
    assert_int_equal(requests_of(server), 1);
    sl_object_release(object);
}

/* Nodes with every fault, or with another object. */
TEST_WITH(nodes_lie, begin_nodes, end_nodes)
{
    static const char *const scripts[] = {"etag=\"other\"\n", "status=404\n",  "status=502\n",
                                          "truncate=10\n",    "shorten=10\n",  "garbage\n",
                                          "status=412\n",     "ignore-range\n"};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        if (i > 0) {
            (void)begin_nodes(NULL);
        }
        sl_object *object = open_known();
        for (uint32_t node = 0; node < NODES; node++) {
            http_server_script(nodes[node], scripts[i]);
        }
        const sl_remote_read read = {.object = object, .offset = MIB, .bytes = 1000};
        assert_int_equal(read_once("", read), 1000);
        assert_int_equal(requests_of_nodes(), 2);
        assert_int_equal(requests_of(server), 1);
        sl_object_release(object);
        if (i + 1 < sizeof(scripts) / sizeof(scripts[0])) {
            (void)end_nodes(NULL);
        }
    }
}

TEST_GROUP(begin, end)
