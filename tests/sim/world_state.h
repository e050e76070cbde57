/* SPDX-License-Identifier: Apache-2.0 */
/* world_state: the shared state of the world, for world.c (time, choice, locks), fibers.c (stacks,
 * variables, switching) and report.c only. */
#ifndef SIM_WORLD_STATE_H
#define SIM_WORLD_STATE_H

#include "world.h"

#include <setjmp.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#    define SIM_ASAN 1
#else
#    define SIM_ASAN 0
#endif

enum { SIM_FIBERS_MAX = 256 };

typedef enum fiber_state { FIBER_FREE, FIBER_READY, FIBER_WAITS, FIBER_ENDED } fiber_state;

struct sim_fiber {
    fiber_state state;
    uint32_t number; /* within the run */
    char name[16];
    void (*run)(void *);
    void *argument;
    bool begun, detached, late; /* late: its wait timed out */
    uint64_t deadline;          /* UINT64_MAX: none */
    uint32_t priority;
    /* The event that it waits for. */
    sim_queue *queue;
    sim_fiber *next;
    const char *what;
    const void *where;
    sim_queue joining;
    /* Its code position. */
    uint8_t *stack;
    uint8_t *tls;
    int error;
    ucontext_t context;
    jmp_buf jump;
    void *fake_stack;
};

/* How the next fiber is chosen. */
typedef enum world_strategy {
    CHOOSE_ANY,     /* each equally likely */
    CHOOSE_BY_RANK, /* the highest priority; priorities change randomly */
    CHOOSE_STARVING /* any except one that is rarely chosen */
} world_strategy;

typedef struct sim_world {
    uint32_t verbose;
    const char *title;
    sim_draw draw;
    uint64_t now, steps, trace, idle, excused;
    uint64_t first_deadline; /* no deadline is earlier */
    world_strategy strategy;
    uint32_t switch_permille, change_permille, spurious_permille, starved;
    uint32_t step_ns;
    sim_fiber fibers[SIM_FIBERS_MAX];
    uint32_t count; /* slots ever used */
    uint32_t next_number;
    sim_fiber *current;
    sim_fiber *left; /* ended, but not yet left */
    uint8_t *tls;    /* the program's thread-local variables in use */
    size_t tls_bytes;
    const uint8_t *tls_image; /* their initial values; zeros follow */
    size_t tls_image_bytes;
    const void *main_stack; /* ASan's */
    size_t main_stack_bytes;
} sim_world;

extern sim_world world;

/* world.c: waits in a queue, which may be NULL. Returns false if the deadline has passed. */
bool sim_block(sim_queue *queue, uint64_t deadline, const char *what, const void *where);

/* fibers.c: the first call makes main the first fiber. */
void sim_open_fibers(void);
/* Switches to the fiber; returns when a fiber switches back. */
void sim_switch_to(sim_fiber *to);

/* report.c */
void sim_watch_signals(void);
void sim_print_fibers(void);

#endif
