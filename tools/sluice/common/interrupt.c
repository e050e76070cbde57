/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"

#include "exit_code.h"
#include "outcome.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A single flag that orders nothing else, so relaxed is enough everywhere; lock-free, as a
 * signal handler requires. */
static atomic_bool pending;

/* Decides which thread prints the command's result; only one does. The exchanges of both pair
 * with each other; acq_rel: the loser sees everything the other printed before. */
enum { RUNNING, INTERRUPTED, SETTLED };
static atomic_int end;

/* Set before the watcher is started. */
static const char *last_words;
static void (*last_work)(void *user);
static void *last_user;

static void on_signal(int number)
{
    (void)number;
    if (last_words != NULL || atomic_exchange_explicit(&pending, true, memory_order_relaxed)) {
        _exit(TOOL_INTERRUPTED);
    }
}

static sigset_t both_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
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
    install();
}

static bool claim(int who)
{
    int none = RUNNING;
    return atomic_compare_exchange_strong_explicit(&end, &none, who, memory_order_acq_rel,
                                                   memory_order_acquire);
}

static void finish(void)
{
    (void)!write(STDERR_FILENO, last_words, strlen(last_words));
    if (last_work != NULL) {
        last_work(last_user);
    }
    outcome_end(TOOL_INTERRUPTED);
    (void)fflush(stdout);
    _exit(TOOL_INTERRUPTED);
}

/* Takes the signals, which all threads have blocked; a second one goes to the handler here. */
static void *watch(void *unused)
{
    const sigset_t signals = both_signals();
    int number;
    (void)unused;
    while (sigwait(&signals, &number) != 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    if (claim(INTERRUPTED)) {
        finish();
    }
    for (;;) {
        pause(); /* for a second signal, which no other thread takes */
    }
    return NULL;
}

void interrupt_end(const char *message, void (*work)(void *user), void *user)
{
    const sigset_t signals = both_signals();
    pthread_t watcher;
    last_words = message;
    last_work = work;
    last_user = user;
    install();
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (pthread_create(&watcher, NULL, watch, NULL) != 0) {
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* then a signal ends it without a message */
        return;
    }
    pthread_detach(watcher);
}

void interrupt_settle(void)
{
    while (!claim(SETTLED) && atomic_load_explicit(&end, memory_order_acquire) == INTERRUPTED) {
        pause(); /* until the watcher ends the process */
    }
}

bool interrupt_pending(void)
{
    return atomic_load_explicit(&pending, memory_order_relaxed);
}
