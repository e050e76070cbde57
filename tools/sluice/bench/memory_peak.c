/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_peak.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

void memory_peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "5", 1); /* proc(5): "5" resets the peak resident set size */
        close(fd);
    }
}

double memory_peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}
