/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_classes.h"

#include "exit_code.h"
#include "report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int read_class(const sluice_dataset *dataset, uint64_t index, uint32_t *class)
{
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_get_sample(dataset, index, &info, &error) < 0) {
        return report_error(&error, NULL);
    }
    if (info.label < 0 || info.label > UINT32_MAX) {
        report("sample %" PRIu64 " has no class label, which episodes need", index);
        return TOOL_BAD_DATA;
    }
    *class = (uint32_t)info.label;
    return TOOL_FINE;
}

static bool needs_classes(const sluice_loader_options *options)
{
    return options->episode_classes != 0 ||
           (options->partners != NULL && strstr(options->partners, "_class") != NULL);
}

int sample_classes_take(const sluice_dataset *dataset, sluice_loader_options *options,
                        uint32_t **classes)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    *classes = NULL;
    if (!needs_classes(options) || sluice_dataset_get_info(dataset, &info) < 0) {
        return TOOL_FINE;
    }
    *classes = calloc(info.samples, sizeof **classes);
    if (*classes == NULL) {
        report("out of memory for the classes of samples");
        return TOOL_FAILED;
    }
    for (uint64_t i = 0; i < info.samples; i++) {
        const int code = read_class(dataset, i, &(*classes)[i]);
        if (code != TOOL_FINE) {
            return code;
        }
    }
    options->classes = *classes;
    options->class_count = info.samples;
    return TOOL_FINE;
}
