/* SPDX-License-Identifier: Apache-2.0 */
/* Tests responses to range reads, byte by byte as a raw server sends them. */
#include "curl_library.h"
#include "engine.h"
#include "test.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANGE "HTTP/1.1 206 ok\r\nContent-Range: bytes 0-4/5\r\n"
#define HELLO RANGE "Content-Length: 5\r\n\r\nhello"

/* The server answers every request with these bytes, then closes the connection where required. */
static struct {
    pthread_mutex_t mutex;
    const char *text;
    size_t bytes;
    bool closes;
} answer = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint32_t connections;
static int listener;
static char url[64];
static pthread_t server;

static void set_answer(const char *text, size_t bytes, bool closes)
{
    pthread_mutex_lock(&answer.mutex);
    answer.text = text;
    answer.bytes = bytes;
    answer.closes = closes;
    pthread_mutex_unlock(&answer.mutex);
}

static void *connection_main(void *argument)
{
    const int fd = *(const int *)argument;
    char request[4096];
    size_t have = 0;
    bool goes_on = true;
    while (goes_on) {
        const ssize_t got = recv(fd, request + have, sizeof(request) - have, 0);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
        if (have < 4 || memcmp(request + have - 4, "\r\n\r\n", 4) != 0) {
            continue;
        }
        have = 0;
        pthread_mutex_lock(&answer.mutex);
        goes_on = send(fd, answer.text, answer.bytes, MSG_NOSIGNAL) == (ssize_t)answer.bytes &&
                  !answer.closes;
        pthread_mutex_unlock(&answer.mutex);
    }
    (void)close(fd);
    free(argument);
    return NULL;
}

static void *server_main(void *argument)
{
    (void)argument;
    for (;;) {
        pthread_t thread;
        int *fd = malloc(sizeof(*fd));
        if (fd == NULL) {
            abort();
        }
        *fd = accept(listener, NULL, NULL);
        if (*fd < 0) {
            free(fd);
            return NULL;
        }
        atomic_fetch_add(&connections, 1);
        if (pthread_create(&thread, NULL, connection_main, fd) != 0) {
            abort();
        }
        (void)pthread_detach(thread);
    }
}

static int begin(void **state)
{
    (void)state;
    const sl_curl_calls *calls;
    sluice_error error;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/key", ntohs(address.sin_port));
    sl_engine_set_threads(1, 1);
    return pthread_create(&server, NULL, server_main, NULL);
}

static int end(void **state)
{
    (void)state;
    (void)shutdown(listener, SHUT_RDWR);
    (void)pthread_join(server, NULL);
    return close(listener);
}

static uint8_t buffer[5];

static sl_exchange ask(void)
{
    memset(buffer, 0, sizeof(buffer));
    return (sl_exchange){
        .url = url, .has_bytes = true, .last = 4, .buffer = buffer, .capacity = sizeof(buffer)};
}

/* `failed`: the exchange's error; 0: the response is "hello". */
static void expect_answer(const char *text, size_t bytes, bool closes, int failed)
{
    set_answer(text, bytes, closes);
    sl_exchange exchange = ask();
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    if (exchange.failed != failed) {
        fail_msg("%s: failed %d: %s", text, exchange.failed, exchange.reason);
    }
    if (failed == 0) {
        assert_int_equal(exchange.status, 206);
        assert_int_equal(exchange.got, 5);
        assert_memory_equal(buffer, "hello", 5);
    }
    sl_exchange_free(&exchange);
}

typedef struct answer_case {
    const char *text;
    size_t bytes;
} answer_case;

#define CASE(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }

/* Intermediaries may read these differently, and then see other responses. */
TEST(heads_that_can_be_framed_in_two_ways_are_refused)
{
    static const answer_case cases[] = {
        CASE(RANGE "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5, 5\r\n\r\nhello"),
        CASE(RANGE "Content-Length: -5\r\n\r\nhello"),
        CASE(RANGE "Content-Length: +5\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 0x5\r\n\r\nhello"),
        CASE(RANGE "Content-Length: \r\n\r\nhello"),
        CASE(RANGE "Content-Length: 18446744073709551621\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\n 0\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\nhello"),
        CASE(RANGE "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: chunked\r\n\r\n100000000000000005\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: chunked\r\n\r\n5\r\nhellox\r\n0\r\n\r\n"),
        CASE(RANGE "Content-Length: 5\r\nX\0: a\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\nno colon\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\nHTTP/1.1 206 x:\r\n\r\nhello"),
        CASE("HTTP/2 206 ok\r\nContent-Length: 5\r\n\r\nhello"),
        CASE("HTTP/1.1 2060 ok\r\nContent-Length: 5\r\n\r\nhello"),
        CASE("HTTP/1.1 101 ok\r\nContent-Length: 5\r\n\r\nhello"),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_answer(cases[i].text, cases[i].bytes, true, -EBADMSG);
    }
}

static void expect_connections(const answer_case *answers, size_t count, uint32_t each)
{
    for (size_t i = 0; i < count; i++) {
        expect_answer(answers[i].text, answers[i].bytes, false, 0);
        atomic_store(&connections, 0);
        expect_answer(HELLO, sizeof(HELLO) - 1, false, 0);
        if (atomic_load(&connections) != each) {
            fail_msg("%s: the next request has %u connections", answers[i].text,
                     atomic_load(&connections));
        }
    }
}

TEST(odd_heads_that_all_programs_read_alike_are_read)
{
    static const answer_case cases[] = {
        CASE(HELLO),
        CASE(RANGE "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
        CASE(RANGE "content-length:\t 5 \r\n\r\nhello"),
        CASE("HTTP/1.1 206\nContent-Length: 5\n\nhello"),
        CASE(RANGE "X: a\r\n Content-Length: 7\r\nContent-Length: 5\r\n\r\nhello"),
        CASE(RANGE "TRANSFER-ENCODING: Chunked \r\n\r\n"
                   "002;a=\"b\"\r\nhe\r\n3 \r\nllo\r\n0\r\nContent-Length: 9\r\nX\r\n\r\n"),
        CASE("HTTP/1.1 103 a\r\nContent-Length: 7\r\n\r\nHTTP/1.1 100 b\r\n\r\n" HELLO),
    };
    expect_connections(cases, sizeof(cases) / sizeof(cases[0]), 0);
}

/* The response is correct, but bytes after it might not belong to the next one. */
TEST(connections_of_doubtful_answers_are_not_used_again)
{
    static const answer_case cases[] = {
        CASE(RANGE
             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5\r\nhello\r\n0\r\n\r\n"),
        CASE(RANGE "Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\nX: a\rTransfer-Encoding: chunked\r\n\r\nhello"),
        CASE(RANGE "Content-Length: 5\r\nConnection: x, Close\r\n\r\nhello"),
        CASE("HTTP/1.0 206 ok\r\nContent-Length: 5\r\n\r\nhello"),
        CASE(HELLO "HTTP/1.1 206 ok\r\nContent-Length: 5\r\n\r\nother"),
    };
    expect_connections(cases, sizeof(cases) / sizeof(cases[0]), 1);
    expect_answer(RANGE "\r\nhello", sizeof(RANGE "\r\nhello") - 1, true, 0);
}

/* ---- an answer that nobody asked for ---- */

static sem_t finished;
static sl_exchange second;
static uint8_t second_buffer[5];

static void post_finished(sl_exchange *exchange)
{
    (void)exchange;
    (void)sem_post(&finished);
}

/* Runs on the engine's thread, which has not waited for the socket since. */
static void ask_again(sl_exchange *exchange)
{
    (void)exchange;
    set_answer(HELLO, sizeof(HELLO) - 1, false);
    if (sl_engine_start(&second, NULL) != SLUICE_OK) {
        abort();
    }
}

/* The first response is padded to end at a system call's limit in the engine: the second one stays
 * in the socket. */
TEST(two_answers_to_one_request_are_not_the_next_ones)
{
    enum { RECEIVED = 4096 };
    static const char head[] = "HTTP/1.1 206 ok\r\nContent-Length: 5\r\nX: ";
    static const char body[] = "\r\n\r\nhello";
    static const char more[] = "HTTP/1.1 206 ok\r\nContent-Length: 5\r\n\r\nother";
    static char two[RECEIVED + sizeof(more) - 1];
    memset(two, 'x', sizeof(two));
    memcpy(two, head, sizeof(head) - 1);
    memcpy(two + RECEIVED - (sizeof(body) - 1), body, sizeof(body) - 1);
    memcpy(two + RECEIVED, more, sizeof(more) - 1);
    assert_int_equal(sem_init(&finished, 0, 0), 0);
    set_answer(two, sizeof(two), false);
    sl_exchange first = ask();
    first.done = ask_again;
    second = ask();
    second.buffer = second_buffer;
    second.done = post_finished;
    assert_int_equal(sl_engine_start(&first, NULL), SLUICE_OK);
    while (sem_wait(&finished) != 0) {
    }
    assert_int_equal(first.failed, 0);
    assert_int_equal(second.failed, 0);
    assert_memory_equal(buffer, "hello", 5);
    assert_memory_equal(second_buffer, "hello", 5);
    sl_exchange_free(&first);
    sl_exchange_free(&second);
    (void)sem_destroy(&finished);
}

TEST_GROUP(begin, end)
