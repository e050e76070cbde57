/* SPDX-License-Identifier: Apache-2.0 */
/* Cancelled calls: who asks, which loops notice, and what ends with them. */
#include "clock.h"
#include "error.h"
#include "file.h"
#include "frame.h"
#include "inflate.h"
#include "memory.h"
#include "open_many.h"
#include "retry.h"
#include "stop.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

typedef struct asked {
    uint32_t times;
    uint32_t enough; /* the question from which on the answer is yes */
} asked;

static int32_t answer(void *user)
{
    asked *a = user;
    return ++a->times >= a->enough;
}

TEST(nothing_stops_a_thread_of_its_own)
{
    assert_null(sl_stop_of_thread());
    assert_false(sl_stop_requested());
    assert_int_equal(sl_stop_check("test", NULL), SLUICE_OK);
}

TEST(the_answer_is_kept)
{
    sl_stop stop;
    asked a = {.enough = 2};
    sluice_error error;
    sl_stop_begin(&stop, answer, &a);
    assert_ptr_equal(sl_stop_of_thread(), &stop.set);
    assert_false(sl_stop_ask());
    assert_true(sl_stop_ask());
    a.enough = UINT32_MAX; /* it cannot be undone */
    assert_true(sl_stop_ask());
    assert_int_equal(sl_stop_check("test", &error), SLUICE_CANCELED);
    assert_string_equal(error.text, "stopped");
    sl_stop_end(&stop);
    assert_false(sl_stop_requested());
}

/* A loop may check as often as it likes. */
TEST(questions_are_rare)
{
    sl_stop stop;
    asked a = {.enough = UINT32_MAX};
    sl_stop_begin(&stop, answer, &a);
    const uint64_t begin = sl_now_ns();
    for (uint32_t i = 0; i < 1000000; i++) {
        assert_false(sl_stop_requested());
    }
    const uint64_t passed_ns = sl_now_ns() - begin;
    sl_stop_end(&stop);
    assert_true(a.times >= 1 && a.times <= passed_ns / 50000000 + 1);
}

TEST(stops_nest)
{
    sl_stop outer;
    sl_stop inner;
    asked a = {.enough = 1};
    sl_stop_begin(&outer, NULL, NULL);
    sl_stop_begin(&inner, answer, &a);
    assert_true(sl_stop_ask());
    sl_stop_end(&inner);
    assert_false(sl_stop_ask());
    assert_ptr_equal(sl_stop_of_thread(), &outer.set);
    sl_stop_end(&outer);
    assert_null(sl_stop_of_thread());
}

TEST(a_wait_asks)
{
    sl_stop stop;
    asked a = {.enough = 3};
    pthread_mutex_t mutex;
    pthread_cond_t never;
    sl_mutex_init(&mutex);
    sl_cond_init(&never);
    sl_stop_begin(&stop, answer, &a);
    sl_lock(&mutex);
    while (!sl_stop_wait(&never, &mutex)) {
    }
    sl_unlock(&mutex);
    sl_stop_end(&stop);
    assert_int_equal(a.times, 3);
    sl_cond_destroy(&never);
    sl_mutex_destroy(&mutex);
}

/* ---- threads of opening ---- */

static sluice_status until_stopped(void *ctx, uint32_t number, sluice_error *error)
{
    atomic_uint *begun = ctx;
    (void)number;
    atomic_fetch_add(begun, 1);
    while (!sl_stop_requested()) {
        (void)usleep(1000);
    }
    return sl_stop_check("test", error);
}

TEST(all_threads_that_open_see_it)
{
    sl_stop stop;
    asked a = {.enough = 3};
    atomic_uint begun;
    sluice_error error;
    atomic_init(&begun, 0);
    sl_stop_begin(&stop, answer, &a);
    assert_int_equal(sl_open_many(100000, until_stopped, &begun, &error), SLUICE_CANCELED);
    sl_stop_end(&stop);
    assert_true(begun > 0 && begun < 100000); /* the others are not started */
}

/* ---- long operations ---- */

/* Makes bytes that compress a little, the same in each run. */
TEST_OWN_MEMORY static uint8_t *make_bytes(size_t count)
{
    uint8_t *bytes = malloc(count);
    uint32_t number = 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++) {
        number = number * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(number >> 29);
    }
    return bytes;
}

/* Values above the size from which they are packed and unpacked in slices. */
TEST(large_frames_are_the_same)
{
    enum { BYTES = (64 << 20) + 12345 };
    _Atomic bool flag;
    sluice_error error;
    size_t packed = 0;
    uint64_t size = 0;
    uint8_t *bytes = make_bytes(BYTES);
    uint8_t *frame = malloc(sl_frame_bound(BYTES));
    uint8_t *back = malloc(BYTES);
    if (frame == NULL || back == NULL) {
        abort();
    }
    assert_int_equal(sl_frame_pack((sl_bytes){bytes, BYTES}, 1, frame, &packed, &error), SLUICE_OK);
    assert_true(packed < BYTES);
    const sl_bytes made = {frame, packed};
    assert_int_equal(sl_frame_size(made, BYTES, &size, &error), SLUICE_OK);
    assert_int_equal(size, BYTES);
    atomic_init(&flag, false);
    (void)sl_stop_work_under(&flag);
    assert_int_equal(sl_frame_unpack_to(NULL, made, back, size, &error), SLUICE_OK);
    assert_memory_equal(back, bytes, BYTES);
    /* the missing byte belongs to the last block or to the checksum */
    assert_int_equal(sl_frame_unpack_to(NULL, (sl_bytes){frame, packed - 1}, back, size, &error),
                     SLUICE_CORRUPT);
    frame[packed / 2] ^= 1;
    memset(back, 0, BYTES);
    const sluice_status status = sl_frame_unpack_to(NULL, made, back, size, &error);
    assert_true(status == SLUICE_CORRUPT || memcmp(back, bytes, BYTES) != 0);
    assert_int_equal(sl_frame_unpack_to(NULL, (sl_bytes){frame, packed / 2}, back, size, &error),
                     SLUICE_CORRUPT);
    atomic_store(&flag, true);
    assert_int_equal(sl_frame_unpack_to(NULL, made, back, size, &error), SLUICE_CANCELED);
    assert_int_equal(sl_frame_pack((sl_bytes){bytes, BYTES}, 19, frame, &packed, &error),
                     SLUICE_CANCELED);
    (void)sl_stop_work_under(NULL);
    free(back);
    free(frame);
    free(bytes);
}

/* Bytes that no level compresses. */
TEST(a_large_frame_may_be_no_smaller)
{
    enum { BYTES = 3 << 20 };
    uint8_t *bytes = malloc(BYTES);
    uint8_t *frame = malloc(sl_frame_bound(BYTES));
    sluice_error error;
    uint64_t number = 1;
    size_t packed = 0;
    assert_true(bytes != NULL && frame != NULL);
    for (size_t i = 0; i < BYTES; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(number >> 56);
    }
    assert_int_equal(sl_frame_pack((sl_bytes){bytes, BYTES}, 3, frame, &packed, &error), SLUICE_OK);
    assert_true(packed >= BYTES && packed <= sl_frame_bound(BYTES));
    free(frame);
    free(bytes);
}

/* Setting the flag wakes no thread, and a thread woken in place of another may end. */
TEST(a_wait_under_a_flag_ends)
{
    pthread_mutex_t mutex;
    pthread_cond_t never;
    _Atomic bool flag;
    sl_mutex_init(&mutex);
    sl_cond_init(&never);
    atomic_init(&flag, true);
    (void)sl_stop_work_under(&flag);
    sl_lock(&mutex);
    assert_true(sl_stop_wait(&never, &mutex));
    sl_unlock(&mutex);
    (void)sl_stop_work_under(NULL);
    sl_cond_destroy(&never);
    sl_mutex_destroy(&mutex);
}

TEST(inflating_ends)
{
    enum { BYTES = 20 << 20 };
    _Atomic bool flag;
    sluice_error error;
    uint8_t *bytes = make_bytes(BYTES);
    uLongf packed = compressBound(BYTES);
    uint8_t *stream = malloc(packed);
    uint8_t *back = malloc(BYTES);
    assert_true(stream != NULL && back != NULL);
    assert_int_equal(compress2(stream, &packed, bytes, BYTES, 1), Z_OK);
    /* without zlib's two-byte header and four-byte checksum */
    const sl_deflated deflated = {.packed = {stream + 2, packed - 6},
                                  .bytes = BYTES,
                                  .crc = (uint32_t)crc32(0, bytes, BYTES)};
    atomic_init(&flag, false);
    (void)sl_stop_work_under(&flag);
    assert_int_equal(sl_inflate(&deflated, NULL, back, &error), SLUICE_OK);
    assert_memory_equal(back, bytes, BYTES);
    atomic_store(&flag, true);
    assert_int_equal(sl_inflate(&deflated, NULL, back, &error), SLUICE_CANCELED);
    (void)sl_stop_work_under(NULL);
    free(back);
    free(stream);
    free(bytes);
}

static ssize_t read_nothing(const void *from, void *to, size_t bytes, uint64_t offset)
{
    (void)from;
    (void)to;
    (void)bytes;
    (void)offset;
    return -EIO;
}

TEST(reads_and_their_retries_end)
{
    _Atomic bool flag;
    sluice_error error;
    char byte;
    sl_retry retry = {0};
    const sl_file_source source = {{"test", "path"}, read_nothing, NULL, true};
    atomic_init(&flag, true);
    (void)sl_stop_work_under(&flag);
    assert_int_equal(sl_file_read_from(&source, &byte, 1, 0, &error), SLUICE_CANCELED);
    assert_false(sl_retry_wait(&retry, EIO));
    (void)sl_stop_work_under(NULL);
    assert_int_equal(sl_file_read_from(&source, &byte, 1, 0, &error), SLUICE_IO);
}

#ifdef __SANITIZE_ADDRESS__ /* builds with assertions */
static void expect_abort(void (*run)(pthread_mutex_t *mutex))
{
    pthread_mutex_t mutex;
    int status = 0;
    sl_mutex_init(&mutex);
    const pid_t child = fork();
    if (child == 0) {
        run(&mutex);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    sl_mutex_destroy(&mutex);
}

static void lock_twice(pthread_mutex_t *mutex)
{
    sl_lock(mutex);
    sl_lock(mutex);
}

TEST(a_mutex_reports_who_does_not_hold_it)
{
    expect_abort(sl_unlock);
    expect_abort(lock_twice);
}
#endif
