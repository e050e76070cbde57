/* SPDX-License-Identifier: Apache-2.0 */
/* clock: seconds as doubles, for measuring and for people. Any thread. */
#ifndef TOOL_CLOCK_H
#define TOOL_CLOCK_H

double clock_seconds(void);          /* monotonic */
double clock_thread_cpu(void);       /* of the calling thread, user and system */
double clock_process_cpu(void);      /* of all threads, user and system */
void clock_sleep_until(double when); /* on clock_seconds' scale; a signal does not cut it short */

#endif
