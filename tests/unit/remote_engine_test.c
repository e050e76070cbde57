/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the engine against a misbehaving server. */
#include "clock.h"
#include "curl_library.h"
#include "engine.h"
#include "http_server.h"
#include "memory.h"
#include "stop.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum { OBJECT_BYTES = 300000, MANY = 64 };

static http_server *server;
static uint8_t object[OBJECT_BYTES];
static char url[256];

static int begin(void **state)
{
    (void)state;
    const sl_curl_calls *calls;
    sluice_error error;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    for (size_t i = 0; i < sizeof(object); i++) {
        object[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    server = http_server_start(&(http_server_config){.folder = NULL});
    http_server_put(server, "/bucket/key", object, sizeof(object));
    (void)snprintf(url, sizeof(url), "%s/bucket/key", http_server_url(server));
    sl_engine_set_threads(2, 2); /* so that several threads have exchanges */
    return 0;
}

static int end(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
}

static sl_exchange ask_range(uint8_t *buffer, uint64_t first, size_t bytes)
{
    return (sl_exchange){.url = url,
                         .has_bytes = true,
                         .first = first,
                         .last = first + bytes - 1,
                         .buffer = buffer,
                         .capacity = bytes};
}

TEST(range)
{
    uint8_t buffer[1000];
    sl_exchange exchange = ask_range(buffer, 5000, sizeof(buffer));
    http_server_script(server, NULL);
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.failed, 0);
    assert_int_equal(exchange.status, 206);
    assert_int_equal(exchange.got, 1000);
    assert_memory_equal(buffer, object + 5000, sizeof(buffer));
    assert_true(exchange.has_range);
    assert_int_equal(exchange.range_first, 5000);
    assert_int_equal(exchange.range_last, 5999);
    assert_int_equal(exchange.total, OBJECT_BYTES);
    assert_int_equal(exchange.length, 1000);
    assert_int_equal(exchange.etag[0], '"');
    assert_true(exchange.date_s > 1700000000);
    assert_true(exchange.modified_s > 0);
    assert_true(exchange.from_local);
    assert_true(exchange.first_byte_ns > 0);
    assert_true(exchange.first_byte_ns <= exchange.total_ns);
    sl_exchange_free(&exchange);
}

TEST(whole)
{
    uint8_t *buffer = sl_malloc(OBJECT_BYTES);
    sl_exchange exchange = {.url = url, .buffer = buffer, .capacity = OBJECT_BYTES};
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.status, 200);
    assert_int_equal(exchange.got, OBJECT_BYTES);
    assert_false(exchange.has_range);
    assert_memory_equal(buffer, object, OBJECT_BYTES);
    sl_exchange_free(&exchange);
    sl_free(buffer);
}

TEST(connections_are_kept)
{
    uint8_t buffer[100];
    http_server_reset_counts(server);
    for (uint32_t i = 0; i < 40; i++) {
        sl_exchange exchange = ask_range(buffer, i, sizeof(buffer));
        assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
        assert_int_equal(exchange.failed, 0);
        assert_memory_equal(buffer, object + i, sizeof(buffer));
        sl_exchange_free(&exchange);
    }
    const http_counts counts = http_server_counts(server);
    assert_int_equal(counts.requests, 40);
    assert_in_range(counts.connections, 0, 2); /* one per thread that had none before */
}

enum { PAUSES = 30, PAUSE_US = 20000 };

static int ask_with_pauses(void)
{
    uint8_t buffer[100];
    sl_engine_set_threads(1, 1);
    sl_engine_set_idle(UINT64_C(1000000));
    for (uint32_t i = 0; i < PAUSES; i++) {
        sl_exchange exchange = ask_range(buffer, i, sizeof(buffer));
        if (sl_engine_run(&exchange, NULL) != SLUICE_OK || exchange.failed != 0 ||
            memcmp(buffer, object + i, sizeof(buffer)) != 0) {
            return 1;
        }
        sl_exchange_free(&exchange);
        (void)usleep(PAUSE_US);
    }
    return 0;
}

/* In a child with an engine of its own: ThreadSanitizer rejects its threads. */
TEST_UNSANITIZED(idle_connections_are_closed)
{
    http_server_script(server, NULL);
    http_server_reset_counts(server);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(ask_with_pauses());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* A busy machine may send the next request before the thread closes the connections. */
    assert_in_range(http_server_counts(server).connections, 3, PAUSES);
}

static void ask_by_script(const char *script, int status)
{
    uint8_t buffer[100];
    sl_exchange exchange = ask_range(buffer, 7, sizeof(buffer));
    http_server_script(server, script);
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    if (exchange.failed != 0 || exchange.status != status) {
        fail_msg("%s: failed %d, status %d: %s", script != NULL ? script : "no script",
                 exchange.failed, exchange.status, exchange.reason);
    }
    if (status == 206) {
        assert_int_equal(exchange.got, sizeof(buffer));
        assert_memory_equal(buffer, object + 7, sizeof(buffer));
    }
    sl_exchange_free(&exchange);
}

/* A response read to its end leaves the connection usable, whatever its status. */
TEST(connections_are_kept_after_any_answer)
{
    sl_engine_set_threads(1, 1);
    ask_by_script(NULL, 206);
    http_server_reset_counts(server);
    ask_by_script("chunked\n", 206);
    ask_by_script("interim\n", 206);
    ask_by_script("status=503 code=SlowDown\n", 503);
    ask_by_script("status=404 code=NoSuchKey\n", 404);
    ask_by_script("redirect=https://else.where/\n", 302);
    ask_by_script(NULL, 206);
    assert_int_equal(http_server_counts(server).requests, 6);
    assert_in_range(http_server_counts(server).connections, 0, 2); /* one per thread */
    sl_engine_set_threads(2, 2);
}

/* A server may close a connection while the next request is being sent. */
TEST(closed_connections_are_replaced)
{
    ask_by_script(NULL, 206);
    ask_by_script(NULL, 206); /* each thread has a connection */
    http_server_reset_counts(server);
    ask_by_script("close count=1\n", 206);
    assert_int_equal(http_server_counts(server).requests, 2);
    ask_by_script("no-length\n", 206); /* closes it */
    ask_by_script(NULL, 206);
    assert_int_equal(http_server_counts(server).requests, 4);
}

/* A connection that the server closes while it is idle gets no request at all. */
TEST(connections_that_rest_are_watched)
{
    uint8_t buffer[10];
    char address[64];
    http_server *other = http_server_start(&(http_server_config){.folder = NULL});
    const uint16_t port = http_server_port(other);
    (void)snprintf(address, sizeof(address), "%s/bucket/key", http_server_url(other));
    for (int i = 0; i < 2; i++) {
        http_server_put(other, "/bucket/key", object, sizeof(object));
        for (int k = 0; k < 4; k++) {
            sl_exchange exchange = ask_range(buffer, 0, sizeof(buffer));
            exchange.url = address;
            assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
            assert_int_equal(exchange.failed, 0);
            sl_exchange_free(&exchange);
        }
        assert_int_equal(http_server_counts(other).requests, 4);
        http_server_stop(other);
        other = i == 0 ? http_server_start(&(http_server_config){.port = port}) : NULL;
    }
}

/* ---- many at once ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    uint32_t done;
} many = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void many_done(sl_exchange *exchange)
{
    (void)exchange;
    sl_lock(&many.mutex);
    many.done++;
    sl_cond_signal(&many.cond);
    sl_unlock(&many.mutex);
}

static void wait_for_many(uint32_t count)
{
    sl_lock(&many.mutex);
    while (many.done < count) {
        sl_cond_wait(&many.cond, &many.mutex);
    }
    many.done = 0;
    sl_unlock(&many.mutex);
}

TEST(many_at_once)
{
    static sl_exchange exchanges[MANY];
    static uint8_t buffers[MANY][4000];
    http_server_script(server, "delay=20\n");
    http_server_reset_counts(server);
    sl_cond_init(&many.cond);
    for (uint32_t i = 0; i < MANY; i++) {
        exchanges[i] = ask_range(buffers[i], (uint64_t)i * 4000, 4000);
        exchanges[i].done = many_done;
        assert_int_equal(sl_engine_start(&exchanges[i], NULL), SLUICE_OK);
    }
    wait_for_many(MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(exchanges[i].failed, 0);
        assert_memory_equal(buffers[i], object + (size_t)i * 4000, 4000);
        sl_exchange_free(&exchanges[i]);
    }
    assert_true(http_server_counts(server).most_at_once > 8);
    assert_int_equal(sl_engine_threads(), 2);
}

/* ---- what goes wrong ---- */

typedef struct fault_row {
    const char *script;
    int failed, status;
} fault_row;

TEST(faults)
{
    static const fault_row rows[] = {
        {"truncate=100\n", -ECONNRESET, 206},
        {"reset=100\n", -ECONNRESET, 206},
        {"extra=10\n", -EFBIG, 206},
        {"ignore-range\n", -EFBIG, 200},
        {"endless-body\n", -EFBIG, 206},
        {"endless-headers\n", -EBADMSG, 206},
        {"huge-header=200000\n", -EBADMSG, 206},
        {"garbage\n", -EBADMSG, 0},
        {"close\n", -ECONNRESET, 0},
        {"stall-head\n", -ETIMEDOUT, 0},
        {"stall-body=100\n", -ETIMEDOUT, 206},
        {"shorten=10\n", 0, 206},
        {"interim\n", 0, 206},
        {"chunked\n", 0, 206},
        {"status=503 code=SlowDown retry-after=7\n", 0, 503},
    };
    uint8_t buffer[2000];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memset(buffer, 0xee, sizeof(buffer));
        sl_exchange exchange = ask_range(buffer, 0, 1000);
        exchange.stall_ns = rows[i].failed == -ETIMEDOUT ? 300 * MS : TEST_PATIENCE_NS;
        http_server_script(server, rows[i].script);
        assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
        if (exchange.failed != rows[i].failed ||
            (rows[i].status != 0 && rows[i].failed != -EBADMSG &&
             exchange.status != rows[i].status)) {
            fail_msg("%s: failed %d, status %d: %s", rows[i].script, exchange.failed,
                     exchange.status, exchange.reason);
        }
        assert_int_equal(exchange.reason[0] != '\0', exchange.failed != 0);
        for (size_t at = 1000; at < sizeof(buffer); at++) {
            assert_int_equal(buffer[at], 0xee);
        }
        sl_exchange_free(&exchange);
    }
    http_server_script(server, NULL);
}

TEST(words_of_the_server)
{
    uint8_t buffer[10];
    sl_exchange exchange = ask_range(buffer, 0, sizeof(buffer));
    http_server_script(server, "status=503 code=SlowDown retry-after=7\n");
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.status, 503);
    assert_int_equal(exchange.got, 0);
    assert_int_equal(exchange.retry_after_s, 7);
    assert_non_null(strstr(exchange.problem, "<Code>SlowDown</Code>"));
    assert_int_equal(strlen(exchange.problem), exchange.problem_bytes);
    sl_exchange_free(&exchange);

    exchange = ask_range(buffer, 0, sizeof(buffer));
    http_server_script(server, "redirect=https://else.where/a?b=c status=307\n");
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.failed, 0);
    assert_int_equal(exchange.status, 307);
    assert_string_equal(exchange.location, "https://else.where/a?b=c");
    sl_exchange_free(&exchange);
    http_server_script(server, NULL);
}

TEST(limit_of_time)
{
    uint8_t buffer[1000];
    sl_exchange exchange = ask_range(buffer, 0, sizeof(buffer));
    http_server_script(server, "drip=5\n");
    exchange.limit_ns = 200 * MS;
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.failed, -ETIMEDOUT);
    sl_exchange_free(&exchange);
    http_server_script(server, NULL);
}

/* An address without a listener, a name that does not exist, and a server that is not HTTP. */
TEST(no_server)
{
    uint8_t buffer[10];
    static const struct {
        const char *url;
        int failed;
    } rows[] = {
        {"http://127.0.0.1:1/bucket/key", -ECONNREFUSED},
        {"http://no-such-host.invalid/key", -EHOSTUNREACH},
        {"file:///etc/passwd", -EPERM},
        {"ftp://127.0.0.1/key", -EPERM},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sl_exchange exchange = {.url = rows[i].url, .buffer = buffer, .capacity = sizeof(buffer)};
        assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
        assert_int_equal(exchange.failed, rows[i].failed);
        assert_true(exchange.reason[0] != '\0');
        sl_exchange_free(&exchange);
    }
}

/* A redirect must not lead to this machine or its network, in any spelling. */
TEST(local_addresses_are_refused)
{
    static const char *const hosts[] = {
        "127.0.0.1",    "localhost", "a.localhost",        "127.1",       "0x7f.1",   "2130706433",
        "0.0.0.0",      "[::1]",     "[::ffff:127.0.0.1]", "169.254.1.1", "10.0.0.1", "192.168.1.1",
        "172.31.255.1", "[fe80::1]", "[fd00::1]"};
    uint8_t buffer[10];
    char to[256];
    uint8_t warm[10];
    sl_exchange before = ask_range(warm, 0, sizeof(warm)); /* leaves a reusable connection */
    assert_int_equal(sl_engine_run(&before, NULL), SLUICE_OK);
    sl_exchange_free(&before);
    http_server_reset_counts(server);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        (void)snprintf(to, sizeof(to), "http://%s:%u/bucket/key", hosts[i],
                       http_server_port(server));
        sl_exchange exchange = {
            .url = to, .refuses_local = true, .buffer = buffer, .capacity = sizeof(buffer)};
        assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
        if (exchange.failed != -EPERM) {
            fail_msg("%s: %d", to, exchange.failed);
        }
        sl_exchange_free(&exchange);
    }
    assert_int_equal(http_server_counts(server).requests, 0);
}

/* A cache node: the host is the store's, the address is not. */
TEST(address_of_a_node)
{
    uint8_t buffer[100];
    char address[64];
    sl_exchange exchange = ask_range(buffer, 0, sizeof(buffer));
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", http_server_port(server));
    exchange.url = "http://store.invalid/bucket/key";
    exchange.address = address;
    http_server_script(server, "host=store.invalid etag=\"seen\"\n");
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.failed, 0);
    assert_non_null(strstr(exchange.etag, "seen"));
    assert_memory_equal(buffer, object, sizeof(buffer));
    sl_exchange_free(&exchange);
    http_server_script(server, NULL);
}

TEST(methods)
{
    uint8_t buffer[1000];
    const char *const headers[] = {"X-Test: 1"};
    sl_exchange exchange = {.url = url,
                            .method = "PUT",
                            .headers = headers,
                            .header_count = 1,
                            .buffer = buffer,
                            .capacity = sizeof(buffer)};
    http_server_reset_counts(server);
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.status, 405);
    sl_exchange_free(&exchange);
    exchange.method = NULL;
    exchange.body = "text";
    exchange.body_bytes = 4;
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.status, 405);
    assert_int_equal(http_server_counts(server).kinds[HTTP_OTHER], 2);
    sl_exchange_free(&exchange);
}

/* The environment's proxy gets the request: here the server, which accepts any host. */
TEST(proxy)
{
    uint8_t buffer[1000];
    sl_exchange exchange = {
        .url = "http://store.invalid/bucket/key", .buffer = buffer, .capacity = sizeof(buffer)};
    assert_int_equal(setenv("http_proxy", http_server_url(server), 1), 0);
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(exchange.status, 200);
    assert_false(exchange.from_local); /* its origin is unknown */
    sl_exchange_free(&exchange);
}

/* ---- cancels, stops and timers ---- */

TEST(cancel)
{
    static sl_exchange exchanges[MANY];
    static uint8_t buffers[MANY][100];
    http_server_script(server, "stall-head\n");
    for (uint32_t i = 0; i < MANY; i++) {
        exchanges[i] = ask_range(buffers[i], 0, 100);
        exchanges[i].done = many_done;
        assert_int_equal(sl_engine_start(&exchanges[i], NULL), SLUICE_OK);
        if (i % 2 == 0) { /* usually before it is sent */
            sl_engine_cancel(&exchanges[i]);
        }
    }
    wait_for_many(MANY / 2);
    for (uint32_t i = 0; i < MANY; i++) {
        sl_engine_cancel(&exchanges[i]); /* half of them have finished */
    }
    wait_for_many(MANY / 2);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(exchanges[i].failed, -ECANCELED);
        sl_exchange_free(&exchanges[i]);
    }
    http_server_script(server, NULL);
}

static int32_t stop_at_once(void *user)
{
    (void)user;
    return 1;
}

TEST(stop)
{
    uint8_t buffer[100];
    sl_stop stop;
    sl_exchange exchange = ask_range(buffer, 0, sizeof(buffer));
    http_server_script(server, "stall-head\n");
    sl_stop_begin(&stop, stop_at_once, NULL);
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    sl_stop_end(&stop);
    assert_int_equal(exchange.failed, -ECANCELED);
    sl_exchange_free(&exchange);
    http_server_script(server, NULL);
}

static struct {
    sl_engine_timer timers[3];
    _Atomic uint32_t order[3];
    _Atomic uint32_t ticked;
} clockwork;

static void clockwork_tick(sl_engine_timer *timer)
{
    const uint32_t at = atomic_load(&clockwork.ticked);
    atomic_store(&clockwork.order[at], (uint32_t)(timer - clockwork.timers));
    atomic_store(&clockwork.ticked, at + 1);
    many_done(NULL);
}

TEST(timers)
{
    sl_engine_timer never = {.tick = clockwork_tick};
    const uint64_t after_ms[] = {60, 20, 40};
    sl_engine_set_threads(1, 1); /* one thread gives an order */
    assert_int_equal(sl_engine_after(&never, 3600000 * MS, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        clockwork.timers[i].tick = clockwork_tick;
        assert_int_equal(sl_engine_after(&clockwork.timers[i], after_ms[i] * MS, NULL), SLUICE_OK);
    }
    wait_for_many(3);
    assert_true(sl_engine_forget(&never));
    assert_false(sl_engine_forget(&never));
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(sl_engine_forget(&clockwork.timers[i]));
    }
    assert_int_equal(atomic_load(&clockwork.ticked), 3);
}

TEST_UNSANITIZED(idle_threads_use_no_cpu)
{
    const struct timespec half = {.tv_nsec = 500000000};
    const uint64_t before = test_cpu_ns();
    (void)nanosleep(&half, NULL);
    assert_in_range(test_cpu_ns() - before, 0, 20 * MS);
}

/* ---- processes ---- */

static int child_reads(void)
{
    uint8_t buffer[100];
    sl_exchange exchange = ask_range(buffer, 7, sizeof(buffer));
    return sl_engine_run(&exchange, NULL) == SLUICE_OK && exchange.failed == 0 &&
                   memcmp(buffer, object + 7, sizeof(buffer)) == 0
               ? 0
               : 1;
}

/* Calls exit() with requests in flight and with exit handlers of libraries. */
static int child_leaves(void)
{
    static sl_exchange exchanges[8];
    static uint8_t buffers[8][100];
    for (uint32_t i = 0; i < 8; i++) {
        exchanges[i] = ask_range(buffers[i], 0, 100);
        exchanges[i].done = many_done;
        if (sl_engine_start(&exchanges[i], NULL) != SLUICE_OK) {
            return 1;
        }
    }
    return 0;
}

static void in_child(int (*run)(void))
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        exit(run());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ThreadSanitizer rejects threads in such children. */
TEST_UNSANITIZED(children_have_their_own)
{
    in_child(child_reads);
    http_server_script(server, "stall-head\n");
    in_child(child_leaves);
    http_server_script(server, NULL);
    assert_int_equal(child_reads(), 0);
}

TEST_GROUP(begin, end)
