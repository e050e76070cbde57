/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded queue between threads, and the thread idioms under it. */
#include "clock.h"
#include "memory.h"
#include "queue.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define MS 1000000L

static bool refuse_memory;
static bool refuse_threads;

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
int __real_pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

void *__wrap_calloc(size_t count, size_t bytes)
{
    return refuse_memory ? NULL : __real_calloc(count, bytes);
}

int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return refuse_threads ? EAGAIN : __real_pthread_create(handle, attributes, run, argument);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

TEST(first_in_first_out)
{
    sl_queue queue;
    sluice_error error;
    assert_int_equal(sl_queue_open(&queue, 3, sizeof(int), &error), SLUICE_OK);
    int next_in = 0;
    int next_out = 0;
    for (int round = 0; round < 10; round++) { /* every head and fill level, with wrap-around */
        while (next_in - next_out < 3) {
            assert_int_equal(sl_queue_push(&queue, &next_in, 1), SLUICE_OK);
            next_in++;
        }
        assert_int_equal(queue.count, 3);
        for (int i = 0; i < 1 + round % 3; i++) {
            int item = -1;
            assert_int_equal(sl_queue_pop(&queue, &item), SLUICE_OK);
            assert_int_equal(item, next_out++);
        }
    }
    assert_int_equal(next_in - next_out, (int)queue.count);
    sl_queue_destroy(&queue);
}

TEST(close_drains_and_refuses)
{
    sl_queue queue;
    assert_int_equal(sl_queue_open(&queue, 2, sizeof(int), NULL), SLUICE_OK);
    int item = 5;
    assert_int_equal(sl_queue_push(&queue, &item, 1), SLUICE_OK);
    assert_int_equal(sl_queue_push(&queue, &item, 1), SLUICE_OK);
    sl_queue_close(&queue);
    sl_queue_close(&queue);
    assert_int_equal(sl_queue_push(&queue, &item, 1), SLUICE_CANCELED);
    item = 0;
    assert_int_equal(sl_queue_pop(&queue, &item), SLUICE_OK);
    assert_int_equal(item, 5);
    assert_int_equal(sl_queue_pop(&queue, &item), SLUICE_OK);
    assert_int_equal(sl_queue_pop(&queue, &item), SLUICE_CANCELED);
    sl_queue_destroy(&queue);
    sl_queue_destroy(&queue); /* zeroed */
}

TEST(depths_are_seen_at_each_pop)
{
    sl_queue queue;
    assert_int_equal(sl_queue_open(&queue, 4, sizeof(int), NULL), SLUICE_OK);
    for (int i = 0; i < 4; i++) {
        sl_queue_push(&queue, &i, 1);
    }
    for (int i = 0; i < 4; i++) {
        int item;
        sl_queue_pop(&queue, &item);
    }
    sl_queue_close(&queue);
    int item;
    assert_int_equal(sl_queue_pop(&queue, &item), SLUICE_CANCELED); /* no item, not counted */
    uint64_t bins[SL_DEPTH_BINS] = {[4] = 10};
    sl_queue_depths(&queue, bins);
    for (size_t i = 0; i < SL_DEPTH_BINS; i++) {
        const uint64_t expected = i == 4 ? 11 : i == 8 || i == 12 || i == 16;
        assert_int_equal(bins[i], expected);
    }
    sl_queue_destroy(&queue);
}

TEST(bins_are_sixteenths)
{
    for (size_t capacity = 1; capacity < 100; capacity++) {
        for (size_t depth = 0; depth < capacity; depth++) {
            assert_int_equal(sl_depth_bin(depth, capacity),
                             (size_t)(16.0 * (double)depth / (double)capacity));
        }
        assert_int_equal(sl_depth_bin(capacity, capacity), 16);
        assert_int_equal(sl_depth_bin(capacity + 1, capacity), 16);
    }
    sl_stage stage = {0};
    sl_stage_add(&stage, 30, 1);
    sl_stage_add(&stage, 12, 1);
    assert_int_equal(atomic_load(&stage.busy_ns), 42);
    assert_int_equal(atomic_load(&stage.items), 2);
}

TEST(no_memory_no_queue)
{
    sl_queue queue;
    sluice_error error;
    refuse_memory = true;
    const sluice_status status = sl_queue_open(&queue, 8, 8, &error);
    refuse_memory = false;
    assert_int_equal(status, SLUICE_NOMEM);
    assert_int_equal(error.status, SLUICE_NOMEM);
    sl_queue_destroy(&queue);
}

enum { PRODUCERS = 3, CONSUMERS = 3, ITEMS = 5000 };

/* Larger than a word, so that a torn copy is noticed. */
typedef struct item {
    uint64_t producer, number, check;
} item;

typedef struct worker {
    sl_queue *queue;
    uint64_t index;
    uint64_t last[PRODUCERS]; /* consumer: number + 1 of the last item of each producer */
    uint64_t count, sum, faults;
} worker;

static void produce(void *argument)
{
    worker *own = argument;
    for (uint64_t i = 0; i < ITEMS; i++) {
        const item made = {own->index, i, own->index * 1000003 + i};
        own->faults += sl_queue_push(own->queue, &made, 1) != SLUICE_OK;
    }
}

static void consume(void *argument)
{
    worker *own = argument;
    item got;
    while (sl_queue_pop(own->queue, &got) == SLUICE_OK) {
        own->count++;
        own->sum += got.check;
        own->faults += got.check != got.producer * 1000003 + got.number;
        /* The only consumer sees each producer's items in order. */
        own->faults += got.number + 1 <= own->last[got.producer];
        own->last[got.producer] = got.number + 1;
    }
}

TEST(many_threads_lose_nothing)
{
    sl_queue queue;
    assert_int_equal(sl_queue_open(&queue, 7, sizeof(item), NULL), SLUICE_OK);
    worker workers[PRODUCERS + CONSUMERS] = {{0}};
    sl_thread threads[PRODUCERS + CONSUMERS] = {{0}};
    for (size_t i = 0; i < PRODUCERS + CONSUMERS; i++) {
        workers[i].queue = &queue;
        workers[i].index = i;
        assert_int_equal(sl_thread_start(&threads[i], "queue-test",
                                         i < PRODUCERS ? produce : consume, &workers[i], NULL),
                         SLUICE_OK);
    }
    for (size_t i = 0; i < PRODUCERS; i++) {
        sl_thread_join(&threads[i]);
    }
    sl_queue_close(&queue);
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t faults = 0;
    for (size_t i = 0; i < PRODUCERS + CONSUMERS; i++) {
        sl_thread_join(&threads[i]);
        count += workers[i].count;
        sum += workers[i].sum;
        faults += workers[i].faults;
    }
    assert_int_equal(count, PRODUCERS * ITEMS);
    const uint64_t numbers = (uint64_t)ITEMS * (ITEMS - 1) / 2;
    assert_int_equal(sum, PRODUCERS * numbers + (uint64_t)ITEMS * 1000003 * (0 + 1 + 2));
    assert_int_equal(faults, 0);
    uint64_t bins[SL_DEPTH_BINS] = {0};
    sl_queue_depths(&queue, bins);
    uint64_t seen = 0;
    for (size_t i = 0; i < SL_DEPTH_BINS; i++) {
        seen += bins[i];
    }
    assert_int_equal(seen, count);
    sl_queue_destroy(&queue);
}

/* Threads that must all be present at the same time. */
typedef struct meeting {
    sl_queue queue;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t there;
    bool over, late;
} meeting;

static void take_and_meet(void *argument)
{
    meeting *own = argument;
    int value;
    if (sl_queue_pop(&own->queue, &value) == SLUICE_OK) {
        sl_lock(&own->mutex);
        own->there++;
        sl_cond_broadcast(&own->changed);
        while (own->there < 4 && !own->over) {
            sl_cond_wait(&own->changed, &own->mutex);
        }
        sl_unlock(&own->mutex);
    }
}

/* Returns in any case. */
static void wait_for_all(meeting *own)
{
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    bool late = false;
    sl_lock(&own->mutex);
    while (own->there < 4 && !late) {
        late = !sl_cond_wait_until(&own->changed, &own->mutex, deadline);
    }
    own->late = own->there < 4;
    own->over = true;
    sl_cond_broadcast(&own->changed);
    sl_unlock(&own->mutex);
    sl_queue_close(&own->queue);
}

/* Each thread keeps its item until the others have theirs, so no thread can take two. */
TEST(one_push_wakes_as_many_as_it_has_items_for)
{
    meeting met = {.there = 0};
    assert_int_equal(sl_queue_open(&met.queue, 4, sizeof(int), NULL), SLUICE_OK);
    sl_mutex_init(&met.mutex);
    sl_cond_init(&met.changed);
    sl_thread threads[4] = {{0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(sl_thread_start(&threads[i], "meet", take_and_meet, &met, NULL),
                         SLUICE_OK);
    }
    sl_sleep_until_ns(sl_now_ns() + 20 * MS); /* they are waiting by now */
    const int items[4] = {1, 2, 3, 4};
    assert_int_equal(sl_queue_push(&met.queue, items, 4), SLUICE_OK);
    wait_for_all(&met);
    for (size_t i = 0; i < 4; i++) {
        sl_thread_join(&threads[i]);
    }
    assert_false(met.late);
    sl_cond_destroy(&met.changed);
    sl_mutex_destroy(&met.mutex);
    sl_queue_destroy(&met.queue);
}

typedef struct waiter {
    sl_queue *queue;
    bool pushes;
    sluice_status status;
} waiter;

static void wait_in_queue(void *argument)
{
    waiter *own = argument;
    int value = 1;
    own->status =
        own->pushes ? sl_queue_push(own->queue, &value, 1) : sl_queue_pop(own->queue, &value);
}

TEST(close_wakes_all_that_wait)
{
    for (int pushes = 0; pushes < 2; pushes++) {
        sl_queue queue;
        assert_int_equal(sl_queue_open(&queue, 1, sizeof(int), NULL), SLUICE_OK);
        int value = 0;
        if (pushes) {
            assert_int_equal(sl_queue_push(&queue, &value, 1), SLUICE_OK);
        }
        waiter waiters[4];
        sl_thread threads[4] = {{0}};
        for (size_t i = 0; i < 4; i++) {
            waiters[i] = (waiter){&queue, pushes != 0, SLUICE_OK};
            assert_int_equal(sl_thread_start(&threads[i], "wait", wait_in_queue, &waiters[i], NULL),
                             SLUICE_OK);
        }
        sl_sleep_until_ns(sl_now_ns() + 20 * MS); /* most of them are waiting by now */
        sl_queue_close(&queue);
        for (size_t i = 0; i < 4; i++) {
            sl_thread_join(&threads[i]);
            assert_int_equal(waiters[i].status, SLUICE_CANCELED);
        }
        sl_queue_destroy(&queue);
    }
}

typedef struct glimpse {
    char name[32];
    sigset_t blocked;
} glimpse;

static void look(void *argument)
{
    glimpse *own = argument;
    pthread_getname_np(pthread_self(), own->name, sizeof(own->name));
    pthread_sigmask(SIG_SETMASK, NULL, &own->blocked);
}

TEST(threads_have_names_and_no_signals)
{
    glimpse seen;
    sl_thread thread = {0};
    sl_thread_join(&thread); /* never started */
    assert_int_equal(sl_thread_start(&thread, "a-name-that-is-too-long", look, &seen, NULL),
                     SLUICE_OK);
    assert_true(thread.running);
    sl_thread_join(&thread);
    assert_false(thread.running);
    assert_string_equal(seen.name, "a-name-that-is-");
    static const int blocked[] = {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGUSR1, SIGPIPE, SIGPROF};
    for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
        assert_int_equal(sigismember(&seen.blocked, blocked[i]), 1);
    }
    assert_int_equal(sigismember(&seen.blocked, SIGSEGV), 0);
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, NULL, &own);
    assert_int_equal(sigismember(&own, SIGINT), 0);
}

TEST(a_refused_thread_is_an_error)
{
    sl_thread thread = {0};
    sluice_error error;
    refuse_threads = true;
    const sluice_status status = sl_thread_start(&thread, "t", look, NULL, &error);
    refuse_threads = false;
    assert_int_equal(status, SLUICE_NOMEM);
    assert_int_equal(error.sys_errno, EAGAIN);
    sl_thread_join(&thread);
}

typedef struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool open;
} gate;

static void open_gate(void *argument)
{
    gate *own = argument;
    sl_lock(&own->mutex);
    own->open = true;
    sl_cond_broadcast(&own->cond);
    sl_unlock(&own->mutex);
}

TEST(waits_end_in_time_or_by_signal)
{
    gate own = {.open = false};
    sl_mutex_init(&own.mutex);
    sl_cond_init(&own.cond);
    sl_lock(&own.mutex);
    const uint64_t deadline = sl_deadline_ns(10 * MS);
    while (sl_cond_wait_until(&own.cond, &own.mutex, deadline)) {
    }
    assert_true(sl_now_ns() >= deadline);
    assert_false(sl_cond_wait_until(&own.cond, &own.mutex, 0)); /* long past */
    sl_thread thread = {0};
    assert_int_equal(sl_thread_start(&thread, "gate", open_gate, &own, NULL), SLUICE_OK);
    while (!own.open) {
        assert_true(sl_cond_wait_until(&own.cond, &own.mutex, sl_deadline_ns(-1)));
    }
    sl_unlock(&own.mutex);
    sl_thread_join(&thread);
    sl_cond_destroy(&own.cond);
    sl_mutex_destroy(&own.mutex);
}

TEST(clocks_go_forward)
{
    const uint64_t begin = sl_now_ns();
    const uint64_t cpu = sl_thread_cpu_ns();
    sl_sleep_until_ns(begin + 5 * MS);
    assert_true(sl_now_ns() >= begin + 5 * MS);
    volatile unsigned work = 0;
    while (sl_thread_cpu_ns() - cpu < MS) {
        work = work + 1;
    }
    sl_sleep_until_ns(0);
    assert_true(sl_deadline_ns(-1) == UINT64_MAX);
    assert_true(sl_deadline_ns(INT64_MAX) > (uint64_t)INT64_MAX);
    assert_true(sl_deadline_ns(0) >= begin);
}
