/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include "exit_code.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A lone flag that orders nothing else, so relaxed is enough everywhere; lock-free, as a signal
 * handler needs. */
static atomic_bool pending;
static const char *last_words;

static void on_signal(int number)
{
    (void)number;
    if (last_words != NULL) {
        (void)!write(STDERR_FILENO, last_words, strlen(last_words));
        _exit(TOOL_INTERRUPTED);
    }
    if (atomic_exchange_explicit(&pending, true, memory_order_relaxed)) {
        _exit(TOOL_INTERRUPTED);
    }
}

static void install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void interrupt_catch(void)
{
    last_words = NULL;
    install();
}

void interrupt_say(const char *message)
{
    last_words = message;
    install();
}

bool interrupt_pending(void)
{
    return atomic_load_explicit(&pending, memory_order_relaxed);
}
