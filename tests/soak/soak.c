/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak: runs hours of epochs over real files with failing reads, for a release.
 *
 *     soak [--seconds N] [--seed N] [--report-seconds N] [PATH ...]
 *
 * Each round opens a loader with a configuration drawn from the seed and makes its reads short,
 * late, interrupted or temporarily failing. It takes a whole epoch, saves halfway and resumes in a
 * second loader, cancels or closes midway, or makes some byte ranges of the files permanently
 * unreadable. The batches must equal those of the same epoch without faults: compares hashes of all
 * batches or, with unreadable ranges, of the remaining rows.
 *
 * Between rounds, no loader is open: the numbers of open descriptors and of threads must then be as
 * after warming up, and resident memory must not grow. Prints a line for each report. Exit codes:
 * 0: all checks passed; 1: a check failed; 2: wrong arguments.
 */
#include "batches.h"
#include "checksum.h"
#include "fault_setup.h"
#include "packed.h"
#include "philox.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 5,
    PER_CLASS = 30,
    SAMPLES = CLASSES * PER_CLASS,
    ORDERS = 3,
    EPOCHS = 4,
    PATHS_MOST = 16,
    REPORTS_MOST = 100000
};

#define SECOND_NS      UINT64_C(1000000000)
#define GROWTH_KIB     1024 /* allocator noise: more growth in the second half is a leak */
#define WARM_UP_ROUNDS 8
#define LATE_MOST_NS   UINT64_C(1000000)

/* The settings of a round, all drawn from its number. */
typedef enum action { WHOLE, SAVED, CANCELED, CLOSED, DEAD, ACTIONS } action;

typedef struct round {
    uint64_t number, epoch;
    uint32_t path;
    action action;
    sluice_loader_options options;
    sl_fault_config fault;
} round_plan;

typedef struct report {
    uint64_t at_ns, rounds, rss_kib;
} report;

typedef struct soak {
    uint64_t seed, seconds, report_seconds;
    uint32_t path_count;
    char paths[PATHS_MOST][300];
    batches sound[PATHS_MOST][ORDERS][EPOCHS]; /* without faults */
    uint64_t rounds, rows, of_action[ACTIONS];
    uint32_t fds, threads; /* after warming up */
    report *reports;
    uint32_t report_count;
} soak;

static _Noreturn void fail(const soak *of, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void fail(const soak *of, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "soak: seed %llu, round %llu: ", (unsigned long long)of->seed,
            (unsigned long long)of->rounds);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

/* ---- the process ---- */

static uint32_t entries_of(const char *folder)
{
    uint32_t count = 0;
    DIR *opened = opendir(folder);
    if (opened == NULL) {
        perror(folder);
        exit(1);
    }
    while (readdir(opened) != NULL) {
        count++;
    }
    (void)closedir(opened);
    return count - 2; /* "." and ".." */
}

static uint64_t rss_kib(void)
{
    char line[200];
    unsigned long long kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    if (status == NULL) {
        perror("/proc/self/status");
        exit(1);
    }
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtoull(line + 6, NULL, 10);
        }
    }
    (void)fclose(status);
    return kib;
}

/* ---- what a round is ---- */

static uint64_t draw(const soak *of, uint64_t round, uint32_t question, uint64_t below)
{
    return sl_philox_u64(of->seed, round, question) % below;
}

/* Transient faults: the loader retries. Failures are rare enough not to come in a row. */
static sl_fault_config passing_faults(const soak *of, uint64_t round)
{
    return (sl_fault_config){.seed = sl_philox_u64(of->seed, round, 20),
                             .late_ns = LATE_MOST_NS,
                             .short_permille = (uint32_t)draw(of, round, 21, 400),
                             .late_permille = (uint32_t)draw(of, round, 22, 200),
                             .again_permille = (uint32_t)draw(of, round, 23, 100),
                             .eio_permille = (uint32_t)draw(of, round, 24, 10)};
}

static round_plan plan_of(const soak *of, uint64_t round)
{
    round_plan plan = {.number = round,
                       .epoch = draw(of, round, 0, EPOCHS),
                       .path = (uint32_t)draw(of, round, 1, of->path_count),
                       .action = (action)draw(of, round, 2, ACTIONS),
                       .options = setup_options(),
                       .fault = passing_faults(of, round)};
    sluice_loader_options *options = &plan.options;
    options->shuffle = (int32_t)draw(of, round, 3, ORDERS);
    options->workers = 1 + (uint32_t)draw(of, round, 4, 4);
    options->prefetch = 2 + (uint32_t)draw(of, round, 5, 5);
    options->io_backend = draw(of, round, 6, 2) == 0 ? SLUICE_IO_AUTO : SLUICE_IO_PREAD;
    options->io_depth = 1 + (uint32_t)draw(of, round, 7, 64);
    options->io_threads = 1 + (uint32_t)draw(of, round, 8, 8);
    options->resident_bytes = draw(of, round, 9, 3); /* 1: no copy in memory */
    options->last_batch = SLUICE_LAST_SHORT;
    if (plan.action == DEAD) {
        options->on_bad_sample = SLUICE_BAD_MASK;
        plan.fault.dead_permille = 30;
        plan.fault.eio_permille = 0;
    }
    return plan;
}

/* ---- a round ---- */

static sluice_loader *open_loader(const soak *of, const round_plan *plan,
                                  const sl_fault_config *fault)
{
    return fault_loader(of->paths[plan->path], &plan->options, fault);
}

static const batches *sound_of(const soak *of, const round_plan *plan)
{
    return &of->sound[plan->path][plan->options.shuffle][plan->epoch];
}

static void make_sound_epoch(soak *of, const round_plan *plan)
{
    batches *sound = &of->sound[plan->path][plan->options.shuffle][plan->epoch];
    sluice_loader *loader = open_loader(of, plan, NULL);
    batches_collect(sound, loader, plan->epoch);
    sluice_loader_close(loader);
    if (sound->end != SLUICE_END || sound->rows == 0) {
        fail(of, "%s: no epoch without faults", of->paths[plan->path]);
    }
}

static void make_sound_epochs(soak *of)
{
    round_plan plan = {.options = setup_options()};
    plan.options.last_batch = SLUICE_LAST_SHORT;
    for (plan.path = 0; plan.path < of->path_count; plan.path++) {
        for (plan.options.shuffle = 0; plan.options.shuffle < ORDERS; plan.options.shuffle++) {
            for (plan.epoch = 0; plan.epoch < EPOCHS; plan.epoch++) {
                make_sound_epoch(of, &plan);
            }
        }
    }
}

static void expect_equal(const soak *of, const round_plan *plan, const batches *sound,
                         const batches *all)
{
    if (all->end != SLUICE_END || !batches_equal(sound, all)) {
        fail(of, "%s: epoch %llu of %llu rows ends as %d with %llu rows, hash %016llx for %016llx",
             of->paths[plan->path], (unsigned long long)plan->epoch,
             (unsigned long long)sound->rows, (int)all->end, (unsigned long long)all->rows,
             (unsigned long long)sl_checksum(all->images, all->rows * all->row_bytes),
             (unsigned long long)sl_checksum(sound->images, sound->rows * sound->row_bytes));
    }
}

static void run_whole(soak *of, const round_plan *plan, const batches *sound)
{
    batches all;
    sluice_loader *loader = open_loader(of, plan, &plan->fault);
    batches_collect(&all, loader, plan->epoch);
    sluice_loader_close(loader);
    expect_equal(of, plan, sound, &all);
    of->rows += all.rows;
    batches_free(&all);
}

/* Takes half of the epoch, and the rest from another loader with the cursor. */
static void run_saved(soak *of, const round_plan *plan, const batches *sound)
{
    batches all = {0};
    batches rest;
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    sluice_loader *loader = open_loader(of, plan, &plan->fault);
    if (sluice_loader_start_epoch(loader, plan->epoch) != SLUICE_OK) {
        fail(of, "start_epoch failed");
    }
    batches_continue(&all, loader, draw(of, plan->number, 10, sound->steps));
    if (sluice_loader_save(loader, cursor, &bytes) != SLUICE_OK) {
        fail(of, "save failed");
    }
    sluice_loader_close(loader);
    loader = open_loader(of, plan, &plan->fault);
    uint64_t epoch;
    if (sluice_loader_restore(loader, cursor, bytes, &epoch) != SLUICE_OK ||
        sluice_loader_start_epoch(loader, epoch) != SLUICE_OK) {
        fail(of, "restore failed");
    }
    batches_continue(&rest, loader, UINT64_MAX);
    sluice_loader_close(loader);
    batches_append(&all, &rest);
    all.end = rest.end;
    expect_equal(of, plan, sound, &all);
    of->rows += all.rows;
    batches_free(&all);
    batches_free(&rest);
}

static void *cancel_main(void *loader)
{
    sluice_loader_cancel(loader);
    return NULL;
}

/* Ends midway: the batches taken until then are right, and close returns. */
static void run_part(soak *of, const round_plan *plan, const batches *sound)
{
    batches part;
    pthread_t canceler;
    const uint64_t steps = draw(of, plan->number, 11, sound->steps + 1);
    sluice_loader *loader = open_loader(of, plan, &plan->fault);
    if (sluice_loader_start_epoch(loader, plan->epoch) != SLUICE_OK) {
        fail(of, "start_epoch failed");
    }
    batches_continue(&part, loader, steps);
    if (part.end != SLUICE_OK || part.steps != steps ||
        (part.rows > 0 && memcmp(part.images, sound->images, part.rows * part.row_bytes) != 0)) {
        fail(of, "%s: the first %llu batches of epoch %llu are wrong", of->paths[plan->path],
             (unsigned long long)steps, (unsigned long long)plan->epoch);
    }
    of->rows += part.rows;
    batches_free(&part);
    if (plan->action == CANCELED) {
        if (pthread_create(&canceler, NULL, cancel_main, loader) != 0) {
            fail(of, "no thread");
        }
        batches_continue(&part, loader, UINT64_MAX);
        if (part.end != SLUICE_CANCELED && part.end != SLUICE_END) {
            fail(of, "canceled, and then %d", (int)part.end);
        }
        batches_free(&part);
        (void)pthread_join(canceler, NULL);
    }
    sluice_loader_close(loader);
}

static void run_dead(soak *of, const round_plan *plan, const batches *sound)
{
    batches all;
    sluice_loader *loader = open_loader(of, plan, &plan->fault);
    batches_collect(&all, loader, plan->epoch);
    sluice_loader_close(loader);
    if (all.end != SLUICE_END || all.rows != sound->rows) {
        fail(of, "%s: with dead places the epoch ends as %d with %llu rows", of->paths[plan->path],
             (int)all.end, (unsigned long long)all.rows);
    }
    for (uint64_t i = 0; i < all.rows; i++) {
        if (all.indices[i] != sound->indices[i] ||
            (all.mask[i] && memcmp(all.images + i * all.row_bytes,
                                   sound->images + i * all.row_bytes, all.row_bytes) != 0)) {
            fail(of, "%s: row %llu is wrong beside dead places", of->paths[plan->path],
                 (unsigned long long)i);
        }
    }
    of->rows += all.rows;
    batches_free(&all);
}

static void run_round(soak *of)
{
    const round_plan plan = plan_of(of, of->rounds);
    const batches *sound = sound_of(of, &plan);
    switch (plan.action) {
    case SAVED:
        run_saved(of, &plan, sound);
        break;
    case CANCELED:
    case CLOSED:
        run_part(of, &plan, sound);
        break;
    case DEAD:
        run_dead(of, &plan, sound);
        break;
    default:
        run_whole(of, &plan, sound);
        break;
    }
    of->of_action[plan.action]++;
    of->rounds++;
}

/* ---- what must stay as it is ---- */

static void add_report(soak *of, uint64_t begun_ns)
{
    (void)malloc_trim(0); /* returns free memory */
    const report now = {setup_now_ns() - begun_ns, of->rounds, rss_kib()};
    const uint32_t fds = entries_of("/proc/self/fd");
    const uint32_t threads = entries_of("/proc/self/task");
    if (of->report_count == 0) {
        of->fds = fds;
        of->threads = threads;
    }
    if (of->report_count < REPORTS_MOST) {
        of->reports[of->report_count++] = now;
    }
    printf("%8.0f s  %8llu rounds  %10llu rows  %7llu KiB  %3u descriptors  %2u threads\n",
           (double)now.at_ns / 1e9, (unsigned long long)of->rounds, (unsigned long long)of->rows,
           (unsigned long long)now.rss_kib, fds, threads);
    (void)fflush(stdout);
    if (fds != of->fds || threads != of->threads) {
        fail(of, "%u descriptors and %u threads are open, %u and %u before", fds, threads, of->fds,
             of->threads);
    }
}

static uint64_t most_rss(const soak *of, uint32_t first, uint32_t end)
{
    uint64_t most = 0;
    for (uint32_t i = first; i < end; i++) {
        most = of->reports[i].rss_kib > most ? of->reports[i].rss_kib : most;
    }
    return most;
}

/* Returns KiB per hour, by least squares over the second half. */
static double slope_of(const soak *of)
{
    const uint32_t first = of->report_count / 2;
    const double n = of->report_count - first;
    double x = 0;
    double y = 0;
    double xx = 0;
    double xy = 0;
    for (uint32_t i = first; i < of->report_count; i++) {
        const double hours = (double)of->reports[i].at_ns / 3600e9;
        const double kib = (double)of->reports[i].rss_kib;
        x += hours;
        y += kib;
        xx += hours * hours;
        xy += hours * kib;
    }
    const double spread = n * xx - x * x;
    return spread > 0 ? (n * xy - x * y) / spread : 0;
}

static void expect_no_growth(const soak *of)
{
    const uint32_t half = of->report_count / 2;
    const uint32_t begin = of->report_count / 8;
    if (half <= begin) {
        printf("soak: too few reports to say whether memory grows\n");
        return;
    }
    const uint64_t before = most_rss(of, begin, half);
    const uint64_t after = most_rss(of, half, of->report_count);
    printf("soak: resident memory: at most %llu KiB in the first half, %llu in the second, "
           "%+.0f KiB an hour\n",
           (unsigned long long)before, (unsigned long long)after, slope_of(of));
    if (after > before + GROWTH_KIB) {
        fail(of, "resident memory grows: %llu KiB, then %llu KiB", (unsigned long long)before,
             (unsigned long long)after);
    }
}

/* ---- the files ---- */

static void pack_folder(const char *from, const char *to)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = setup_dataset(from);
    options.keep_order = 1;
    if (sluice_pack(dataset, to, &options, NULL, &error) != SLUICE_OK) {
        fprintf(stderr, "soak: %s: %s\n", from, error.text);
        exit(1);
    }
    sluice_dataset_close(dataset);
}

/* Reads each dataset of the caller directly and packed. */
static void add_path(soak *of, const char *path, const char *folder)
{
    if (of->path_count + 2 > PATHS_MOST) {
        fprintf(stderr, "soak: more than %d paths\n", PATHS_MOST / 2);
        exit(2);
    }
    char *own = of->paths[of->path_count++];
    char *packed = of->paths[of->path_count];
    (void)snprintf(own, sizeof(of->paths[0]), "%s", path);
    (void)snprintf(packed, sizeof(of->paths[0]), "%s/packed%u", folder, of->path_count++);
    pack_folder(own, packed);
}

static void add_made(soak *of, const char *folder)
{
    char *raw = of->paths[of->path_count++];
    (void)snprintf(raw, sizeof(of->paths[0]), "%s/raw", folder);
    packed_make(raw, &(packed_options){.samples = SAMPLES,
                                       .classes = CLASSES,
                                       .raw_every = 3,
                                       .shard_bytes = 40000,
                                       .zstd_level = 1});
}

/* ---- arguments ---- */

static uint64_t number_of(const char *option, const char *text)
{
    char *end = NULL;
    const unsigned long long value = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0') {
        fprintf(stderr, "soak: %s needs a number\n", option);
        exit(2);
    }
    return value;
}

static int take_options(soak *of, int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        uint64_t *value = strcmp(argv[at], "--seconds") == 0          ? &of->seconds
                          : strcmp(argv[at], "--seed") == 0           ? &of->seed
                          : strcmp(argv[at], "--report-seconds") == 0 ? &of->report_seconds
                                                                      : NULL;
        if (value == NULL) {
            fprintf(stderr, "usage: soak [--seconds N] [--seed N] [--report-seconds N] "
                            "[PATH ...]\n");
            exit(2);
        }
        *value = number_of(argv[at], at + 1 < argc ? argv[at + 1] : NULL);
    }
    return at;
}

int main(int argc, char **argv)
{
    static soak of = {.seed = 1, .seconds = 3600, .report_seconds = 30};
    photo_folder photos;
    char folder[256];
    of.reports = calloc(REPORTS_MOST, sizeof(*of.reports));
    int at = take_options(&of, argc, argv);
    if (of.reports == NULL) {
        return 1;
    }
    temporary_directory(folder, sizeof(folder));
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    add_path(&of, photos.path, folder);
    add_made(&of, folder);
    for (; at < argc; at++) {
        add_path(&of, argv[at], folder);
    }
    /* allocations made once: sound epochs, and library caches */
    make_sound_epochs(&of);
    while (of.rounds < (uint64_t)WARM_UP_ROUNDS * of.path_count) {
        run_round(&of);
    }
    const uint64_t begun_ns = setup_now_ns();
    uint64_t next_ns = begun_ns;
    while (setup_now_ns() - begun_ns < of.seconds * SECOND_NS) {
        run_round(&of);
        if (setup_now_ns() >= next_ns) {
            add_report(&of, begun_ns);
            next_ns = setup_now_ns() + of.report_seconds * SECOND_NS;
        }
    }
    add_report(&of, begun_ns);
    printf("soak: whole %llu, continued %llu, canceled %llu, closed %llu, dead places %llu\n",
           (unsigned long long)of.of_action[WHOLE], (unsigned long long)of.of_action[SAVED],
           (unsigned long long)of.of_action[CANCELED], (unsigned long long)of.of_action[CLOSED],
           (unsigned long long)of.of_action[DEAD]);
    expect_no_growth(&of);
    photo_folder_remove(&photos);
    remove_tree(folder);
    return 0;
}
