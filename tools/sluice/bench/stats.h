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
    int pipeline;       /* an enum pipeline, of the columns that do not say */
    bool packable;      /* its pictures are as their makers wrote them: it is no shards */
    bool files;         /* each picture is a file of its own */
    const char *advice; /* what the format says of how it is stored; NULL: nothing */
    double price_get;   /* of 1,000 requests to an object store; 0: not said */
};

/* Whether rows hold pictures; if not, what counts images has nothing to say. */
bool bench_has_images(const struct bench_setting *setting);
/* "images" or "samples". */
const char *bench_rows_are(const struct bench_setting *setting);

/* What the dataset's own facts say; `dataset` has to stay, and the options to be set. */
void bench_setting_look(struct bench_setting *setting, const sluice_dataset *dataset);

/* What packing the dataset would save, as bottleneck_run has it. */
const char *bench_packing(const struct bench_setting *setting, const sluice_loader_stats *stats);

/* Lines "reading", "workers", then one a stage. `seconds`: of the run that `stats` counted. */
void bench_stats_print(const sluice_loader_stats *stats, const struct bottleneck_stages *stages,
                       const struct bench_setting *setting, double seconds);

/* Members of the object that is open. */
void bench_stats_write_setting(struct json *json, const sluice_loader_stats *stats,
                               const struct bench_setting *setting);
/* "samples_per_s", and "images_per_s", which is null where rows hold no pictures. */
void bench_stats_write_rate(struct json *json, const char *prefix, double rate,
                            const struct bench_setting *setting);
void bench_stats_write_stages(struct json *json, const sluice_loader_stats *stats,
                              const struct bottleneck_stages *stages);

#endif
