/* SPDX-License-Identifier: Apache-2.0 */
/* sluice idle: measures how much of the time a program leaves its GPU without work. */
#include "../command.h"
#include "clock.h"
#include "exit_code.h"
#include "idle_report.h"
#include "options.h"
#include "report.h"
#include "setup.h"

#include <sluice/loader.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct idle_args {
    struct idle_window_options window;
    const char *records, *device;
    double interval_s;
    bool compare, json;
};

static const double day_s = 86400;

static const char summary[] =
    "Runs PROGRAM and measures how much of the time its GPU had nothing to do. The\n"
    "program is not changed; it must not run another profiler, like torch.profiler.";

static const char details[] =
    "NVIDIA's CUPTI does the measuring, which the CUDA driver loads into the program;\n"
    "SLUICE_CUPTI names another CUPTI than the one found. The exit code is the program's, 128 +\n"
    "the signal that ended it, 126 or 127 if it cannot be run, or 1 if nothing was measured.\n"
    "\n"
    "The GPU does not know which part of the idle time is due to data. A program reports that by\n"
    "lines in the file $SLUICE_IDLE_DIR/marks.PID, if that variable is set, with times in ns of\n"
    "CLOCK_MONOTONIC (Python: time.monotonic_ns()):\n"
    "  wait START END      the host waited for the next batch\n"
    "  stall START END     the stream waited for a batch that was being copied to the GPU\n"
    "  step WHEN           a step ended; the window then begins and ends with steps";

static const char examples[] = "  sluice idle -- python train.py --epochs 1\n"
                               "  sluice idle --skip-seconds 30 --window 60s -- ./train\n"
                               "  sluice idle --compare --json -- ./train > idle.json\n";

/* Returns OPTIONS_GO_ON, or the exit code. */
static int parse(struct idle_args *args, struct command_usage *usage, int argc, char **argv)
{
    const struct option_row rows[] = {
        {.name = "skip-seconds",
         .kind = OPTION_DURATION,
         .value = &args->window.skip_s,
         .high = day_s,
         .metavar = "TIME",
         .common = true,
         .help = "time to skip after the first kernel [1/4, max 10s]"},
        {.name = "skip-steps",
         .kind = OPTION_COUNT,
         .value = &args->window.skip_steps,
         .max = 1000000,
         .metavar = "N",
         .common = true,
         .help = "marked steps to skip at the start [10]"},
        {.name = "window",
         .kind = OPTION_DURATION,
         .value = &args->window.length_s,
         .low = 1e-6,
         .high = day_s,
         .metavar = "TIME",
         .common = true,
         .help = "time to measure [up to the last kernel]"},
        {.name = "compare",
         .kind = OPTION_FLAG,
         .value = &args->compare,
         .common = true,
         .help = "run without tracing first, to show its cost"},
        {.name = "records",
         .kind = OPTION_TEXT,
         .value = &args->records,
         .metavar = "FOLDER",
         .common = true,
         .help = "keep the records in this new folder [none]"},
        {.name = "device",
         .kind = OPTION_TEXT,
         .value = &args->device,
         .metavar = "NVML",
         .common = true,
         .help = "GPU to ask for power, clocks: index, UUID, PCI [all]"},
        {.name = "interval",
         .kind = OPTION_DURATION,
         .value = &args->interval_s,
         .low = 0.01,
         .high = 3600,
         .metavar = "TIME",
         .common = true,
         .help = "how often to ask the GPU [500ms]"},
        {.name = "json",
         .kind = OPTION_FLAG,
         .value = &args->json,
         .common = true,
         .help = "print JSON, the program's output on stderr"},
        {.name = NULL},
    };
    usage->rows = rows;
    usage->arguments = "-- PROGRAM [ARGUMENT ...]";
    usage->summary = summary;
    usage->details = details;
    usage->examples = examples;
    usage->operands_min = 1;
    usage->operands_max = INT_MAX;
    int code = options_parse(usage, argc, argv);
    usage->rows = NULL;
    return code;
}

static void explain_nothing(struct idle_report *found)
{
    const struct idle_run *run = found->run;
    char *text = found->reason;
    size_t capacity = sizeof found->reason;
    for (size_t i = 0; i < run->process_count; i++) {
        const struct idle_process *process = &run->processes[i];
        const char *why = *process->problem != '\0' ? process->problem : process->header.reason;
        if (*why != '\0') {
            snprintf(text, capacity, "process %d: %s", process->pid, why);
            return;
        }
        if (process->header.lost > 0) {
            int error = process->header.write_error;
            snprintf(text, capacity, "process %d: the records could not be written: %s",
                     process->pid,
                     strerror(error)); // NOLINT(concurrency-mt-unsafe)
            return;
        }
    }
    if (run->process_count > 0) {
        snprintf(text, capacity, "CUDA was started, but no kernel of the program's own ran%s",
                 run->device_count > 0 ? " in the window" : "");
        return;
    }
    char driver[256] = "";
    if (sluice_device_get_text("cuda", driver, sizeof driver) == SLUICE_OK) {
        snprintf(text, capacity,
                 "the program did not start CUDA (this machine has %s), or dropped "
                 "CUDA_INJECTION64_PATH from its environment",
                 driver);
    } else {
        snprintf(text, capacity, "the program did not start CUDA, and cannot here: %s", driver);
    }
}

static bool compute_all(struct idle_report *found, const struct idle_window_options *options)
{
    const struct idle_run *run = found->run;
    for (size_t i = 0; i < run->device_count; i++) {
        struct idle_window window;
        found->measured[i] = idle_choose_window(&run->devices[i].trace, options, &window);
        if (found->measured[i] &&
            !idle_compute(&run->devices[i].trace, &window, &found->figures[i])) {
            return false;
        }
        found->any_measured = found->any_measured || found->measured[i];
    }
    if (!found->any_measured) {
        explain_nothing(found);
    }
    return true;
}

/* Every GPU is monitored while the program runs, because the ones it uses are known only later. */
struct idle_watch {
    struct nvml_monitor *monitors[1 + IDLE_DEVICES_MAX]; /* the first: as named */
    size_t count;
};

static void watch_start(struct idle_watch *watch, const struct idle_report *found, bool named,
                        double interval_s)
{
    watch->monitors[watch->count++] = nvml_start(found->nvml_device, interval_s);
    const unsigned all = named ? 0 : nvml_count();
    for (unsigned i = 0; i < all && i < IDLE_DEVICES_MAX; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        struct nvml_monitor *monitor = nvml_start(number, interval_s);
        if (nvml_is_same(monitor, watch->monitors[0]) || nvml_is(watch->monitors[0], number)) {
            nvml_free(monitor);
        } else {
            watch->monitors[watch->count++] = monitor;
        }
    }
}

static void watch_end(struct idle_watch *watch, bool free)
{
    for (size_t i = 0; i < watch->count; i++) {
        (free ? nvml_free : nvml_stop)(watch->monitors[i]);
    }
}

/* Returns the monitor of a device; NULL: NVML has none. */
static const struct nvml_monitor *watch_find(const struct idle_watch *watch, const char *device)
{
    for (size_t i = 0; i < watch->count; i++) {
        if (nvml_is(watch->monitors[i], device)) {
            return watch->monitors[i];
        }
    }
    return NULL;
}

static void summarise_device(struct idle_report *found, const struct idle_watch *watch, size_t i)
{
    const struct idle_device *device = &found->run->devices[i];
    const struct nvml_monitor *monitor = watch_find(watch, device->name);
    struct nvml_summary *into = &found->device_nvml[i];
    if (monitor == NULL) {
        snprintf(into->reason, sizeof into->reason, "device %s was not watched", device->name);
        return;
    }
    nvml_summarise(monitor, (double)found->figures[i].window.start / 1e9,
                   (double)found->figures[i].window.end / 1e9, into);
}

/* Summarises NVML for each measured device, and for the first of these, else for the named one. */
static void summarise_nvml(struct idle_report *found, const struct idle_watch *watch)
{
    bool any = false;
    for (size_t i = 0; i < found->run->device_count; i++) {
        if (found->measured[i]) {
            summarise_device(found, watch, i);
        }
        if (found->measured[i] && !any && !found->named && *found->device_nvml[i].reason == '\0') {
            any = true;
            found->nvml = found->device_nvml[i];
            memcpy(found->nvml_device, found->run->devices[i].name, sizeof found->nvml_device);
        }
    }
    for (size_t i = 0; i < found->run->device_count && !any; i++) {
        if (found->measured[i] && nvml_is(watch->monitors[0], found->run->devices[i].name)) {
            any = true;
            found->nvml = found->device_nvml[i];
        }
    }
    if (!any) {
        nvml_summarise(watch->monitors[0], found->launch.start, found->launch.end, &found->nvml);
    }
}

static int exit_code(const struct idle_report *found)
{
    if (found->launch.code != 0) {
        return found->launch.code;
    }
    return found->any_measured ? TOOL_FINE : TOOL_FAILED;
}

static int read_and_show(struct idle_report *found, const struct idle_args *args,
                         const struct idle_setup *setup, const struct idle_watch *watch)
{
    struct idle_run run;
    char reason[512];
    if (!idle_run_read(&run, setup->folder, reason, sizeof reason)) {
        report("%s", reason);
        return found->launch.code != 0 ? found->launch.code : TOOL_FAILED;
    }
    found->run = &run;
    int code = TOOL_FAILED;
    if (compute_all(found, &args->window)) {
        summarise_nvml(found, watch);
        (args->json ? idle_report_json : idle_report_print)(found);
        code = exit_code(found);
    }
    idle_run_free(&run);
    return code;
}

/* Returns whether to continue after a run of the program: it ran, and nobody stopped it. */
static bool ran(const struct launch_result *launch, const char *program)
{
    if (launch->error != 0) {
        report("%s: %s", program, strerror(launch->error)); // NOLINT(concurrency-mt-unsafe)
    }
    return launch->error == 0;
}

/* Runs the program, with --compare twice. False: it cannot be run, or a signal ended the first
 * run; the code is in `found->launch`. */
static bool run_program(struct idle_report *found, const struct idle_args *args,
                        const struct idle_setup *setup)
{
    const char *program = found->arguments[0];
    if (args->compare) {
        if (!idle_setup_inject(setup, false)) {
            found->launch.code = TOOL_FAILED;
            return false;
        }
        found->plain = found->launch = idle_launch(found->arguments, args->json);
        if (!ran(&found->launch, program) || found->launch.signal != 0) {
            return false;
        }
        found->compared = true;
    }
    if (!idle_setup_inject(setup, true)) {
        found->launch.code = TOOL_FAILED;
        return false;
    }
    found->launch = idle_launch(found->arguments, args->json);
    (void)idle_setup_inject(setup, false); /* the tool itself may use the driver later */
    return ran(&found->launch, program);
}

/* Writes NVML's name of the first device that the program sees. */
static void name_device(struct idle_report *found, const char *device)
{
    if (device != NULL) {
        snprintf(found->nvml_device, sizeof found->nvml_device, "%s", device);
        return;
    }
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"); // NOLINT(concurrency-mt-unsafe)
    nvml_device_name(found->nvml_device, sizeof found->nvml_device, visible, 0);
}

static int measure(struct idle_report *found, const struct idle_args *args)
{
    struct idle_setup setup;
    if (!idle_setup_make(&setup, args->records)) {
        return TOOL_FAILED;
    }
    fflush(stdout);
    name_device(found, args->device);
    struct idle_watch watch = {.count = 0};
    found->named = args->device != NULL;
    watch_start(&watch, found, found->named, args->interval_s);
    bool finished = run_program(found, args, &setup);
    watch_end(&watch, false);
    int code = finished ? read_and_show(found, args, &setup, &watch) : found->launch.code;
    watch_end(&watch, true);
    idle_setup_remove(&setup);
    return code;
}

int idle_main(int argc, char **argv)
{
    struct idle_args args = {.window = {.skip_s = -1, .skip_steps = 10}, .interval_s = 0.5};
    struct command_usage usage = {0};
    int code = parse(&args, &usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    struct idle_report *found = calloc(1, sizeof *found);
    if (found == NULL) {
        report("there is not enough memory");
        return TOOL_FAILED;
    }
    found->arguments = usage.operands;
    code = measure(found, &args);
    free(found);
    return code;
}
