/* SPDX-License-Identifier: Apache-2.0 */
/* idle_report: the results of `sluice idle`, for people and as JSON. Main thread. */
#ifndef TOOL_IDLE_REPORT_H
#define TOOL_IDLE_REPORT_H

#include "figures.h"
#include "launch.h"
#include "nvml.h"
#include "records.h"

#include <stdbool.h>

struct idle_report {
    char *const *arguments; /* of the program */
    struct launch_result launch;
    bool compared; /* `plain` ran before, without tracing */
    struct launch_result plain;
    const struct idle_run *run;
    struct idle_figures figures[IDLE_DEVICES_MAX]; /* of the run's devices */
    bool measured[IDLE_DEVICES_MAX];               /* whether there are results */
    bool any_measured;
    char reason[512];         /* why nothing was measured, else "" */
    struct nvml_summary nvml; /* of the named device, else of the first measured one */
    char nvml_device[64];
    bool named;                                        /* by --device */
    struct nvml_summary device_nvml[IDLE_DEVICES_MAX]; /* of the run's devices, if measured */
};

void idle_report_print(const struct idle_report *report);
void idle_report_json(const struct idle_report *report);

#endif
