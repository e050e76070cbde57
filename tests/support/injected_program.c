/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to run under `sluice idle` without a GPU: it loads CUDA_INJECTION64_PATH, calls
 * InitializeInjection as the CUDA driver does in cuInit, and reports GPU work to the fake CUPTI.
 * It executes its arguments in order:
 *   driver      load $SLUICE_CUDA_DRIVER and start it
 *   cuda        the steps of cuInit              device=N    use device N from now on
 *   marks       steps write marks from now on    steps=N     N steps of 10 ms (below)
 *   rows=N      N small kernels in a row         odd=N       N kernels without times
 *   sleep=MS    sleep in real time               fork        and the child exits, with its handlers
 *   bad_marks   lines that are not marks         print=TEXT  on standard output
 *   exit=N      signal=N  _exit=N                wait_term   until SIGTERM or SIGINT, then exit 7
 *   written=N   waits until its record file holds N records
 * A step: 6 ms of the program's kernel; 3 ms of waiting for data, with 0.5 ms of a sluice kernel
 * and a copy to the device during the last 2 ms; then 1 ms with 0.2 ms of NCCL followed by a fill
 * of 0.1 ms.
 */
#include "fake_cupti.h"
#include "idle_format.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t ms = 1000000;

enum { PATIENCE = 6000 /* naps of 20 ms */ };

static struct {
    uint64_t (*now)(void);
    void (*kernel)(uint32_t device, const char *name, uint64_t start, uint64_t end);
    void (*copy)(uint32_t device, int copy_kind, uint64_t start, uint64_t end);
    void (*fill)(uint32_t device, uint64_t start, uint64_t end);
} fake;

static uint32_t device;
static FILE *marks;
static volatile sig_atomic_t stopped;

static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
}

/* Loads the driver, which stays open as in a program. */
static void start_driver(void)
{
    const char *path = getenv("SLUICE_CUDA_DRIVER");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unsigned (*init)(unsigned flags) = NULL;
    if (library != NULL) {
        find(library, "cuInit", &init);
    }
    if (init == NULL || init(0) != 0) {
        fprintf(stderr, "no driver\n");
    }
}

static void start_cuda(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialise)(void) = NULL;
    if (library != NULL) {
        find(library, "InitializeInjection", &initialise);
    }
    if (initialise == NULL || initialise() != 1) {
        fprintf(stderr, "not injected\n");
        return;
    }
    const char *cupti = getenv("SLUICE_CUPTI");
    void *loaded = cupti == NULL ? NULL : dlopen(cupti, RTLD_NOW | RTLD_NOLOAD);
    if (loaded != NULL) {
        find(loaded, "fake_cupti_now", &fake.now);
        find(loaded, "fake_cupti_kernel", &fake.kernel);
        find(loaded, "fake_cupti_copy", &fake.copy);
        find(loaded, "fake_cupti_fill", &fake.fill);
    }
}

static uint64_t monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_marks(void)
{
    const char *folder = getenv("SLUICE_IDLE_DIR");
    char path[4096];
    if (folder != NULL && marks == NULL) {
        snprintf(path, sizeof path, "%s/marks.%d", folder, (int)getpid());
        marks = fopen(path, "a");
    }
}

static void write_marks(uint64_t start)
{
    if (marks != NULL) {
        fprintf(marks, "wait %" PRIu64 " %" PRIu64 "\nstep %" PRIu64 "\n", start + 6 * ms,
                start + 9 * ms, start + 10 * ms);
    }
}

/* Reads both clocks at one moment: of several tries, takes one that was not interrupted in between,
 * or the shortest. The mark is never the earlier one: a step that ends before its kernels do is
 * counted differently. */
static void both_clocks(uint64_t *cupti, uint64_t *mark)
{
    const uint64_t close_ns = 20000;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 100 && best > close_ns; i++) {
        const uint64_t before = fake.now();
        const uint64_t between = monotonic();
        const uint64_t apart = fake.now() - before;
        if (apart < best) {
            best = apart;
            *cupti = before;
            *mark = between;
        }
    }
}

static void do_steps(long count)
{
    if (fake.now == NULL) {
        return;
    }
    uint64_t start = 0;
    uint64_t mark = 0;
    both_clocks(&start, &mark);
    for (long i = 0; i < count; i++, start += 10 * ms, mark += 10 * ms) {
        fake.kernel(device, "train_step", start, start + 6 * ms);
        fake.kernel(device, "sl_conversion_f32_nhwc", start + 6 * ms, start + 6 * ms + ms / 2);
        fake.copy(device, 1, start + 7 * ms, start + 9 * ms);
        fake.kernel(device, "ncclDevKernel_AllReduce", start + 9 * ms, start + 9 * ms + ms / 5);
        fake.fill(device, start + 9 * ms + ms / 2, start + 9 * ms + ms / 2 + ms / 10);
        write_marks(mark);
    }
    fake.kernel(device, "train_step", start, start + 1);
}

/* Runs kernels of a microsecond each, every other microsecond. */
static void do_rows(long count)
{
    uint64_t start = fake.now == NULL ? 0 : fake.now();
    for (long i = 0; i < count && fake.now != NULL; i++) {
        fake.kernel(device, "row", start + (uint64_t)i * 2000, start + (uint64_t)i * 2000 + 1000);
    }
}

static void do_odd(long count)
{
    for (long i = 0; i < count && fake.now != NULL; i++) {
        fake.kernel(device, "odd", 0, 0);
    }
}

static void do_fork(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        exit(0);
    }
    waitpid(child, NULL, 0);
}

static void do_sleep(long milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Returns the count in the header, which is written after the records. */
static long records_written(void)
{
    char path[4096];
    struct idle_header header = {.records = 0};
    const char *folder = getenv(IDLE_FOLDER_VARIABLE);
    snprintf(path, sizeof path, "%s/" IDLE_RECORDS_PREFIX "%d", folder == NULL ? "." : folder,
             (int)getpid());
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    const bool whole = fread(&header, sizeof header, 1, file) == 1;
    fclose(file);
    return whole ? (long)header.records : 0;
}

static void wait_until_written(long count)
{
    for (int naps = 0; records_written() < count; naps++) {
        if (naps == PATIENCE) {
            fprintf(stderr, "%ld of %ld records were written\n", records_written(), count);
            exit(70);
        }
        do_sleep(20);
    }
}

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

static void wait_for_signal(void)
{
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    printf("waiting\n");
    fflush(stdout);
    while (!stopped) {
        do_sleep(20);
    }
    exit(7);
}

static void do_word(const char *word)
{
    if (strcmp(word, "driver") == 0) {
        start_driver();
    } else if (strcmp(word, "cuda") == 0) {
        start_cuda();
    } else if (strcmp(word, "marks") == 0) {
        open_marks();
    } else if (strcmp(word, "fork") == 0) {
        do_fork();
    } else if (strcmp(word, "wait_term") == 0) {
        wait_for_signal();
    } else if (strcmp(word, "bad_marks") == 0 && marks != NULL) {
        fprintf(marks, "wait 5\nstep -3\nnap 1 2\nwait 9 8\n\nstep 99999999999999999999\n");
    }
}

static void do_setting(const char *word, size_t name, const char *value)
{
    long number = strtol(value, NULL, 10);
    if (strncmp(word, "steps", name) == 0) {
        do_steps(number);
    } else if (strncmp(word, "rows", name) == 0) {
        do_rows(number);
    } else if (strncmp(word, "odd", name) == 0) {
        do_odd(number);
    } else if (strncmp(word, "sleep", name) == 0) {
        do_sleep(number);
    } else if (strncmp(word, "written", name) == 0) {
        wait_until_written(number);
    } else if (strncmp(word, "device", name) == 0) {
        device = (uint32_t)number;
    } else if (strncmp(word, "print", name) == 0) {
        puts(value);
    } else if (strncmp(word, "exit", name) == 0) {
        exit((int)number);
    } else if (strncmp(word, "_exit", name) == 0) {
        fflush(NULL);
        _exit((int)number);
    } else if (strncmp(word, "signal", name) == 0) {
        fflush(NULL);
        raise((int)number);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (equals == NULL) {
            do_word(argv[i]);
        } else {
            do_setting(argv[i], (size_t)(equals - argv[i]), equals + 1);
        }
    }
    if (marks != NULL) {
        fclose(marks);
    }
    return 0;
}
