/* SPDX-License-Identifier: Apache-2.0 */
/* world: runs the library's threads on one thread, in simulated time.
 *
 * Purpose: threads.c and clock.c of this folder replace src/base/thread.c and clock.c. Each
 * sl_thread is a fiber. At each lock, signal and wait, another fiber may run; the seed chooses
 * which. Time stands still while a fiber runs, except for a step at each of these points; when all
 * fibers wait, it jumps to the first deadline. Without a deadline, the simulation fails and reports
 * where each fiber waits. The same seed gives the same run: nothing else has an influence, except
 * pointers to real files before the first run. Thread-local variables of the program belong to the
 * fiber, like errno. Owner: one thread of the process, on which everything runs. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_fiber sim_fiber;

/* The fibers that wait for something. All zero: none. */
typedef struct sim_queue {
    sim_fiber *first;
} sim_queue;

/* The contents of a pthread mutex here, which is all zero at first. */
typedef struct sim_mutex {
    sim_fiber *owner;
    sim_queue waiting;
} sim_mutex;

/* Begins a run with another seed, at time 1 s, and alone: only the caller's fiber is left. */
void sim_begin(uint64_t seed);
/* Fails unless all fibers end by themselves within `ns` of simulated time and are joined.
 * `abandoned`: some may remain, since hung reads are not waited for. */
void sim_expect_end(uint64_t ns, bool abandoned);
/* Returns a number that two runs share only if all fibers did the same. */
uint64_t sim_trace(void);
void sim_trace_add(uint64_t value);
/* Returns how often any fiber reached a switch point. */
uint64_t sim_steps(void);
/* Returns the run's own generator. */
sim_draw *sim_run_draw(void);

/* Prints why and each fiber's place, and ends the process with status 1. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Sets sim_fail's description of the run. */
void sim_set_title(const char *title);
/* 1: prints the texts of sim_note; 2: each switch, too. */
void sim_set_verbose(uint32_t verbose);
void sim_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t sim_now(void);
/* Time that passed while every fiber waited, and the largest part of it that was intended: sleeps
 * of the simulation, and times passed to sim_excuse. */
uint64_t sim_idle(void);
uint64_t sim_excused(void);
void sim_excuse(uint64_t ns);
void sim_sleep(uint64_t ns);
void sim_sleep_until(uint64_t ns);
/* A switch point: another fiber may run. */
void sim_point(void);

sim_fiber *sim_start(const char *name, void (*run)(void *), void *argument);
void sim_join(sim_fiber *fiber);
void sim_detach(sim_fiber *fiber);
sim_fiber *sim_self(void);

void sim_lock(sim_mutex *mutex, const void *where);
void sim_unlock(sim_mutex *mutex);
/* Returns false if the deadline has passed. */
bool sim_wait(sim_queue *queue, sim_mutex *mutex, uint64_t deadline_ns, const void *where);
/* Waits without a mutex. */
void sim_wait_alone(sim_queue *queue, const char *what);
void sim_wake_one(sim_queue *queue);
void sim_wake_all(sim_queue *queue);

#endif
