/* SPDX-License-Identifier: Apache-2.0 */
/* cpu: processors and memory of this process, and instruction sets. Any thread. */
#ifndef SL_CPU_H
#define SL_CPU_H

#include <stddef.h>
#include <stdint.h>

/* Returns the processors in this process' affinity mask, further limited by the cgroup's CPU quota
 * (rounded up); at least 1. */
uint32_t sl_cpu_count(void);
/* Returns the memory that this process can still get: the least of MemAvailable and the rest of its
 * cgroup's (v1 or v2) and RLIMIT_AS's limits; bytes. */
uint64_t sl_memory_available(void);
/* Returns the smaller of MemTotal and the cgroup's limit; bytes. */
uint64_t sl_memory_total(void);
/* Writes the names of the instruction sets found ("sse4.2 avx2 f16c fma avx512f ..."). */
void sl_cpu_features(char *text, size_t bytes);

#endif
