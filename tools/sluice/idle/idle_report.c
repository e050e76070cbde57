/* SPDX-License-Identifier: Apache-2.0 */
/* Prints results, devices and processes, for people and as JSON. Main thread. */
#include "idle_report.h"

#include "safe_text.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this fraction of idle time, improving the data pipeline is not worth it. */
static const double little = 0.02;

static void print_program(const struct idle_report *report)
{
    char text[32];
    units_format_duration(text, sizeof text, report->launch.end - report->launch.start);
    fputs("program  ", stdout);
    for (char *const *argument = report->arguments; *argument != NULL; argument++) {
        printf(" %s", SAFE(*argument));
    }
    if (report->launch.signal != 0) {
        printf("\n          ended by signal %d after %s\n", report->launch.signal, text);
    } else {
        printf("\n          exit code %d after %s\n", report->launch.code, text);
    }
}

static void print_share(const char *label, double share, const char *meaning)
{
    printf("  %-16s %6.2f %%   %s\n", label, 100 * share, meaning);
}

static void print_data_part(const struct idle_figures *figures)
{
    if (!figures->has_marks) {
        printf("    %-14s %6s     the program wrote no marks of its waiting (sluice idle --help);\n"
               "%29sin %.2f %% of the time a copy to the GPU ran while it computed nothing\n",
               "data-caused", "n/a", "", 100 * figures->idle_in_copy_in);
        return;
    }
    printf("    %-14s %6.2f %%   ... while the program waited for data (host wait %.2f %% of the "
           "time, stream stall %.2f %%)\n",
           "data-caused", 100 * figures->data_idle, 100 * figures->wait_share,
           100 * figures->stall_share);
    printf("    %-14s %6.2f %%   ... for other reasons: launches, Python, communication\n", "other",
           100 * figures->other_idle);
}

static void print_verdict(const struct idle_figures *figures)
{
    if (figures->compute_idle < little) {
        printf("  The GPU is busy: no data loader can win more than %.2f %% here.\n",
               100 * figures->compute_idle);
    } else if (!figures->has_marks) {
        printf("  The GPU computed nothing for %.2f %% of the time. Whose fault that is cannot be "
               "seen from the GPU alone:\n  mark the waits, or run the program again with one "
               "batch used over and over and compare.\n",
               100 * figures->compute_idle);
    } else if (figures->data_idle < little) {
        printf("  Data is not what the GPU waits for (%.2f %%); a faster loader would not help.\n",
               100 * figures->data_idle);
    } else {
        printf("  The GPU waited for data %.2f %% of the time: that is what a faster loader can "
               "win.\n",
               100 * figures->data_idle);
    }
}

static void print_device(const struct idle_device *device, const struct idle_figures *figures)
{
    const struct idle_window *window = &figures->window;
    char span[32];
    char skipped[32];
    units_format_duration(span, sizeof span, (double)(window->end - window->start) / 1e9);
    units_format_duration(skipped, sizeof skipped, window->skipped_s);
    printf("device %s: %" PRIu64 " kernels, %" PRIu64 " copies and fills\n", device->name,
           device->trace.kernels, device->trace.memory_operations);
    printf("  window: %s, from %s after the first kernel on", span, skipped);
    if (window->steps > 0) {
        printf(", %" PRIu64 " steps (p50 %.2f ms, p99 %.2f ms)", window->steps,
               1e3 * figures->step_p50_s, 1e3 * figures->step_p99_s);
    }
    putchar('\n');
    print_share("SM idle", figures->sm_idle, "no kernel ran at all");
    print_share("compute idle", figures->compute_idle,
                "no kernel of the program's own ran (sluice's and NCCL's do not count)");
    print_data_part(figures);
    print_share("exposed copy", figures->exposed_copy,
                "a copy or fill ran, and no kernel beside it");
    print_verdict(figures);
}

static void print_process(const struct idle_process *process)
{
    const struct idle_header *header = &process->header;
    double cpu_ms = 1e-6 * (double)(header->callback_cpu_ns + header->flush_cpu_ns);
    printf("  process %d %s: %" PRIu64 " records, %.1f ms to set up, %.1f ms of CPU time\n",
           process->pid, SAFE(header->program), process->records, 1e-6 * (double)header->setup_ns,
           cpu_ms);
    if (header->state == IDLE_STATE_TRACING) {
        puts("    it ended without exit(): its last second may be missing");
    }
    if (header->lost + header->dropped + header->odd + process->wrong_records > 0) {
        printf("    records missing: %" PRIu64 " not written%s%s, %" PRIu64
               " dropped by CUPTI, %" PRIu64 " without times, %" PRIu64 " damaged\n",
               header->lost, header->write_error != 0 ? ": " : "",
               header->write_error != 0 ? strerror(header->write_error) : "", // NOLINT
               header->dropped, header->odd, process->wrong_records);
    }
    if (process->wrong_marks > 0) {
        printf("    %" PRIu64 " lines of its marks file are wrong\n", process->wrong_marks);
    }
    if (*header->reason != '\0' || *process->problem != '\0') {
        printf("    not traced: %s\n",
               SAFE(*process->problem != '\0' ? process->problem : header->reason));
    }
}

static double wall(const struct launch_result *launch)
{
    return launch->end - launch->start;
}

static void print_cost(const struct idle_report *report)
{
    puts("cost of looking");
    for (size_t i = 0; i < report->run->process_count; i++) {
        print_process(&report->run->processes[i]);
    }
    if (report->run->stray_marks > 0) {
        printf("  %" PRIu64 " files of marks belong to no process that ran kernels\n",
               report->run->stray_marks);
    }
    if (report->compared) {
        printf("  the whole program: %.3f s without tracing, %.3f s with it (%+.2f %%)\n",
               wall(&report->plain), wall(&report->launch),
               100 * (wall(&report->launch) / wall(&report->plain) - 1));
    } else {
        puts("  --compare runs the program again without tracing, to measure the difference");
    }
}

void idle_report_print(const struct idle_report *report)
{
    print_program(report);
    if (!report->any_measured) {
        printf("nothing was measured: %s\n", SAFE(report->reason));
    }
    for (size_t i = 0; i < report->run->device_count; i++) {
        if (report->measured[i]) {
            print_device(&report->run->devices[i], &report->figures[i]);
        }
    }
    if (report->run->process_count > 0) {
        print_cost(report);
    }
    printf("what the driver says about device %s in that time\n", report->nvml_device);
    nvml_print(&report->nvml, stdout, "  ");
    for (size_t i = 0; i < report->run->device_count && !report->named; i++) {
        const char *name = report->run->devices[i].name;
        if (report->measured[i] && strcmp(name, report->nvml_device) != 0) {
            printf("and about device %s\n", name);
            nvml_print(&report->device_nvml[i], stdout, "  ");
        }
    }
}

static void write_launch(struct json *json, const char *key, const struct launch_result *launch)
{
    json_open_object(json, key);
    json_signed(json, "exit_code", launch->code);
    json_signed(json, "signal", launch->signal);
    json_real(json, "wall_s", wall(launch));
    json_real(json, "cpu_s", launch->cpu_seconds);
    json_close_object(json);
}

static void write_data(struct json *json, const struct idle_figures *figures)
{
    json_bool(json, "has_marks", figures->has_marks);
    double missing = NAN; /* null */
    json_real(json, "data_idle", figures->has_marks ? figures->data_idle : missing);
    json_real(json, "idle_in_copy", figures->idle_in_copy_in);
    json_real(json, "other_idle", figures->has_marks ? figures->other_idle : missing);
    json_real(json, "host_wait", figures->has_marks ? figures->wait_share : missing);
    json_real(json, "stream_stall", figures->has_marks ? figures->stall_share : missing);
}

static void write_device(struct json *json, const struct idle_device *device,
                         const struct idle_figures *figures, bool measured)
{
    json_open_object(json, NULL);
    json_text(json, "device", device->name);
    json_unsigned(json, "processes", device->processes);
    json_unsigned(json, "kernels", device->trace.kernels);
    json_unsigned(json, "memory_operations", device->trace.memory_operations);
    json_bool(json, "measured", measured);
    if (measured) {
        const struct idle_window *window = &figures->window;
        json_real(json, "window_s", (double)(window->end - window->start) / 1e9);
        json_real(json, "skipped_s", window->skipped_s);
        json_unsigned(json, "steps", window->steps);
        json_real(json, "step_p50_s", window->steps > 0 ? figures->step_p50_s : (double)NAN);
        json_real(json, "step_p99_s", window->steps > 0 ? figures->step_p99_s : (double)NAN);
        json_real(json, "sm_idle", figures->sm_idle);
        json_real(json, "compute_idle", figures->compute_idle);
        write_data(json, figures);
        json_real(json, "exposed_copy", figures->exposed_copy);
        json_real(json, "exposed_copy_to_device", figures->exposed_copy_in);
    }
    json_close_object(json);
}

static void write_process(struct json *json, const struct idle_process *process)
{
    const struct idle_header *header = &process->header;
    json_open_object(json, NULL);
    json_signed(json, "pid", process->pid);
    json_text(json, "program", header->program);
    json_text(json, "cupti", *header->library != '\0' ? header->library : NULL);
    json_unsigned(json, "cupti_version", header->cupti_version);
    json_text(json, "reason", *header->reason != '\0' ? header->reason : NULL);
    json_text(json, "problem", *process->problem != '\0' ? process->problem : NULL);
    json_bool(json, "ended_with_exit", header->state == IDLE_STATE_ENDED);
    json_unsigned(json, "records", process->records);
    json_unsigned(json, "bytes", process->records * sizeof(struct idle_record));
    json_unsigned(json, "lost", header->lost);
    json_signed(json, "write_errno", header->write_error);
    json_unsigned(json, "dropped", header->dropped);
    json_unsigned(json, "without_times", header->odd);
    json_unsigned(json, "damaged", process->wrong_records);
    json_unsigned(json, "marks", process->marks);
    json_unsigned(json, "wrong_marks", process->wrong_marks);
    json_real(json, "setup_s", 1e-9 * (double)header->setup_ns);
    json_real(json, "callback_cpu_s", 1e-9 * (double)header->callback_cpu_ns);
    json_real(json, "flush_cpu_s", 1e-9 * (double)header->flush_cpu_ns);
    json_close_object(json);
}

void idle_report_json(const struct idle_report *report)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_open_array(&json, "program");
    for (char *const *argument = report->arguments; *argument != NULL; argument++) {
        json_text(&json, NULL, *argument);
    }
    json_close_array(&json);
    write_launch(&json, "run", &report->launch);
    if (report->compared) {
        write_launch(&json, "run_without_tracing", &report->plain);
    }
    json_bool(&json, "measured", report->any_measured);
    json_text(&json, "reason", report->any_measured ? NULL : report->reason);
    json_open_array(&json, "devices");
    for (size_t i = 0; i < report->run->device_count; i++) {
        write_device(&json, &report->run->devices[i], &report->figures[i], report->measured[i]);
    }
    json_close_array(&json);
    json_open_array(&json, "processes");
    for (size_t i = 0; i < report->run->process_count; i++) {
        write_process(&json, &report->run->processes[i]);
    }
    json_close_array(&json);
    json_unsigned(&json, "stray_mark_files", report->run->stray_marks);
    json_text(&json, "nvml_device", report->nvml_device);
    nvml_write_json(&report->nvml, &json, "nvml");
    json_open_array(&json, "device_nvml");
    for (size_t i = 0; i < report->run->device_count; i++) {
        if (report->measured[i]) {
            json_open_object(&json, NULL);
            json_text(&json, "device", report->run->devices[i].name);
            nvml_write_json(&report->device_nvml[i], &json, "nvml");
            json_close_object(&json);
        }
    }
    json_close_array(&json);
    json_close_object(&json);
}
