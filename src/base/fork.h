/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: identifies this process among its parents and children, without a system call for each
 * check, and mutexes that a child can use.
 *
 * Counted by a handler of fork(). A child made in another way (vfork, clone) is not recognised; it
 * may only exec anyway.
 *
 * Threads: any.
 */
#ifndef SL_FORK_H
#define SL_FORK_H

#include <pthread.h>
#include <stdint.h>

/* Returns a number that differs between a process and its children. */
uint64_t sl_fork_count(void);

/* Takes the mutex during each fork from now on, so that no child inherits it from a thread that it
 * does not have. For mutexes of the process that are held for a moment, and while no other one of
 * these is held or taken. Call it once, before the mutex is used. */
void sl_fork_guard(pthread_mutex_t *mutex);

#endif
