/* SPDX-License-Identifier: Apache-2.0 */
/* stats: the part of a benchmark's report that comes from the loader's statistics. Pure. */
#ifndef TOOL_BENCH_STATS_H
#define TOOL_BENCH_STATS_H

#include "bottleneck.h"
#include "column_set.h"
#include "json.h"

#include <sluice/loader.h>

struct bench_setting {
    const char *dataset; /* its path */
    const sluice_loader_options *options;
    const struct column_set *columns;
    uint32_t processors;
    int pipeline;       /* an enum pipeline, of columns that set none */
    bool packable;      /* its images are in their original form: the dataset is not packed */
    bool files;         /* each image is a separate file */
    const char *advice; /* the format's remark about its storage; NULL: none */
    double price_get;   /* of 1,000 requests to an object store; 0: not given */
};

/* Returns whether rows have images; if not, image counts are meaningless. */
bool bench_has_images(const struct bench_setting *setting);
/* Returns "images" or "samples". */
const char *bench_rows_are(const struct bench_setting *setting);

/* Fills in the dataset's own facts; `dataset` must stay, and the options must be set. */
void bench_setting_look(struct bench_setting *setting, const sluice_dataset *dataset);

/* Returns the savings from packing the dataset, as in bottleneck_run. */
const char *bench_packing(const struct bench_setting *setting, const sluice_loader_stats *stats);

/* Prints the lines "reading", "workers", then one a stage. `seconds`: of the run that `stats`
 * counted. */
void bench_stats_print(const sluice_loader_stats *stats, const struct bottleneck_stages *stages,
                       const struct bench_setting *setting, double seconds);

/* Writes members of the open object. */
void bench_stats_write_setting(struct json *json, const sluice_loader_stats *stats,
                               const struct bench_setting *setting);
/* Writes "samples_per_s", and "images_per_s", which is null if rows have no images. */
void bench_stats_write_rate(struct json *json, const char *prefix, double rate,
                            const struct bench_setting *setting);
void bench_stats_write_stages(struct json *json, const sluice_loader_stats *stats,
                              const struct bottleneck_stages *stages);

#endif
