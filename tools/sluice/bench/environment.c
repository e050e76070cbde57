/* SPDX-License-Identifier: Apache-2.0 */
#include "environment.h"

#include <sluice/common.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Reads the text after "model name : " in the kernel's list of CPUs. */
static void read_cpu(char *text, size_t size)
{
    char line[256];
    FILE *list = fopen("/proc/cpuinfo", "re");
    text[0] = '\0';
    while (list != NULL && text[0] == '\0' && fgets(line, sizeof line, list) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon != NULL && strncmp(line, "model name", strlen("model name")) == 0) {
            snprintf(text, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
        }
    }
    if (list != NULL) {
        fclose(list);
    }
    memmove(text, text + strspn(text, " "), strlen(text) + 1 - strspn(text, " "));
}

void bench_environment_read(struct bench_environment *environment)
{
    struct utsname kernel;
    struct tm parts;
    const time_t now = time(NULL);
    *environment = (struct bench_environment){.load = NAN};
    if (gmtime_r(&now, &parts) != NULL) {
        strftime(environment->time, sizeof environment->time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    if (uname(&kernel) == 0) {
        snprintf(environment->kernel, sizeof environment->kernel, "%.31s %.31s %.15s",
                 kernel.sysname, kernel.release, kernel.machine);
    }
    double load;
    if (getloadavg(&load, 1) == 1) {
        environment->load = load;
    }
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    environment->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    read_cpu(environment->cpu, sizeof environment->cpu);
}

void bench_environment_write(struct json *json, const struct bench_environment *environment)
{
    json_open_object(json, "environment");
    json_text(json, "sluice", sluice_version());
    json_text(json, "time", environment->time);
    json_text(json, "cpu", environment->cpu);
    json_text(json, "kernel", environment->kernel);
    json_unsigned(json, "memory_bytes", environment->memory_bytes);
    json_real(json, "load", environment->load);
    json_close_object(json);
}
