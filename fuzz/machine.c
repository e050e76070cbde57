/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: what the library learns of the machine in the targets of libFuzzer (ld --wrap). Each
 * opening of a dataset would read thirty files of cgroups, longer than it takes to read an input,
 * and what an input does would differ from one machine to the next. Threads: any.
 */
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
