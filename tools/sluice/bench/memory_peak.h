/* SPDX-License-Identifier: Apache-2.0 */
/* memory_peak: the maximum resident memory of the process. Any thread. */
#ifndef TOOL_MEMORY_PEAK_H
#define TOOL_MEMORY_PEAK_H

/* Resets the peak, if the kernel permits; else later peaks include the earlier ones. */
void memory_peak_reset(void);

/* Returns MiB since the start or the last reset. */
double memory_peak_mib(void);

#endif
