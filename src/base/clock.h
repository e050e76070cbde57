/* SPDX-License-Identifier: Apache-2.0 */
/* clock: monotonic time and CPU time in nanoseconds. Any thread. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <stdint.h>

uint64_t sl_now_ns(void);            /* CLOCK_MONOTONIC */
uint64_t sl_thread_cpu_ns(void);     /* CPU time of the calling thread */
void sl_sleep_until_ns(uint64_t ns); /* absolute, on sl_now_ns's clock */
/* now + timeout without wrapping; a negative timeout is UINT64_MAX (forever). */
uint64_t sl_deadline_ns(int64_t timeout_ns);

#endif
