/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads binary records and marks, process by process, into sets of intervals by device. Main
 * thread.
 */
#include "records.h"

#include "marks.h"
#include "nvml.h"
#include "units.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 1024 };

static struct idle_device *find_device(struct idle_run *run, const char *name)
{
    for (size_t i = 0; i < run->device_count; i++) {
        if (strcmp(run->devices[i].name, name) == 0) {
            return &run->devices[i];
        }
    }
    if (run->device_count == IDLE_DEVICES_MAX) {
        return NULL;
    }
    struct idle_device *device = &run->devices[run->device_count++];
    *device = (struct idle_device){0};
    snprintf(device->name, sizeof device->name, "%s", name);
    return device;
}

/* The devices of one process, by its own count. */
struct device_map {
    struct idle_device *devices[IDLE_DEVICES_MAX];
};

static struct idle_device *map_device(struct idle_run *run, const struct idle_process *process,
                                      struct device_map *map, unsigned ordinal)
{
    if (ordinal >= IDLE_DEVICES_MAX) {
        return NULL;
    }
    if (map->devices[ordinal] == NULL) {
        char name[sizeof run->devices->name];
        nvml_device_name_at(name, sizeof name, process->header.visible_devices, ordinal,
                            process->header.devices[ordinal]);
        map->devices[ordinal] = find_device(run, name);
        if (map->devices[ordinal] != NULL) {
            map->devices[ordinal]->processes++;
        }
    }
    return map->devices[ordinal];
}

static struct interval_set *kernel_set(struct idle_trace *trace, unsigned class)
{
    trace->kernels++;
    switch (class) {
    case IDLE_KERNEL_SLUICE:
        return &trace->sluice;
    case IDLE_KERNEL_NCCL:
        return &trace->nccl;
    default:
        return &trace->program;
    }
}

static struct interval_set *set_of(struct idle_trace *trace, const struct idle_record *record)
{
    if (record->kind == IDLE_KERNEL) {
        return kernel_set(trace, record->detail);
    }
    trace->memory_operations++;
    if (record->kind == IDLE_MEMSET) {
        return &trace->fills;
    }
    return record->detail == IDLE_COPY_HOST_TO_DEVICE ? &trace->copies_in : &trace->copies;
}

static bool use_record(struct idle_run *run, const struct idle_process *process,
                       struct device_map *map, const struct idle_record *record)
{
    struct interval times;
    if (record->kind < IDLE_KERNEL || record->kind > IDLE_MEMSET ||
        !idle_marks_times(record->start, record->end, process->header.clock_offset_ns, &times)) {
        return false;
    }
    struct idle_device *device = map_device(run, process, map, record->device);
    if (device == NULL) {
        return false;
    }
    intervals_add(set_of(&device->trace, record), times.start, times.end);
    return true;
}

static void read_records(struct idle_run *run, struct idle_process *process, struct device_map *map,
                         FILE *file)
{
    static struct idle_record batch[BATCH];
    uint64_t left = process->header.records;
    while (left > 0) {
        size_t wanted = left < BATCH ? (size_t)left : BATCH;
        size_t got = fread(batch, sizeof *batch, wanted, file);
        for (size_t i = 0; i < got; i++) {
            bool used = use_record(run, process, map, &batch[i]);
            process->records += used;
            process->wrong_records += !used;
        }
        left -= got;
        if (got < wanted) {
            snprintf(process->problem, sizeof process->problem,
                     "the record file is truncated: %" PRIu64 " of %" PRIu64 " records are missing",
                     left, process->header.records);
            return;
        }
    }
}

/* Ends an address; anything but a PCI address counts as unknown. */
static void end_address(char address[IDLE_PCI_BYTES])
{
    address[IDLE_PCI_BYTES - 1] = '\0';
    if (address[strspn(address, "0123456789abcdefABCDEF:.")] != '\0') {
        address[0] = '\0';
    }
}

static bool read_header(struct idle_process *process, FILE *file)
{
    struct idle_header *header = &process->header;
    const char *wrong = NULL;
    if (fread(header, sizeof *header, 1, file) != 1) {
        wrong = "the record file has no whole header";
    } else if (memcmp(header->magic, IDLE_MAGIC, sizeof IDLE_MAGIC) != 0) {
        wrong = "this is not a record file";
    } else if (header->version != IDLE_VERSION || header->header_bytes != sizeof *header ||
               header->record_bytes != sizeof(struct idle_record)) {
        wrong = "the record file is of another version of sluice";
    } else if (header->state < IDLE_STATE_FAILED || header->state > IDLE_STATE_ENDED) {
        wrong = "the record file's header is damaged";
    }
    if (wrong != NULL) {
        *header = (struct idle_header){0};
        snprintf(process->problem, sizeof process->problem, "%s", wrong);
        return false;
    }
    header->visible_devices[sizeof header->visible_devices - 1] = '\0';
    header->program[sizeof header->program - 1] = '\0';
    header->library[sizeof header->library - 1] = '\0';
    header->reason[sizeof header->reason - 1] = '\0';
    for (size_t i = 0; i < IDLE_DEVICES_NAMED; i++) {
        end_address(header->devices[i]);
    }
    return true;
}

static void read_marks(struct idle_process *process, const struct device_map *map,
                       const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" IDLE_MARKS_PREFIX "%d", folder, process->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    /* Every device of the process gets its marks; nearly always, one process uses one device. */
    for (size_t i = 0; i < IDLE_DEVICES_MAX; i++) {
        if (map->devices[i] != NULL) {
            rewind(file);
            struct idle_marks_count count = idle_marks_read(file, &map->devices[i]->trace);
            process->marks = count.good;
            process->wrong_marks = count.wrong;
        }
    }
    fclose(file);
}

static void read_process(struct idle_run *run, struct idle_process *process, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" IDLE_RECORDS_PREFIX "%d", folder, process->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(process->problem, sizeof process->problem, "the record file cannot be opened: %s",
                 strerror(errno)); // NOLINT(concurrency-mt-unsafe): the other thread asks nothing
        return;
    }
    struct device_map map = {{0}};
    if (read_header(process, file)) {
        read_records(run, process, &map, file);
        read_marks(process, &map, folder);
    }
    fclose(file);
}

/* Returns the number behind `prefix`, or 0. */
static int number_of(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    uint64_t number;
    if (strncmp(name, prefix, length) != 0 || !units_parse_count(name + length, &number) ||
        number > INT_MAX) {
        return 0;
    }
    return (int)number;
}

static bool add_process(struct idle_run *run, int pid)
{
    struct idle_process *grown =
        reallocarray(run->processes, run->process_count + 1, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    run->processes = grown;
    run->processes[run->process_count++] = (struct idle_process){.pid = pid};
    return true;
}

static int by_pid(const void *left, const void *right)
{
    const struct idle_process *a = left;
    const struct idle_process *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static bool list_processes(struct idle_run *run, DIR *folder, uint64_t *mark_files)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) { // NOLINT(concurrency-mt-unsafe): our own stream
        int pid = number_of(entry->d_name, IDLE_RECORDS_PREFIX);
        *mark_files += number_of(entry->d_name, IDLE_MARKS_PREFIX) > 0;
        if (pid > 0 && !add_process(run, pid)) {
            return false;
        }
    }
    if (run->process_count > 1) {
        qsort(run->processes, run->process_count, sizeof *run->processes, by_pid);
    }
    return true;
}

static bool read_all(struct idle_run *run, const char *folder, uint64_t mark_files)
{
    run->devices = calloc(IDLE_DEVICES_MAX, sizeof *run->devices);
    if (run->devices == NULL) {
        return false;
    }
    for (size_t i = 0; i < run->process_count; i++) {
        read_process(run, &run->processes[i], folder);
        mark_files -= run->processes[i].marks > 0;
    }
    run->stray_marks = mark_files;
    bool fine = true;
    for (size_t i = 0; i < run->device_count; i++) {
        fine = idle_trace_finish(&run->devices[i].trace) && fine;
    }
    return fine;
}

bool idle_run_read(struct idle_run *run, const char *folder, char *reason, size_t bytes)
{
    *run = (struct idle_run){0};
    DIR *open = opendir(folder);
    if (open == NULL) {
        snprintf(reason, bytes, "%s: %s", folder,
                 strerror(errno)); // NOLINT(concurrency-mt-unsafe): as above
        return false;
    }
    uint64_t mark_files = 0;
    bool fine = list_processes(run, open, &mark_files) && read_all(run, folder, mark_files);
    closedir(open);
    if (!fine) {
        snprintf(reason, bytes, "there is not enough memory for the records");
        idle_run_free(run);
    }
    return fine;
}

void idle_run_free(struct idle_run *run)
{
    for (size_t i = 0; i < run->device_count; i++) {
        idle_trace_free(&run->devices[i].trace);
    }
    free(run->devices);
    free(run->processes);
    *run = (struct idle_run){0};
}
