/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the datasets that a command names, and joins or mixes them. Main thread. */
#include "data.h"

#include "about.h"
#include "exit_code.h"
#include "interrupt.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *advice_for(const sluice_error *error)
{
    if (strstr(error->text, "allow_outside") != NULL) {
        return "do that only if you trust the author of the list";
    }
    if (strstr(error->text, "looked for ") != NULL ||
        strstr(error->text, "the folder is empty") != NULL ||
        strstr(error->text, "unknown format") != NULL) {
        return "a dataset is a folder of class folders with images, the output of `sluice pack`, "
               "or "
               "one of the formats in docs/formats.md";
    }
    if (error->sys_errno == ENOENT) {
        return strstr(error->file, "://") != NULL
                   ? "check the address"
                   : "check the path; `sluice synth FOLDER` makes a dataset to try things with";
    }
    return NULL;
}

static int32_t opening_is_stopped(void *user)
{
    (void)user;
    return interrupt_pending();
}

/* Reports why no dataset was opened, unless the user stopped it. */
static int report_unopened(const sluice_error *error, const char *advice)
{
    return error->status == SLUICE_CANCELED && interrupt_pending() ? TOOL_INTERRUPTED
                                                                   : report_error(error, advice);
}

static sluice_dataset *open_one(const char *path, const struct data_folder *folder, int *code)
{
    sluice_dataset_options options = folder->options;
    options.fields = folder->fields.at;
    options.field_count = (uint32_t)folder->fields.count;
    options.should_stop = opening_is_stopped;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, &options, &error) < 0) {
        *code = report_unopened(&error, advice_for(&error));
        return NULL;
    }
    about_warn(dataset, path);
    return dataset;
}

static void close_all(sluice_dataset **datasets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sluice_dataset_close(datasets[i]);
    }
}

static bool names_file(const struct data_folder *folder)
{
    return folder->labels != NULL && strcmp(folder->labels, "same") != 0 &&
           strcmp(folder->labels, "union") != 0;
}

bool data_labels(const struct data_folder *folder, sluice_label_options *options)
{
    *options = (sluice_label_options)SLUICE_LABEL_OPTIONS_INIT;
    options->file = names_file(folder) ? folder->labels : NULL;
    options->allow_case_duplicates = folder->options.allow_case_duplicates;
    return folder->labels != NULL && strcmp(folder->labels, "same") != 0;
}

/* Does the same for datasets that will be mixed with others: the file's labels then apply to the
 * mix. */
static bool labels_of_joined(const struct data_folder *folder, sluice_label_options *options)
{
    const bool any = data_labels(folder, options);
    if (folder->mixed.count > 0 && options->file != NULL) {
        options->file = NULL;
        options->allow_case_duplicates = 1;
    }
    return any;
}

/* Opens the dataset at `path` and those joined to it. */
static sluice_dataset *open_joined(const char *path, const struct data_folder *folder, int *code)
{
    sluice_dataset *all[OPTION_LIST_MAX + 1];
    size_t count = 0;
    for (; count < folder->with.count + 1; count++) {
        all[count] = open_one(count == 0 ? path : folder->with.at[count - 1], folder, code);
        if (all[count] == NULL) {
            close_all(all, count);
            return NULL;
        }
    }
    sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
    options.fields = folder->common.count > 0 ? folder->common.at : NULL;
    options.field_count = (uint32_t)folder->common.count;
    sluice_label_options labels;
    options.labels = labels_of_joined(folder, &labels) ? &labels : NULL;
    sluice_dataset *joined = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_concat(&joined, all, count, &options, &error) < 0) {
        *code = report_error(&error, advice_for(&error));
    }
    close_all(all, count);
    return joined;
}

/* Selects the requested samples, one choice after the other. */
static sluice_dataset *choose(sluice_dataset *dataset, const sluice_subset_options *options,
                              int *code)
{
    sluice_dataset *subset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_subset(&subset, dataset, options, &error) < 0) {
        *code = report_unopened(&error, NULL);
    }
    sluice_dataset_close(dataset);
    return subset;
}

/* Splits PATH=WEIGHT, with the path in the caller's memory. */
static bool split_weight(const char *text, char *path, size_t bytes, double *weight)
{
    char *end;
    const char *sign = strrchr(text, '=');
    if (sign == NULL || sign == text || (size_t)(sign - text) >= bytes) {
        return false;
    }
    memcpy(path, text, (size_t)(sign - text));
    path[sign - text] = '\0';
    *weight = strtod(sign + 1, &end);
    return end > sign + 1 && *end == '\0' && *weight > 0 && isfinite(*weight);
}

/* Opens the datasets to mix with the first; returns whether all could be opened. */
static bool open_mixed(sluice_dataset **all, double *weights, size_t *count,
                       const struct data_folder *folder, int *code)
{
    char path[4096];
    for (size_t i = 0; i < folder->mixed.count; i++) {
        if (!split_weight(folder->mixed.at[i], path, sizeof path, &weights[*count])) {
            report("--mix %s: expected PATH=WEIGHT, with a weight above 0", folder->mixed.at[i]);
            *code = TOOL_USAGE;
            return false;
        }
        all[*count] = open_one(path, folder, code);
        if (all[*count] == NULL) {
            return false;
        }
        (*count)++;
    }
    return true;
}

static sluice_dataset *mix(sluice_dataset *dataset, const struct data_folder *folder, int *code)
{
    sluice_dataset *all[OPTION_LIST_MAX + 1] = {dataset};
    double weights[OPTION_LIST_MAX + 1] = {1};
    size_t count = 1;
    sluice_dataset *mixed = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.fields = folder->common.count > 0 ? folder->common.at : NULL;
    options.field_count = (uint32_t)folder->common.count;
    sluice_label_options labels;
    options.labels = data_labels(folder, &labels) ? &labels : NULL;
    options.weights = weights;
    options.row_count = 1;
    if (open_mixed(all, weights, &count, folder, code) &&
        sluice_dataset_mix(&mixed, all, count, &options, &error) < 0) {
        *code = report_error(&error, advice_for(&error));
    }
    close_all(all, count);
    return mixed;
}

bool data_use_remote(const struct data_folder *folder, int *code)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_remote_configure(&folder->remote, &error) < 0) {
        *code = report_error(&error, NULL);
        return false;
    }
    return true;
}

sluice_dataset *data_open(const char *path, const struct data_folder *folder, int *code)
{
    if (!data_use_remote(folder, code)) {
        return NULL;
    }
    const bool joined =
        folder->with.count > 0 ||
        ((folder->common.count > 0 || names_file(folder)) && folder->mixed.count == 0);
    sluice_dataset *dataset =
        joined ? open_joined(path, folder, code) : open_one(path, folder, code);
    sluice_subset_options choices[3] = {SLUICE_SUBSET_OPTIONS_INIT, SLUICE_SUBSET_OPTIONS_INIT,
                                        SLUICE_SUBSET_OPTIONS_INIT};
    choices[0].index_file = folder->index_file;
    choices[1].ranges = folder->ranges;
    choices[2].where = folder->where;
    sluice_scan_options scan = SLUICE_SCAN_OPTIONS_INIT;
    scan.max_sample_bytes = folder->max_sample;
    scan.should_stop = opening_is_stopped;
    choices[2].scan = &scan;
    const bool asked[3] = {folder->index_file != NULL, folder->ranges != NULL,
                           folder->where != NULL};
    for (int i = 0; dataset != NULL && i < 3; i++) {
        dataset = asked[i] ? choose(dataset, &choices[i], code) : dataset;
    }
    return dataset != NULL && folder->mixed.count > 0 ? mix(dataset, folder, code) : dataset;
}

uint64_t data_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1; /* more than 1024 CPUs: then a count must be given by hand */
    }
    return (uint64_t)CPU_COUNT(&set);
}
