/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_answer: responses to range reads, as the engine receives them from a socket. Each is
 * received in one piece and in small pieces: both must end alike, and the stored part of a response
 * must fit.
 *
 * The first byte of an input chooses the pieces; the rest is what the server sends before it closes
 * the connection. */
#include "fuzz.h"

#include "engine_direct.h"
#include "memory.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

enum { CAPACITY = 64, PIECE = 60000 };

typedef struct result {
    int status, failed;
    size_t got, problem_bytes;
    uint8_t *buffer;
    char problem[SL_PROBLEM_BYTES];
    bool done;
} result;

static time_t no_date(const char *text, const time_t *now)
{
    (void)text;
    (void)now;
    return -1;
}

static const char *code_text(CURLcode code)
{
    return code != CURLE_OK ? "an error" : "none";
}

static CURLMcode remove_nothing(CURLM *multi, CURL *easy)
{
    (void)multi;
    (void)easy;
    return CURLM_OK;
}

/* The libcurl functions that the end of an exchange calls. */
static const sl_curl_calls calls = {.getdate = no_date,
                                    .easy_strerror = code_text,
                                    .multi_remove_handle = remove_nothing};

static void note_result(sl_exchange *exchange)
{
    result *of = exchange->ctx;
    fuzz_expect(!of->done, "an exchange ends once");
    fuzz_expect(exchange->failed != 0 || exchange->status >= 200, "an answer has a status");
    fuzz_expect(exchange->failed == 0 || exchange->reason[0] != '\0', "a failure has a reason");
    fuzz_expect(exchange->got <= exchange->capacity, "an answer fits");
    of->done = true;
    of->status = exchange->status;
    of->failed = exchange->failed;
    of->got = exchange->got;
    of->problem_bytes = exchange->problem_bytes;
    memcpy(of->problem, exchange->problem, sizeof(of->problem));
}

static void open_thread(sl_engine_thread *thread)
{
    thread->calls = &calls;
    thread->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fuzz_expect(thread->epoll_fd >= 0, "a descriptor");
    thread->resting_most = 1;
    pthread_mutex_init(&thread->mutex, NULL);
}

static void close_thread(sl_engine_thread *thread)
{
    sl_direct_close_resting(thread);
    pthread_mutex_destroy(&thread->mutex);
    sl_free((void *)thread->directs);
    (void)close(thread->epoll_fd);
}

/* A transfer whose request has been sent. */
static void open_transfer(sl_engine_thread *thread, sl_exchange *exchange, int fd)
{
    sl_transfer *transfer = sl_calloc(1, sizeof(*transfer));
    sl_direct *direct = sl_calloc(1, sizeof(*direct));
    thread->directs_count = (size_t)fd + 1;
    thread->directs = (sl_direct **)sl_calloc(thread->directs_count, sizeof(sl_direct *));
    fuzz_expect(transfer != NULL && direct != NULL && thread->directs != NULL, "memory");
    *transfer = (sl_transfer){.thread = thread, .exchange = exchange, .direct = direct};
    *direct = (sl_direct){.transfer = transfer,
                          .fd = fd,
                          .keeps = true,
                          .phase = SL_DIRECT_HEAD,
                          .input = sl_malloc(SL_DIRECT_INPUT_BYTES)};
    fuzz_expect(direct->input != NULL, "memory");
    thread->directs[fd] = direct;
    thread->active = exchange->transfer = transfer;
}

/* Receives a response in pieces of up to `most` bytes, with random sizes. */
static void receive(const uint8_t *data, size_t size, uint32_t most, result *of)
{
    int pair[2];
    uint32_t drawn = most;
    sl_engine_thread thread = {.look_ns = UINT64_MAX};
    fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
                "sockets");
    open_thread(&thread);
    *of = (result){.buffer = malloc(CAPACITY)};
    fuzz_expect(of->buffer != NULL, "memory");
    sl_exchange exchange = {.buffer = of->buffer,
                            .capacity = CAPACITY,
                            .done = note_result,
                            .ctx = of,
                            .has_bytes = true};
    sl_answer_clear(&exchange);
    open_transfer(&thread, &exchange, pair[0]);
    sl_direct *direct = exchange.transfer->direct;
    for (size_t at = 0; at < size && !of->done;) {
        drawn = drawn * 1664525U + 1013904223U;
        const size_t piece = 1 + (drawn >> 8) % most;
        const size_t bytes = piece < size - at ? piece : size - at;
        fuzz_expect(write(pair[1], data + at, bytes) == (ssize_t)bytes, "a piece is sent");
        at += bytes;
        sl_direct_receive(direct);
    }
    (void)close(pair[1]);
    if (!of->done) {
        sl_direct_receive(direct);
    }
    fuzz_expect(of->done, "an answer ends with its connection");
    close_thread(&thread);
    (void)close(pair[0]);
    sl_exchange_free(&exchange);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    result whole;
    result cut;
    if (size == 0) {
        return 0;
    }
    receive(data + 1, size - 1, PIECE, &whole);
    receive(data + 1, size - 1, 1 + data[0] + (uint32_t)(size / 1000), &cut);
    fuzz_expect(whole.failed == cut.failed && whole.status == cut.status, "pieces end alike");
    if (whole.failed == 0) {
        fuzz_expect(whole.got == cut.got && memcmp(whole.buffer, cut.buffer, whole.got) == 0,
                    "pieces have the same bytes");
        fuzz_expect(whole.problem_bytes == cut.problem_bytes &&
                        memcmp(whole.problem, cut.problem, whole.problem_bytes) == 0,
                    "pieces have the same reason");
    }
    free(whole.buffer);
    free(cut.buffer);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char *const seeds[] = {
        "\x05HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n"
        "ETag: \"a\"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\nhello",
        "\x01HTTP/1.1 206 ok\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n"
        "00A\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n",
        "\x09HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=\"next\"\r\n\r\n"
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 ok\r\nContent-Length: 2\r\n\r\nok",
        "\x40HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nthe end comes with the connection",
        "\x02HTTP/1.1 503 Slow Down\r\nContent-Length: 5\r\nContent-Length: 5\r\nRetry-After: 2\r\n"
        "Connection: close\r\n\r\nlater",
        "\x03HTTP/1.1 404 no\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
        "2\r\nno\r\n0\r\n\r\n",
        "\x07HTTP/1.1 302 moved\r\nLocation: https://else.where/\r\nX: a\r\n b\r\n"
        "Content-Length: 0\r\n\r\n",
        "\x11HTTP/1.1 304 same\nLast-Modified: 1 Jan 2000\n\nHTTP/1.1 200 extra\n\n",
        "\x21HTTP/1.1 206 ok\r\nContent-Length: 9223372036854775807\r\n\r\n" X50 X50,
        "\x21HTTP/1.1 206 ok\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n" X50 X50,
    };
    enum { SEEDS = sizeof(seeds) / sizeof(seeds[0]), LONG = 2 };
    if (index < SEEDS) {
        const size_t length = strlen(seeds[index]);
        memcpy(buffer, seeds[index], length);
        return length;
    }
    if (index >= SEEDS + LONG) {
        return 0;
    }
    /* headers at their limit, and past it */
    size_t at = (size_t)sprintf((char *)buffer, "\xffHTTP/1.1 200 ok\r\nX: ");
    const size_t bytes = index == SEEDS ? 65400 : 70000;
    memset(buffer + at, 'x', bytes);
    at += bytes;
    return at + (size_t)sprintf((char *)buffer + at, "\r\nContent-Length: 2\r\n\r\nok");
}
