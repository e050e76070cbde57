/* SPDX-License-Identifier: Apache-2.0 */
/* sim: simulates the library's loader.
 *
 *     sim [--seed N] [--seeds FILE] [--from N] [--epochs N] [--seconds S] [--verbose]
 *
 * --verbose: describes each run; given twice: each fiber switch, too. Without --seed, cases start
 * at --from (0) and continue until the given number of epochs or seconds. --seeds: runs seeds that
 * once failed, one per line. A failing case ends the program with status 1 and its seed; the same
 * seed reproduces it. */
#include "cases.h"
#include "data.h"
#include "rows.h"
#include "run.h"
#include "world.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS_MAX = 4 };

typedef struct wanted {
    bool one;
    uint32_t verbose;
    uint64_t seed, from, epochs;
    double seconds;
    const char *file;
} wanted;

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A feature, and the epochs of cases that have it. */
typedef struct feature {
    const char *name;
    bool (*is_in)(const sim_case *of);
    uint64_t epochs;
} feature;

static bool is_plain(const sim_case *of)
{
    return !of->mixed && of->kind == SIM_SAMPLES && of->picture == SIM_NO_PICTURE;
}

static bool is_mix(const sim_case *of)
{
    return of->mixed;
}

static bool is_alone(const sim_case *of)
{
    return of->picture == SIM_RESIZED;
}

static bool is_mixup(const sim_case *of)
{
    return of->picture == SIM_MIXUP;
}

static bool is_mosaic(const sim_case *of)
{
    return of->picture == SIM_MOSAIC;
}

static bool is_blend(const sim_case *of)
{
    return of->picture == SIM_BLEND;
}

static bool is_bucket(const sim_case *of)
{
    return of->picture == SIM_BUCKET;
}

static bool is_window(const sim_case *of)
{
    return of->kind == SIM_WINDOWS;
}

static bool is_packed(const sim_case *of)
{
    return of->kind == SIM_PACKED;
}

static feature features[] = {
    {"none", is_plain, 0},     {"mixes", is_mix, 0},      {"pictures", is_alone, 0},
    {"mixup", is_mixup, 0},    {"mosaics", is_mosaic, 0}, {"mixed batches", is_blend, 0},
    {"buckets", is_bucket, 0}, {"windows", is_window, 0}, {"packed rows", is_packed, 0}};

static void count_features(const sim_case *of, uint64_t epochs)
{
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        features[i].epochs += features[i].is_in(of) ? epochs : 0;
    }
}

static void print_features(void)
{
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        (void)printf("%s%s %llu", i > 0 ? ", " : "epochs by feature: ", features[i].name,
                     (unsigned long long)features[i].epochs);
    }
    (void)printf(", in device memory %llu (%llu devices lost)\n",
                 (unsigned long long)sim_run_device_epochs(),
                 (unsigned long long)sim_run_devices_lost());
}

static uint64_t run_case(uint64_t seed)
{
    static char title[256];
    sim_draw draw = {seed};
    uint64_t trace = 0;
    sim_case of = sim_draw_case(&draw);
    (void)snprintf(
        title, sizeof(title),
        "seed %llu (%s, batch %u, shuffle %d, last %d, on bad %d, %u bad%s, members %u %s, "
        "repeats %u, order %d, picture %d, weights %g:%g, kind %d)",
        (unsigned long long)seed, of.data->name, of.global, of.shuffle, of.last_batch, of.on_bad,
        of.bad_count, of.dead_count > 0 ? ", dead" : "", of.members, of.partners, of.repeats,
        (int)of.order, (int)of.picture, of.weights[0], of.weights[1], (int)of.kind);
    sim_set_title(title);
    const uint32_t runs = 2 + sim_below(&draw, RUNS_MAX - 1);
    const uint64_t before = sim_run_epochs();
    sim_disk_set(&(sim_disk_how){.delay_ns = 0});
    sim_begin(seed);
    sluice_dataset *dataset = sim_open_data(&of);
    sim_run_learn(&of, dataset);
    sim_rows_begin(&of);
    sim_spoil(&of);
    for (uint32_t i = 0; i < runs; i++) {
        sim_run(&of, dataset, sim_draw_next(&draw));
        trace = sim_mix(trace ^ sim_trace());
    }
    sim_spoil(&of);
    sluice_dataset_close(dataset);
    count_features(&of, sim_run_epochs() - before);
    return trace;
}

static void run_one(uint64_t seed)
{
    const uint64_t trace = run_case(seed);
    (void)printf("seed %llu: trace %016llx\n", (unsigned long long)seed, (unsigned long long)trace);
    if (run_case(seed) != trace) {
        sim_fail("the same seed did something else");
    }
}

static void run_file(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        sim_fail("cannot read %s", path);
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        char *end;
        const uint64_t seed = strtoull(line, &end, 10);
        if (end != line) {
            run_one(seed);
        }
    }
    (void)fclose(file);
}

static void run_many(const wanted *how)
{
    const double begin = seconds_now();
    uint64_t seed = how->from;
    while (sim_run_epochs() < how->epochs && seconds_now() - begin < how->seconds) {
        (void)run_case(seed++);
    }
    (void)printf("%llu epochs of %llu cases, from seed %llu on, in %.1f s: all as they should be\n",
                 (unsigned long long)sim_run_epochs(), (unsigned long long)(seed - how->from),
                 (unsigned long long)how->from, seconds_now() - begin);
    print_features();
}

int main(int argc, char **argv)
{
    wanted how = {.epochs = UINT64_MAX, .seconds = 1e9};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const char *option = argv[i];
        i += strcmp(option, "--verbose") != 0;
        if (strcmp(option, "--seed") == 0) {
            how.one = true;
            how.seed = strtoull(value, NULL, 10);
        } else if (strcmp(option, "--seeds") == 0) {
            how.file = value;
        } else if (strcmp(option, "--from") == 0) {
            how.from = strtoull(value, NULL, 10);
        } else if (strcmp(option, "--epochs") == 0) {
            how.epochs = strtoull(value, NULL, 10);
        } else if (strcmp(option, "--seconds") == 0) {
            how.seconds = strtod(value, NULL);
        } else if (strcmp(option, "--verbose") == 0) {
            how.verbose++;
        } else {
            (void)fprintf(stderr, "sim: unknown option %s\n", option);
            return 2;
        }
    }
    (void)mallopt(M_MMAP_THRESHOLD, 64 << 20); /* freed memory is reused, not mapped again */
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    sim_data_open();
    sim_set_verbose(how.verbose);
    if (how.file != NULL) {
        run_file(how.file);
    }
    if (how.one) {
        run_one(how.seed);
    } else if (how.file == NULL || how.epochs != UINT64_MAX || how.seconds < 1e9) {
        run_many(&how);
    }
    sim_set_verbose(0);
    sim_data_close();
    return 0;
}
