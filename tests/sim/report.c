/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the world's reports. */
#include "world_state.h"

#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/* The program's own file, and its load address. */
static int find_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(uintptr_t *)ctx = info->dlpi_addr;
    return 1;
}

/* Prints the functions at these addresses, using addr2line if it is installed. */
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

void sim_print_fibers(void)
{
    for (uint32_t i = 0; i < world.count; i++) {
        const sim_fiber *fiber = &world.fibers[i];
        if (fiber->state == FIBER_WAITS) {
            (void)fprintf(stderr, "  %u %s waits for %s until %lld us\n", fiber->number,
                          fiber->name, fiber->what,
                          fiber->deadline == UINT64_MAX ? -1 : (long long)(fiber->deadline / 1000));
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
    sim_print_fibers();
    print_places();
    _exit(1);
}

/* A crash reports the seed of its case. */
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

void sim_watch_signals(void)
{
    static uint8_t stack[64 << 10];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
    (void)sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!SIM_ASAN || numbers[i] == SIGABRT) { /* ASan's report is better */
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}
