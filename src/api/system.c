/* SPDX-License-Identifier: Apache-2.0 */
/* system: describes this machine and the possible locations of batches, and records events. */
#include "api.h"
#include "backend.h"
#include "cpu.h"
#include "cuda_driver.h"
#include "device.h"
#include "error.h"
#include "trace.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static void describe_io_uring(sluice_system *system)
{
    sluice_error why;
    sl_error_clear(&why);
    system->io_uring = sl_uring_probe(&why) == SLUICE_OK;
    if (!system->io_uring) {
        snprintf(system->io_uring_text, sizeof(system->io_uring_text), "%.120s", why.text);
        return;
    }
    struct utsname kernel;
    const bool known = uname(&kernel) == 0;
    snprintf(system->io_uring_text, sizeof(system->io_uring_text), "works, kernel %.64s",
             known ? kernel.release : "unknown version");
}

/* Parses the current choice, which the kernel marks with brackets: "always [madvise] never". */
static void describe_huge_pages(sluice_system *system)
{
    char line[96] = "";
    const int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t got = read(fd, line, sizeof(line) - 1);
        line[got > 0 ? got : 0] = '\0';
        close(fd);
    }
    char *begin = strchr(line, '[');
    char *end = begin == NULL ? NULL : strchr(begin, ']');
    if (end == NULL) {
        snprintf(system->huge_pages_text, sizeof(system->huge_pages_text),
                 "transparent huge pages are not available");
        return;
    }
    *end = '\0';
    snprintf(system->huge_pages_text, sizeof(system->huge_pages_text), "transparent: %s%s",
             begin + 1, strcmp(begin + 1, "never") == 0 ? " (reads will be slower)" : "");
}

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit.rlim_cur;
}

uint64_t sluice_memory_available(void)
{
    return sl_memory_available();
}

sluice_status sluice_system_get_info(sluice_system *system)
{
    if (system == NULL || !sl_api_is_tagged(system)) {
        return SLUICE_INVALID;
    }
    sluice_system full;
    memset(&full, 0, sizeof(full));
    full.cpus = sl_cpu_count();
    full.memory_bytes = sl_memory_total();
    full.memlock_bytes = limit_of(RLIMIT_MEMLOCK);
    full.open_files = limit_of(RLIMIT_NOFILE);
    describe_io_uring(&full);
    describe_huge_pages(&full);
    sl_cpu_features(full.cpu_text, sizeof(full.cpu_text));
    full.cuda = sl_cuda_describe(full.cuda_text, sizeof(full.cuda_text));
    return sl_api_write_struct(system, &full, sizeof(full));
}

sluice_status sluice_device_get_text(const char *device, char *text, size_t bytes)
{
    if (device == NULL || text == NULL || bytes == 0) {
        return SLUICE_INVALID;
    }
    return sl_device_describe(device, text, bytes);
}

/* ---- events ---- */

sluice_status sluice_trace_start(uint32_t threads, uint32_t events)
{
    return sl_trace_start(threads, events);
}

void sluice_trace_stop(void)
{
    sl_trace_stop();
}

size_t sluice_trace_read(sluice_trace_event *events, size_t event_bytes, size_t capacity,
                         uint64_t *lost)
{
    const sl_trace_capacity own = {
        .events = events, .event_bytes = event_bytes, .count = events == NULL ? 0 : capacity};
    return sl_trace_read(&own, lost);
}

void sluice_trace_get_thread_name(uint32_t thread, char *name, size_t bytes)
{
    if (name != NULL && bytes > 0) {
        sl_trace_thread_name(thread, name, bytes);
    }
}

void sluice_trace_discard(void)
{
    sl_trace_discard();
}
