/* SPDX-License-Identifier: Apache-2.0 */
/* memory_peak: the most memory that the process ever had resident. Any thread. */
#ifndef TOOL_MEMORY_PEAK_H
#define TOOL_MEMORY_PEAK_H

/* Forgets the peak so far, where the kernel lets it; else later peaks include the earlier ones. */
void memory_peak_reset(void);

/* MiB since the start or the last reset. */
double memory_peak_mib(void);

#endif
