/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world: the library's threads on one thread, and its time.
 *
 * Purpose: threads.c and clock.c of this folder take the place of src/base/thread.c and clock.c.
 * Each sl_thread is a fiber. Each lock, signal and wait is a place where another fiber may go on,
 * and the seed chooses which. Time stands still while a fiber runs, except for a step at each of
 * these places; where all fibers wait it jumps to the first deadline. If there is none the
 * simulation fails and says where each fiber waits. The same seed gives the same run: nothing else
 * is looked at, except pointers to files of this machine before the first run. Thread-local
 * variables of the program are the fiber's own, as errno is. Owner: one thread of the process, on
 * which all of it runs.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_fiber sim_fiber;

/* Those that wait for something. All zero: none. */
typedef struct sim_queue {
    sim_fiber *first;
} sim_queue;

/* What a mutex of pthread, which is all zero at first, has in it here. */
typedef struct sim_mutex {
    sim_fiber *owner;
    sim_queue waiting;
} sim_mutex;

/* Begins a run: another seed, at time 1 s. Alone: no fiber but the caller's is left. */
void sim_begin(uint64_t seed);
/* Fails unless all fibers end, by themselves, in `ns` of its time, and are joined; `abandoned`:
 * some may not be, since nobody waited for what hung. */
void sim_expect_end(uint64_t ns, bool abandoned);
/* A number that two runs share only if all fibers did the same. */
uint64_t sim_trace(void);
void sim_trace_add(uint64_t value);
/* How often any fiber came to a place where another could go on. */
uint64_t sim_steps(void);
/* A draw that belongs to the run. */
sim_draw *sim_run_draw(void);

/* Prints why and each fiber's place, and ends the process with status 1. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* What sim_fail says about the run. */
void sim_set_title(const char *title);
/* 1: prints the texts of sim_note; 2: each switch, too. */
void sim_set_verbose(uint32_t verbose);
void sim_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t sim_now(void);
/* Time that passed while every fiber waited; and what of it somebody meant to wait, at most: sleeps
 * of the simulation, and what they say themselves. */
uint64_t sim_idle(void);
uint64_t sim_excused(void);
void sim_excuse(uint64_t ns);
void sim_sleep(uint64_t ns);
void sim_sleep_until(uint64_t ns);
/* Another fiber may go on. */
void sim_point(void);

sim_fiber *sim_start(const char *name, void (*run)(void *), void *argument);
void sim_join(sim_fiber *fiber);
void sim_detach(sim_fiber *fiber);
sim_fiber *sim_self(void);

void sim_lock(sim_mutex *mutex, const void *where);
void sim_unlock(sim_mutex *mutex);
/* False: the deadline has passed. */
bool sim_wait(sim_queue *queue, sim_mutex *mutex, uint64_t deadline_ns, const void *where);
/* Without a mutex. */
void sim_wait_alone(sim_queue *queue, const char *what);
void sim_wake_one(sim_queue *queue);
void sim_wake_all(sim_queue *queue);

#endif
