/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: which process of a family this is, without a system call for each question, and mutexes
 * that a child can use.
 *
 * Counted by a handler of fork(). A child made in another way (vfork, clone) is not told apart; it
 * may only exec anyway.
 * Threads: any.
 */
#ifndef SL_FORK_H
#define SL_FORK_H

#include <pthread.h>
#include <stdint.h>

/* Differs between a process and its children. */
uint64_t sl_fork_count(void);

/* Takes the mutex during each fork from now on, so that no child inherits it from a thread that it
 * does not have. For mutexes of the process that are held for a moment, and while no other one of
 * these is held or taken. To be called once, before the mutex is used. */
void sl_fork_guard(pthread_mutex_t *mutex);

#endif
