/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: which process of a family this is, without a system call for each question.
 *
 * Counted by a handler of fork(). A child made in another way (vfork, clone) is not told apart; it
 * may only exec anyway.
 * Threads: any.
 */
#ifndef SL_FORK_H
#define SL_FORK_H

#include <stdint.h>

/* Differs between a process and its children. */
uint64_t sl_fork_count(void);

#endif
