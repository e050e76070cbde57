/* SPDX-License-Identifier: Apache-2.0 */
/* The recording: rings, threads, and control while other threads write. */
#include "clock.h"
#include "memory.h"
#include "test.h"
#include "thread.h"
#include "trace.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, EVENTS = 64, ROUNDS = 50, NAME_ROOM = 16 };

static sluice_trace_event events[THREADS * EVENTS * 2];

static int clean_up(void **state)
{
    sl_trace_discard();
    return 0;
}

TEST_WITH(test_refusals, NULL, clean_up)
{
    assert_int_equal(sluice_trace_start(0, 1), SLUICE_INVALID);
    assert_int_equal(sluice_trace_start(1, 0), SLUICE_INVALID);
    assert_int_equal(sluice_trace_start(SL_TRACE_THREADS_MAX + 1, 1), SLUICE_INVALID);
    assert_int_equal(sluice_trace_start(1, SL_TRACE_EVENTS_MAX + 1), SLUICE_INVALID);
    assert_int_equal(sluice_trace_start(1, 1), SLUICE_OK);
    assert_int_equal(sluice_trace_start(1, 1), SLUICE_STATE);
    uint64_t lost = 9;
    sl_trace_moment(SLUICE_TRACE_FULL, 1, 1);
    assert_int_equal(sluice_trace_read(events, sizeof(events[0]), 1, &lost), 0); /* still running */
    assert_int_equal(lost, 0);
    sluice_trace_stop();
    sluice_trace_stop();
    assert_int_equal(sluice_trace_read(NULL, 0, 5, NULL), 1);
    assert_int_equal(sluice_trace_start(1, 1), SLUICE_OK);
}

TEST_WITH(test_nothing_when_off, NULL, clean_up)
{
    sl_trace_moment(SLUICE_TRACE_FULL, 1, 1);
    assert_int_equal(sluice_trace_read(NULL, 0, 0, NULL), 0);
    assert_int_equal(sluice_trace_start(1, 4), SLUICE_OK);
    sluice_trace_stop();
    sl_trace_moment(SLUICE_TRACE_FULL, 1, 1);
    assert_int_equal(sluice_trace_read(NULL, 0, 0, NULL), 0);
    sluice_trace_discard();
    sl_trace_moment(SLUICE_TRACE_FULL, 1, 1);
    char name[NAME_ROOM] = "x";
    sluice_trace_get_thread_name(0, name, sizeof(name));
    assert_string_equal(name, "");
}

/* The newest events are kept, in order; nothing is allocated meanwhile. */
TEST_WITH(test_ring, NULL, clean_up)
{
    assert_int_equal(sluice_trace_start(2, 4), SLUICE_OK);
    const uint64_t before = sl_memory_allocations();
    const uint64_t from = sl_now_ns();
    for (uint64_t i = 0; i < 11; i++) {
        sl_trace_moment(SLUICE_TRACE_TAKEN, i, (uint32_t)i + 100);
    }
    assert_int_equal(sl_memory_allocations(), before);
    sluice_trace_stop();
    uint64_t lost;
    assert_int_equal(sluice_trace_read(events, sizeof(events[0]), 3, &lost), 4);
    assert_int_equal(lost, 7);
    assert_int_equal(sluice_trace_read(events, sizeof(events[0]), 4, &lost), 4);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(events[i].ticket, 7 + i);
        assert_int_equal(events[i].slot, 107 + i);
        assert_int_equal(events[i].kind, SLUICE_TRACE_TAKEN);
        assert_int_equal(events[i].sample, -1);
        assert_true(events[i].begin_ns >= from && events[i].end_ns == events[i].begin_ns);
    }
}

/* Callers whose events are smaller or larger than the library's: each event is written in its
 * place, and nothing after it. */
TEST_WITH(test_stride, NULL, clean_up)
{
    enum { COUNT = 3, FULL = sizeof(sluice_trace_event), GUARD = 0xC3 };
    _Alignas(uint64_t) uint8_t capacity[COUNT * (FULL + 32)];
    assert_int_equal(sluice_trace_start(1, COUNT), SLUICE_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        sl_trace_moment(SLUICE_TRACE_TAKEN, i, (uint32_t)i);
    }
    sluice_trace_stop();
    assert_int_equal(sluice_trace_read(events, FULL, COUNT, NULL), COUNT);
    for (size_t bytes = 0; bytes <= FULL + 24; bytes += 4) {
        memset(capacity, GUARD, sizeof(capacity));
        assert_int_equal(
            sluice_trace_read((sluice_trace_event *)(void *)capacity, bytes, COUNT - 1, NULL),
            COUNT);
        for (size_t i = 0; i < sizeof(capacity); i++) {
            const size_t event = bytes > 0 ? i / bytes : COUNT;
            const size_t at = bytes > 0 ? i % bytes : 0;
            const uint8_t known = at < FULL ? ((const uint8_t *)&events[event % COUNT])[at] : 0;
            assert_int_equal(capacity[i], event < COUNT - 1 ? known : GUARD);
        }
    }
}

static void write_some(void *argument)
{
    const uint64_t first = *(const uint64_t *)argument;
    for (uint64_t i = 0; i < EVENTS; i++) {
        sl_trace_moment(SLUICE_TRACE_FULL, first + i, 0);
    }
}

static void run_threads(void)
{
    sl_thread threads[THREADS];
    uint64_t firsts[THREADS];
    memset(threads, 0, sizeof(threads));
    for (int i = 0; i < THREADS; i++) {
        firsts[i] = (uint64_t)i * 1000;
        assert_int_equal(sl_thread_start(&threads[i], "tracing", write_some, &firsts[i], NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        sl_thread_join(&threads[i]);
    }
}

TEST_WITH(test_threads, NULL, clean_up)
{
    assert_int_equal(sluice_trace_start(THREADS, EVENTS), SLUICE_OK);
    run_threads();
    sluice_trace_stop();
    uint64_t lost;
    assert_int_equal(sluice_trace_read(events, sizeof(events[0]), (size_t)THREADS * EVENTS, &lost),
                     THREADS * EVENTS);
    assert_int_equal(lost, 0);
    for (uint32_t i = 0; i < THREADS * EVENTS; i++) {
        assert_int_equal(events[i].thread, i / EVENTS);
        assert_int_equal(events[i].ticket % 1000, i % EVENTS);
    }
    char name[NAME_ROOM];
    sluice_trace_get_thread_name(THREADS - 1, name, sizeof(name));
    assert_string_equal(name, "tracing");
    sluice_trace_get_thread_name(THREADS, name, sizeof(name));
    assert_string_equal(name, "");
}

TEST_WITH(test_more_threads_than_rings, NULL, clean_up)
{
    assert_int_equal(sluice_trace_start(THREADS - 1, EVENTS), SLUICE_OK);
    run_threads();
    sluice_trace_stop();
    uint64_t lost;
    assert_int_equal(sluice_trace_read(NULL, 0, 0, &lost), (THREADS - 1) * EVENTS);
    assert_int_equal(lost, EVENTS);
}

static void write_until_told(void *argument)
{
    _Atomic bool *told = argument;
    /* Relaxed: it only ends the loop. */
    while (!atomic_load_explicit(told, memory_order_relaxed)) {
        sl_trace_moment(SLUICE_TRACE_FULL, 1, 2);
    }
}

/* Events are read whole while others write; a sanitizer checks the rest. */
TEST_WITH(test_control_while_writing, NULL, clean_up)
{
    sl_thread threads[2];
    _Atomic bool told = false;
    memset(threads, 0, sizeof(threads));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sl_thread_start(&threads[i], "w", write_until_told, &told, NULL), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(sluice_trace_start(2, EVENTS), SLUICE_OK);
        sl_sleep_until_ns(sl_now_ns() + 100000);
        sluice_trace_stop();
        const size_t count =
            sluice_trace_read(events, sizeof(events[0]), (size_t)THREADS * EVENTS, NULL);
        for (size_t i = 0; i < count; i++) {
            assert_true(events[i].ticket == 1 && events[i].slot == 2);
        }
        if (round % 2 == 0) {
            sluice_trace_discard();
        }
    }
    atomic_store_explicit(&told, true, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        sl_thread_join(&threads[i]);
    }
}

static int in_child(void)
{
    sl_trace_moment(SLUICE_TRACE_FULL, 3, 0);
    sluice_trace_stop();
    const bool right = sluice_trace_read(events, sizeof(events[0]), 1, NULL) == 0 &&
                       sluice_trace_start(1, 1) == SLUICE_STATE;
    sluice_trace_discard();
    return right ? 0 : 1;
}

TEST_WITH(test_forked_child, NULL, clean_up)
{
    assert_int_equal(sluice_trace_start(1, EVENTS), SLUICE_OK);
    sl_trace_moment(SLUICE_TRACE_FULL, 1, 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(in_child());
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sluice_trace_stop();
    assert_int_equal(sluice_trace_read(events, sizeof(events[0]), 1, NULL), 1);
}
