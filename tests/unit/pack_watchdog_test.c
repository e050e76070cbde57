/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that threads waiting for one another are found, and that threads that are slow or have not
 * yet run are not. */
#include "clock.h"
#include "standstill.h"
#include "test.h"
#include "thread.h"

#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 300 };

/* Threads take turns, round after round. */
typedef struct ring {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    sl_standstill standstill;
    uint32_t turn, rounds;
    uint32_t lost_at;  /* the round after which no thread is woken */
    uint32_t pause_us; /* duration of a turn */
    bool deadlines;    /* waits time out and begin again */
    uint32_t ended;    /* threads that finished */
} ring;

typedef struct member {
    ring *of;
    uint32_t number;
    sl_thread thread;
} member;

static uint64_t deadline(const ring *r)
{
    return r->deadlines ? sl_now_ns() + 1000000 : UINT64_MAX;
}

static void run(void *argument)
{
    member *m = argument;
    ring *r = m->of;
    bool goes_on = true;
    sl_lock(&r->mutex);
    while (goes_on && r->rounds < ROUNDS) {
        if (r->turn != m->number) {
            goes_on = sl_standstill_wait(&r->standstill, &r->changed, &r->mutex, deadline(r));
            continue;
        }
        sl_unlock(&r->mutex);
        (void)usleep(r->pause_us);
        sl_lock(&r->mutex);
        r->rounds++;
        r->turn = r->rounds == r->lost_at ? THREADS : (r->turn + 1) % THREADS;
        sl_standstill_change(&r->standstill, &r->changed);
    }
    r->ended += goes_on;
    sl_standstill_leave(&r->standstill, &r->changed);
    sl_unlock(&r->mutex);
}

static void go_round(ring *r)
{
    member members[THREADS];
    memset(members, 0, sizeof(members));
    sl_mutex_init(&r->mutex);
    sl_cond_init(&r->changed);
    for (uint32_t i = 0; i < THREADS; i++) {
        sl_standstill_join(&r->standstill);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i].of = r;
        members[i].number = i;
        assert_int_equal(sl_thread_start(&members[i].thread, "member", run, &members[i], NULL),
                         SLUICE_OK);
        (void)usleep(i * 2000); /* the others wait for a thread not yet started */
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        sl_thread_join(&members[i].thread);
    }
    assert_int_equal(r->standstill.members, 0);
    sl_cond_destroy(&r->changed);
    sl_mutex_destroy(&r->mutex);
}

TEST(who_goes_on_is_left_alone)
{
    for (uint32_t kind = 0; kind < 4; kind++) {
        ring r = {.pause_us = kind % 2 != 0 ? 1000 : 0, .deadlines = kind / 2 != 0};
        go_round(&r);
        assert_false(r.standstill.found);
        assert_int_equal(r.rounds, ROUNDS);
        assert_int_equal(r.ended, THREADS);
    }
}

TEST(a_lost_turn_is_found)
{
    for (uint32_t kind = 0; kind < 4; kind++) {
        const uint32_t lost_at = kind % 2 != 0 ? 1 : ROUNDS / 2;
        ring r = {.lost_at = lost_at, .deadlines = kind / 2 != 0};
        go_round(&r);
        assert_true(r.standstill.found);
        assert_int_equal(r.rounds, lost_at);
        assert_int_equal(r.ended, 0);
    }
}

/* The last thread that could have changed anything exits. */
TEST(one_that_leaves_may_be_missed)
{
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    sl_standstill standstill = {.members = 0};
    sl_mutex_init(&mutex);
    sl_cond_init(&changed);
    sl_standstill_join(&standstill);
    sl_standstill_join(&standstill);
    sl_lock(&mutex);
    assert_true(sl_standstill_wait(&standstill, &changed, &mutex, sl_now_ns() + 1000000));
    sl_standstill_leave(&standstill, &changed);
    assert_false(sl_standstill_wait(&standstill, &changed, &mutex, UINT64_MAX));
    assert_false(sl_standstill_wait(&standstill, &changed, &mutex, UINT64_MAX));
    sl_unlock(&mutex);
    sl_cond_destroy(&changed);
    sl_mutex_destroy(&mutex);
}
