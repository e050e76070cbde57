/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and thread-local variables of fibers, and switching between fibers. */
#include "world_state.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if SIM_ASAN
#    include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 512 << 10, GUARD_BYTES = 64 << 10, TLS_MAX = 64 << 10 };

/* ---- thread-local variables ---- */

static int find_tls(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            world.tls = info->dlpi_tls_data;
            world.tls_bytes = info->dlpi_phdr[i].p_memsz;
            const uintptr_t image = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            world.tls_image = (void *)image; // NOLINT(performance-no-int-to-ptr): it is one
            world.tls_image_bytes = info->dlpi_phdr[i].p_filesz;
        }
    }
    return 1; /* the program itself is listed first */
}

void sim_open_fibers(void)
{
    sim_fiber *self = &world.fibers[0];
    (void)dl_iterate_phdr(find_tls, NULL);
    if (world.tls_bytes > TLS_MAX) {
        (void)fprintf(stderr, "sim: %zu bytes of thread-local variables\n", world.tls_bytes);
        abort();
    }
    sim_watch_signals();
    world.count = 1;
    *self =
        (sim_fiber){.state = FIBER_READY, .name = "main", .begun = true, .deadline = UINT64_MAX};
    self->tls = malloc(TLS_MAX);
    world.current = self;
    if (self->tls == NULL) {
        abort();
    }
}

/* ---- switching ---- */

static void free_left(void)
{
    if (world.left != NULL) {
        world.left->state = FIBER_FREE; /* the next fiber reuses its stack and variables */
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
    abort(); /* no fiber switches back to an ended one */
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
    (void)setcontext(&to->context);
    abort();
}

void sim_switch_to(sim_fiber *to)
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

/* ---- fibers ---- */

static sim_fiber *find_place(void)
{
    for (uint32_t i = 1; i < world.count; i++) {
        if (world.fibers[i].state == FIBER_FREE) {
            return &world.fibers[i];
        }
    }
    if (world.count == SIM_FIBERS_MAX) {
        sim_fail("more than %d fibers", SIM_FIBERS_MAX);
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
        (void)sim_block(&fiber->joining, UINT64_MAX, "a thread to end",
                        __builtin_return_address(0));
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
