/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover_bench: measures the cost of handing a sample from the reader to a worker and on to the
 * consumer.
 *
 * A whole loader over an artificial dataset: every sample has BYTES bytes in one sparse file, and
 * an int as its label. Reads complete at once without reading (sl_fault_config.instant), and
 * unpacking returns the number without reading the bytes. What remains is requests, placement,
 * memory, queues, locks and wake-ups. Full shuffle, batches of 256, through the page cache. With
 * --work, each sample occupies its worker for that long, asleep, to simulate the workers of a large
 * machine on a small one. Prints samples per second, and per sample the CPU time and the locks,
 * waits and wake-ups of each kind of thread (lock_counts.h).
 *
 *   handover_bench [--seconds N] [--workers N] [--bytes N] [--prefetch N]
 *                  [--work MICROSECONDS] [--read]
 */
#include "clock.h"
#include "error.h"
#include "loader.h"
#include "lock_counts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

typedef struct settings {
    uint64_t seconds, bytes, work_us;
    uint32_t workers, prefetch;
    bool reads;
} settings;

/* Samples that are read fit into the page cache. */
static uint64_t samples_of(const settings *s)
{
    return s->reads ? 2000 : 100000;
}

/* ---- a dataset without data ---- */

typedef struct made_up {
    sl_dataset base;
    sl_field label;
    uint32_t bytes; /* per sample */
    uint64_t work_us;
    char path[64];
} made_up;

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const uint32_t bytes = ((const made_up *)dataset)->bytes;
    sample->place = (sl_place){.offset = index * bytes, .bytes = bytes};
    return SLUICE_OK;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    const uint64_t work_us = ((const made_up *)dataset)->work_us;
    (void)bytes;
    if (work_us > 0) {
        sl_sleep_until_ns(sl_now_ns() + work_us * 1000);
    }
    values->of[0] = (sl_value){.present = true, .integer = (int64_t)sample->index};
    return sl_accept();
}

static void close_made_up(sl_dataset *dataset)
{
    made_up *made = (made_up *)dataset;
    sl_objects_close(dataset->objects);
    (void)unlink(made->path);
    free(made);
}

static const sl_dataset_ops made_up_ops = {.locate = locate,
                                           .unpack = unpack,
                                           .close = close_made_up};

static sluice_status path_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)object;
    const int length = snprintf(path, bytes, "%s", ((const made_up *)ctx)->path);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static void die(const char *what)
{
    fprintf(stderr, "handover_bench: %s\n", what);
    exit(1);
}

static void die_of(const sluice_error *error)
{
    char text[1200];
    sluice_error_format(error, text, sizeof(text));
    die(text);
}

static sl_dataset *make_up(const settings *s)
{
    made_up *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        die("no memory");
    }
    (void)snprintf(made->path, sizeof(made->path), "/tmp/handover_bench_XXXXXX");
    const int fd = mkstemp(made->path);
    if (fd < 0 || ftruncate(fd, (off_t)(samples_of(s) * s->bytes)) != 0) {
        die("cannot make a sparse file in /tmp");
    }
    (void)close(fd);
    made->bytes = (uint32_t)s->bytes;
    made->work_us = s->work_us;
    made->label = (sl_field){.name = "label", .type = SLUICE_FIELD_INT};
    made->base = (sl_dataset){.ops = &made_up_ops,
                              .references = 1,
                              .info = {.struct_size = sizeof(sluice_dataset_info),
                                       .samples = samples_of(s),
                                       .bytes = samples_of(s) * s->bytes,
                                       .fields = 1},
                              .fields = &made->label};
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_object_names names = {.ctx = made, .count = 1, .path = path_of};
    if (sl_objects_open(&made->base.objects, &names, &error) != SLUICE_OK) {
        die_of(&error);
    }
    return &made->base;
}

/* ---- measuring ---- */

typedef struct moment {
    uint64_t ns, cpu_ns, switches;
    lock_counts counts[LOCK_COUNTS_ROLES];
} moment;

static uint64_t time_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_usec * 1000;
}

static moment look(void)
{
    struct rusage usage;
    moment now = {.ns = sl_now_ns()};
    (void)getrusage(RUSAGE_SELF, &usage);
    now.cpu_ns = time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime);
    now.switches = (uint64_t)usage.ru_nvcsw;
    lock_counts_get(now.counts);
    return now;
}

/* Takes batches for `ns`; returns the number of their rows. */
static uint64_t consume(sluice_loader *loader, uint64_t ns)
{
    const uint64_t end = sl_now_ns() + ns;
    uint64_t rows = 0;
    while (sl_now_ns() < end) {
        sluice_batch *batch = NULL;
        if (sl_loader_next(loader, &batch, -1) != SLUICE_OK) {
            die("cannot get a batch");
        }
        rows += batch->facts.rows;
        if (sl_staging_release(batch, false, NULL) != SLUICE_OK) {
            die("cannot release a batch");
        }
    }
    return rows;
}

static void print(const settings *s, const moment *from, const moment *to, uint64_t rows)
{
    static const char *const names[LOCK_COUNTS_ROLES] = {"fetch", "workers", "others"};
    const double n = (double)rows;
    printf("%3u workers, prefetch %u, %llu bytes, work %llu us: %8.0f samples/s, %6.3f us of CPU, "
           "%.3f switches\n",
           s->workers, s->prefetch, (unsigned long long)s->bytes, (unsigned long long)s->work_us,
           n * 1e9 / (double)(to->ns - from->ns), (double)(to->cpu_ns - from->cpu_ns) / 1e3 / n,
           (double)(to->switches - from->switches) / n);
    for (int i = 0; i < LOCK_COUNTS_ROLES; i++) {
        const lock_counts *a = &from->counts[i];
        const lock_counts *b = &to->counts[i];
        printf("    %-8s %6.3f us, locks %6.3f, contended %6.4f, waits %6.4f, signals %6.3f, "
               "wakes %6.4f\n",
               names[i], (double)(b->cpu_ns - a->cpu_ns) / 1e3 / n,
               (double)(b->locks - a->locks) / n, (double)(b->contended - a->contended) / n,
               (double)(b->waits - a->waits) / n, (double)(b->signals - a->signals) / n,
               (double)(b->wakes - a->wakes) / n);
    }
}

static void measure(const settings *s)
{
    sl_dataset *dataset = make_up(s);
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = s->workers;
    options.prefetch = s->prefetch;
    options.page_cache = SLUICE_CACHE_BUFFERED;
    const sl_fault_config instant = {.instant = true};
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_loader_open(&loader, dataset, NULL, &options, s->reads ? NULL : &instant, &error) !=
        SLUICE_OK) {
        die_of(&error);
    }
    sl_dataset_close(dataset);
    if (sl_loader_start_endless(loader, 0) != SLUICE_OK) {
        die("no epoch");
    }
    (void)consume(loader, SECOND_NS / 4);
    const moment from = look();
    const uint64_t rows = consume(loader, s->seconds * SECOND_NS);
    const moment to = look();
    print(s, &from, &to, rows);
    sl_loader_close(loader);
}

static void usage(void)
{
    fprintf(stderr, "usage: handover_bench [--seconds N] [--workers N] [--bytes N] [--prefetch N] "
                    "[--work MICROSECONDS] [--read]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"seconds", required_argument, NULL, 's'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"bytes", required_argument, NULL, 'b'},
                                          {"work", required_argument, NULL, 't'},
                                          {"read", no_argument, NULL, 'r'},
                                          {"prefetch", required_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    settings s = {.seconds = 3, .bytes = 110000, .workers = 64, .prefetch = 4};
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        const uint64_t value = optarg != NULL ? strtoull(optarg, NULL, 10) : (uint64_t)(c == 'r');
        if (value == 0 || value > UINT32_MAX) {
            usage();
        }
        s.reads = s.reads || c == 'r';
        s.seconds = c == 's' ? value : s.seconds;
        s.bytes = c == 'b' ? value : s.bytes;
        s.work_us = c == 't' ? value : s.work_us;
        s.workers = c == 'w' ? (uint32_t)value : s.workers;
        s.prefetch = c == 'p' ? (uint32_t)value : s.prefetch;
    }
    if (optind != argc) {
        usage();
    }
    measure(&s);
    return 0;
}
