/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SIM_ASAN 1
#else
#define SIM_ASAN 0
#endif

enum { FIBERS_MAX = 256, STACK_BYTES = 512 << 10, GUARD_BYTES = 64 << 10, TLS_MAX = 64 << 10 };

/* A wait that is worth a note. */
#define LONG_NS  UINT64_C(50000000)
#define VAIN_MOST_NS UINT64_C(10000000000)
#define BEGIN_NS UINT64_C(1000000000)
/* A run that takes more steps is endless. */
#define STEPS_MAX UINT64_C(20000000)

typedef enum fiber_state { FIBER_FREE, FIBER_READY, FIBER_WAITS, FIBER_ENDED } fiber_state;

struct sim_fiber {
    fiber_state state;
    uint32_t number; /* of the run */
    char name[16];
    void (*run)(void *);
    void *argument;
    bool begun, detached, late; /* late: what it waited for did not come in time */
    uint64_t deadline;          /* UINT64_MAX: none */
    uint32_t priority;
    /* What it waits for. */
    sim_queue *queue;
    sim_fiber *next;
    const char *what;
    const void *where;
    sim_queue joining;
    /* Its place. */
    uint8_t *stack;
    uint8_t *tls;
    int error;
    ucontext_t context;
    jmp_buf jump;
    void *fake_stack;
};

/* How the next fiber is chosen. */
typedef enum world_strategy {
    CHOOSE_ANY,     /* each as likely */
    CHOOSE_BY_RANK, /* the one of the highest priority; priorities change at random */
    CHOOSE_STARVING /* any but one that is hardly ever chosen */
} world_strategy;

typedef struct sim_world {
    uint32_t verbose;
    const char *title;
    sim_draw draw;
    uint64_t now, steps, trace, idle, excused;
    uint64_t first_deadline; /* none is earlier */
    world_strategy strategy;
    uint32_t switch_permille, change_permille, spurious_permille, starved;
    uint32_t step_ns;
    sim_fiber fibers[FIBERS_MAX];
    uint32_t count; /* places that were ever used */
    uint32_t next_number;
    sim_fiber *current;
    sim_fiber *left; /* ended, and not left yet */
    uint8_t *tls;    /* of the program, where they are used */
    size_t tls_bytes;
    const uint8_t *tls_image; /* what they are at first, but for zeros behind it */
    size_t tls_image_bytes;
    const void *main_stack; /* ASan's */
    size_t main_stack_bytes;
} sim_world;

static sim_world world;

/* ---- thread-local variables ---- */

static int find_tls(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            world.tls = info->dlpi_tls_data;
            world.tls_bytes = info->dlpi_phdr[i].p_memsz;
            world.tls_image =
                (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            world.tls_image_bytes = info->dlpi_phdr[i].p_filesz;
        }
    }
    return 1; /* the program itself comes first */
}

/* A crash says which seed it is of. */
static void on_signal(int number)
{
    char text[512];
    const int bytes =
        snprintf(text, sizeof(text), "sim: FAILED: signal %d\nsim: %s, step %llu, fiber %u %s\n",
                 number, world.title != NULL ? world.title : "", (unsigned long long)world.steps,
                 world.current->number, world.current->name);
    if (write(STDERR_FILENO, text, bytes > 0 ? (size_t)bytes : 0) < 0) {
        _exit(2);
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void watch_signals(void)
{
    static uint8_t stack[64 << 10];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    (void)sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!SIM_ASAN || numbers[i] == SIGABRT) { /* ASan says more */
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

static void open_world(void)
{
    sim_fiber *self = &world.fibers[0];
    (void)dl_iterate_phdr(find_tls, NULL);
    if (world.tls_bytes > TLS_MAX) {
        (void)fprintf(stderr, "sim: %zu bytes of thread-local variables\n", world.tls_bytes);
        abort();
    }
    watch_signals();
    world.count = 1;
    world.now = BEGIN_NS;
    world.first_deadline = UINT64_MAX;
    world.switch_permille = 100;
    world.step_ns = 100;
    *self = (sim_fiber){.state = FIBER_READY, .name = "main", .begun = true, .deadline = UINT64_MAX};
    self->tls = malloc(TLS_MAX);
    world.current = self;
    if (self->tls == NULL) {
        abort();
    }
}

sim_fiber *sim_self(void)
{
    if (world.current == NULL) {
        open_world();
    }
    return world.current;
}

/* ---- reports ---- */

void sim_set_title(const char *title)
{
    world.title = title;
}

void sim_set_verbose(uint32_t verbose)
{
    world.verbose = verbose;
}

void sim_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (world.verbose > 0) {
        (void)vfprintf(stderr, format, arguments);
    }
    va_end(arguments);
}

/* The file that the program is, and where it begins. */
static int find_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(uintptr_t *)ctx = info->dlpi_addr;
    return 1;
}

/* Functions of the places, by addr2line where there is one. */
static void print_places(void)
{
    char command[8192];
    char self[512];
    uintptr_t base = 0;
    (void)dl_iterate_phdr(find_base, &base);
    const ssize_t bytes = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[bytes > 0 ? bytes : 0] = '\0';
    int length = snprintf(command, sizeof(command), "addr2line -f -p -s -e %s", self);
    for (uint32_t i = 0; i < world.count; i++) {
        const sim_fiber *fiber = &world.fibers[i];
        if (fiber->state == FIBER_WAITS && fiber->where != NULL && length < 8000) {
            length += snprintf(command + length, sizeof(command) - (size_t)length, " %#lx",
                               (unsigned long)((uintptr_t)fiber->where - base));
        }
    }
    (void)fflush(stdout);
    (void)fflush(stderr);
    if (system(command) != 0) { // NOLINT(cert-env33-c,concurrency-mt-unsafe): a report
        (void)fprintf(stderr, "sim: %s\n", command);
    }
}

static void print_fibers(void)
{
    for (uint32_t i = 0; i < world.count; i++) {
        const sim_fiber *fiber = &world.fibers[i];
        if (fiber->state == FIBER_WAITS) {
            (void)fprintf(stderr, "  %u %s waits for %s until %lld us\n", fiber->number,
                          fiber->name, fiber->what,
                          fiber->deadline == UINT64_MAX ? -1
                                                        : (long long)(fiber->deadline / 1000));
        } else if (fiber->state == FIBER_READY) {
            (void)fprintf(stderr, "  %u %s %s\n", fiber->number, fiber->name,
                          fiber == world.current ? "runs" : "is ready");
        }
    }
}

void sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "sim: FAILED: ");
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "\nsim: %s, step %llu, %llu us\n", world.title != NULL ? world.title : "",
                  (unsigned long long)world.steps, (unsigned long long)(world.now / 1000));
    print_fibers();
    print_places();
    _exit(1);
}

/* ---- time and choice ---- */

/* Those whose time has come are ready. */
static void take_out(sim_fiber *fiber)
{
    sim_fiber **at = &fiber->queue->first;
    while (*at != fiber) {
        at = &(*at)->next;
    }
    *at = fiber->next;
    fiber->queue = NULL;
    fiber->next = NULL;
}

static void make_ready(sim_fiber *fiber, bool late)
{
    if (fiber->queue != NULL) {
        take_out(fiber);
    }
    fiber->state = FIBER_READY;
    fiber->deadline = UINT64_MAX;
    fiber->late = late;
}

static void fire(void)
{
    world.first_deadline = UINT64_MAX;
    for (uint32_t i = 0; i < world.count; i++) {
        sim_fiber *fiber = &world.fibers[i];
        if (fiber->state != FIBER_WAITS) {
            continue;
        }
        if (fiber->deadline <= world.now) {
            make_ready(fiber, true);
        } else if (fiber->deadline < world.first_deadline) {
            world.first_deadline = fiber->deadline;
        }
    }
}

static sim_fiber *choose_of(sim_fiber *const *ready, uint32_t count)
{
    if (world.strategy == CHOOSE_BY_RANK) {
        sim_fiber *best = ready[0];
        for (uint32_t i = 1; i < count; i++) {
            best = ready[i]->priority > best->priority ? ready[i] : best;
        }
        if (sim_chance(&world.draw, world.change_permille)) {
            best->priority = sim_below(&world.draw, 1000);
        }
        return best;
    }
    sim_fiber *one = ready[sim_below(&world.draw, count)];
    if (world.strategy == CHOOSE_STARVING && one->number % 16 == world.starved &&
        sim_below(&world.draw, 64) != 0) {
        one = ready[sim_below(&world.draw, count)];
    }
    return one;
}

static bool any_ready(void)
{
    bool any = false;
    for (uint32_t i = 0; i < world.count; i++) {
        any = any || world.fibers[i].state == FIBER_READY;
    }
    return any;
}

/* Which fiber ends a long wait of all. */
static void note_jump(void)
{
    const uint64_t ns = world.first_deadline - world.now;
    if (ns > LONG_NS && world.verbose > 1) {
        print_fibers();
    }
    for (uint32_t i = 0; i < world.count && ns > LONG_NS; i++) {
        if (world.fibers[i].state == FIBER_WAITS &&
            world.fibers[i].deadline == world.first_deadline) {
            sim_note("%llu us: all wait for %llu us, %s for %s\n",
                     (unsigned long long)(world.now / 1000), (unsigned long long)(ns / 1000),
                     world.fibers[i].name, world.fibers[i].what);
        }
    }
}

/* Sooner than sim_run would notice: what never comes is waited for in slices, for ever. */
static void check_vain(void)
{
    if (world.idle > world.excused + VAIN_MOST_NS) {
        sim_fail("waited for nothing: %llu ms, of which %llu have a reason",
                 (unsigned long long)(world.idle / 1000000),
                 (unsigned long long)(world.excused / 1000000));
    }
}

/* Who goes on. */
static sim_fiber *choose(void)
{
    sim_fiber *ready[FIBERS_MAX];
    for (;;) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < world.count; i++) {
            if (world.fibers[i].state == FIBER_READY) {
                ready[count++] = &world.fibers[i];
            }
        }
        if (count > 0) {
            return count == 1 ? ready[0] : choose_of(ready, count);
        }
        fire(); /* what was the first deadline may be nobody's any more */
        if (any_ready()) {
            continue;
        }
        if (world.first_deadline == UINT64_MAX) {
            sim_fail("deadlock: every fiber waits for another");
        }
        note_jump();
        check_vain();
        world.idle += world.first_deadline - world.now;
        world.now = world.first_deadline;
        fire();
    }
}

uint64_t sim_trace(void)
{
    return world.trace;
}

void sim_trace_add(uint64_t value)
{
    world.trace = sim_mix(world.trace ^ value) + value;
}

uint64_t sim_steps(void)
{
    return world.steps;
}

sim_draw *sim_run_draw(void)
{
    return &world.draw;
}

uint64_t sim_now(void)
{
    world.now += 20;
    return world.now;
}

/* ---- switching ---- */

static void free_left(void)
{
    if (world.left != NULL) {
        world.left->state = FIBER_FREE; /* its stack and variables stay for the next one */
        world.left = NULL;
    }
}

static void arrive(sim_fiber *self)
{
#if SIM_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &bytes);
    if (world.main_stack == NULL) { /* the first switch leaves main */
        world.main_stack = bottom;
        world.main_stack_bytes = bytes;
    }
#endif
    memcpy(world.tls, self->tls, world.tls_bytes);
    free_left();
    errno = self->error;
}

static void fiber_main(void)
{
    sim_fiber *self = world.current;
    arrive(self);
    self->run(self->argument);
    self->state = FIBER_ENDED;
    sim_wake_all(&self->joining);
    if (self->detached) {
        world.left = self;
    }
    sim_point();
    abort(); /* nobody comes back to one that has ended */
}

static void leave_for(sim_fiber *from, sim_fiber *to)
{
#if SIM_ASAN
    const bool is_main = to == &world.fibers[0];
    __sanitizer_start_switch_fiber(from->state == FIBER_ENDED ? NULL : &from->fake_stack,
                                   is_main ? world.main_stack : to->stack + GUARD_BYTES,
                                   is_main ? world.main_stack_bytes : STACK_BYTES);
#endif
    if (to->begun) {
        _longjmp(to->jump, 1);
    }
    to->begun = true;
    (void)from;
    (void)setcontext(&to->context);
    abort();
}

static void switch_to(sim_fiber *to)
{
    sim_fiber *from = world.current;
    if (to == from) {
        return;
    }
    sim_trace_add(to->number);
    if (world.verbose > 1) {
        (void)fprintf(stderr, "%llu us: %u %s -> %u %s\n", (unsigned long long)(world.now / 1000),
                      from->number, from->name, to->number, to->name);
    }
    memcpy(from->tls, world.tls, world.tls_bytes);
    from->error = errno;
    world.current = to;
    if (_setjmp(from->jump) == 0) {
        leave_for(from, to);
    }
    arrive(world.current);
}

static void step(void)
{
    world.now += world.step_ns;
    if (++world.steps > STEPS_MAX) {
        sim_fail("endless: %llu steps", (unsigned long long)world.steps);
    }
    if (world.first_deadline <= world.now) {
        fire();
    }
}

void sim_point(void)
{
    const sim_fiber *self = sim_self();
    step();
    if (self->state == FIBER_ENDED || sim_chance(&world.draw, world.switch_permille)) {
        switch_to(choose());
    }
}

/* Waits in a queue, which may be NULL. False: the deadline has passed. */
static bool block(sim_queue *queue, uint64_t deadline, const char *what, const void *where)
{
    sim_fiber *self = sim_self();
    step();
    self->queue = queue;
    if (queue != NULL) {
        self->next = queue->first;
        queue->first = self;
    }
    self->state = FIBER_WAITS;
    self->deadline = deadline;
    self->what = what;
    self->where = where;
    self->late = false;
    if (deadline < world.first_deadline) {
        world.first_deadline = deadline;
    }
    switch_to(choose());
    if (self->state == FIBER_WAITS) {
        sim_fail("fiber %s goes on, and waits", self->name);
    }
    return !self->late;
}

void sim_sleep_until(uint64_t ns)
{
    if (ns > world.now) {
        (void)block(NULL, ns, "a time", __builtin_return_address(0));
    }
}

uint64_t sim_idle(void)
{
    return world.idle;
}

uint64_t sim_excused(void)
{
    return world.excused;
}

void sim_excuse(uint64_t ns)
{
    world.excused += ns;
}

void sim_sleep(uint64_t ns)
{
    sim_excuse(ns);
    sim_sleep_until(world.now + ns);
}

/* ---- locks and signals ---- */

void sim_wake_all(sim_queue *queue)
{
    while (queue->first != NULL) {
        make_ready(queue->first, false);
    }
}

void sim_wake_one(sim_queue *queue)
{
    uint32_t count = 0;
    for (const sim_fiber *one = queue->first; one != NULL; one = one->next) {
        count++;
    }
    if (count > 0) {
        sim_fiber *one = queue->first;
        for (uint32_t i = sim_below(&world.draw, count); i > 0; i--) {
            one = one->next;
        }
        make_ready(one, false);
    }
}

void sim_lock(sim_mutex *mutex, const void *where)
{
    sim_fiber *self = sim_self();
    sim_point();
    if (mutex->owner == self) {
        sim_fail("%s takes a lock that it has", self->name);
    }
    while (mutex->owner != NULL) {
        (void)block(&mutex->waiting, UINT64_MAX, "a lock", where);
    }
    mutex->owner = self;
}

static void unlock_quietly(sim_mutex *mutex)
{
    if (mutex->owner != sim_self()) {
        sim_fail("%s gives a lock back that it has not", world.current->name);
    }
    mutex->owner = NULL;
    sim_wake_all(&mutex->waiting);
}

void sim_unlock(sim_mutex *mutex)
{
    unlock_quietly(mutex);
    sim_point();
}

bool sim_wait(sim_queue *queue, sim_mutex *mutex, uint64_t deadline_ns, const void *where)
{
    bool in_time = true;
    unlock_quietly(mutex);
    if (sim_chance(&world.draw, world.spurious_permille)) {
        sim_point(); /* woken for nothing, as POSIX allows */
    } else {
        in_time = deadline_ns > world.now &&
                  block(queue, deadline_ns, deadline_ns == UINT64_MAX ? "a signal" : "a signal, or",
                        where);
    }
    while (mutex->owner != NULL) {
        (void)block(&mutex->waiting, UINT64_MAX, "a lock after a signal", where);
    }
    mutex->owner = sim_self();
    return in_time;
}

void sim_wait_alone(sim_queue *queue, const char *what)
{
    (void)block(queue, UINT64_MAX, what, __builtin_return_address(0));
}

/* ---- fibers ---- */

static sim_fiber *find_place(void)
{
    for (uint32_t i = 1; i < world.count; i++) {
        if (world.fibers[i].state == FIBER_FREE) {
            return &world.fibers[i];
        }
    }
    if (world.count == FIBERS_MAX) {
        sim_fail("more than %d fibers", FIBERS_MAX);
    }
    sim_fiber *fiber = &world.fibers[world.count++];
    fiber->stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    fiber->tls = malloc(TLS_MAX);
    if (fiber->stack == MAP_FAILED || fiber->tls == NULL ||
        mprotect(fiber->stack, GUARD_BYTES, PROT_NONE) != 0) {
        sim_fail("no memory for a fiber");
    }
    return fiber;
}

sim_fiber *sim_start(const char *name, void (*run)(void *), void *argument)
{
    (void)sim_self();
    sim_fiber *fiber = find_place();
    *fiber = (sim_fiber){.state = FIBER_READY,
                         .number = ++world.next_number,
                         .run = run,
                         .argument = argument,
                         .deadline = UINT64_MAX,
                         .priority = sim_below(&world.draw, 1000),
                         .stack = fiber->stack,
                         .tls = fiber->tls};
    (void)snprintf(fiber->name, sizeof(fiber->name), "%s", name);
    memset(fiber->tls, 0, world.tls_bytes);
    memcpy(fiber->tls, world.tls_image, world.tls_image_bytes);
    (void)getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack + GUARD_BYTES;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->context, fiber_main, 0);
    sim_point();
    return fiber;
}

void sim_join(sim_fiber *fiber)
{
    while (fiber->state != FIBER_ENDED) {
        (void)block(&fiber->joining, UINT64_MAX, "a thread to end", __builtin_return_address(0));
    }
    fiber->state = FIBER_FREE;
}

void sim_detach(sim_fiber *fiber)
{
    fiber->detached = true;
    if (fiber->state == FIBER_ENDED) {
        fiber->state = FIBER_FREE;
    }
}

/* ---- runs ---- */

static uint32_t count_others(void)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < world.count; i++) {
        count += world.fibers[i].state != FIBER_FREE;
    }
    return count;
}

void sim_begin(uint64_t seed)
{
    (void)sim_self();
    if (world.current != &world.fibers[0] || count_others() > 0) {
        sim_fail("a run begins while fibers are left of another");
    }
    world.draw = (sim_draw){sim_mix(seed)};
    world.now = BEGIN_NS;
    world.steps = world.trace = world.idle = world.excused = 0;
    world.next_number = 0;
    world.strategy = (world_strategy)sim_below(&world.draw, 3);
    world.switch_permille = SIM_ONE_OF(&world.draw, 1000, 500, 120, 30);
    world.change_permille = SIM_ONE_OF(&world.draw, 5, 50, 300);
    world.spurious_permille = SIM_ONE_OF(&world.draw, 0, 0, 30);
    world.step_ns = SIM_ONE_OF(&world.draw, 20, 200, 2000, 20000);
    world.starved = sim_below(&world.draw, 16);
    world.fibers[0].priority = sim_below(&world.draw, 1000);
}

void sim_expect_end(uint64_t ns)
{
    const uint64_t limit = world.idle + ns;
    while (count_others() > 0) {
        if (world.idle > limit) {
            sim_fail("threads are left after %llu ms", (unsigned long long)(ns / 1000000));
        }
        sim_sleep(1000000);
    }
}
