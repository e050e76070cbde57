/* SPDX-License-Identifier: Apache-2.0 */
/* machine: replaces the library's queries of the machine in libFuzzer's targets (ld --wrap).
 * Otherwise, each opening of a dataset would read thirty cgroup files, which takes longer than
 * reading an input, and results would differ between machines. Threads: any. */
#include "cpu.h"

/* NOLINTBEGIN: the names are the linker's */
uint64_t __wrap_sl_memory_available(void);
uint32_t __wrap_sl_cpu_count(void);

uint64_t __wrap_sl_memory_available(void)
{
    return (uint64_t)8 << 30;
}

uint32_t __wrap_sl_cpu_count(void)
{
    return 2;
}
/* NOLINTEND */
