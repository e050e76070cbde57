/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_bench: measures the read stage alone.
 *
 * Opens the dataset, requests every sample in order (or shuffled) through the fetch thread, and
 * releases the bytes at once, without checksum or decoding. Drops the files from the page cache
 * first. Prints one line of JSON: bytes delivered and read, seconds, MB/s, CPU seconds.
 */
#include "clock.h"
#include "error.h"
#include "fetch.h"
#include "order.h"
#include "thread.h"

#include "dataset.h"
#include "formats.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct bench {
    sl_dataset *dataset;
    sl_fetch *fetch;
    sl_order order;
    uint64_t next; /* fetch thread */
    pthread_mutex_t mutex;
    pthread_cond_t done;
    uint64_t delivered, failed; /* under mutex */
    bool warm;                  /* leaves the page cache as it is */
} bench;

static sluice_status next_item(void *ctx, sl_fetch_item *item)
{
    bench *b = ctx;
    sl_sample sample;
    if (b->next == b->order.count) {
        return SLUICE_END;
    }
    const uint64_t index = sl_order_sample(&b->order, b->next++);
    sl_place lookup;
    sl_refusal why;
    const sluice_status status = sl_dataset_locate(b->dataset, index, &sample, &lookup, &why);
    const sl_place *place = status == SLUICE_OK ? &sample.place : &lookup;
    *item = (sl_fetch_item){.tag = index,
                            .offset = place->offset,
                            .bytes = place->bytes,
                            .object = place->object,
                            .lookup = status != SLUICE_OK};
    return SLUICE_OK;
}

static sluice_status learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure)
{
    const bench *b = ctx;
    sl_sample sample;
    sl_place place = {.offset = item->offset, .bytes = item->bytes, .object = item->object};
    sl_refusal why = {.text = NULL};
    const sluice_status status =
        sl_dataset_learn(b->dataset, item->tag, bytes, &sample, &place, &why);
    if (status < 0) {
        failure->text = why.text;
        return status;
    }
    place = status == SLUICE_OK ? sample.place : place;
    item->offset = place.offset;
    item->bytes = place.bytes;
    item->object = place.object;
    item->lookup = status == SLUICE_AGAIN;
    return SLUICE_OK;
}

static void deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                    const sl_fetch_bytes *bytes, const sluice_error *error)
{
    (void)item;
    (void)error;
    bench *b = ctx;
    if (status == SLUICE_OK) {
        sl_fetch_release(b->fetch, &bytes->handle, 1);
    }
    sl_lock(&b->mutex);
    b->delivered++;
    b->failed += status != SLUICE_OK;
    if (b->delivered == b->order.count) {
        sl_cond_signal(&b->done);
    }
    sl_unlock(&b->mutex);
}

static void drop_cache(const sl_dataset *dataset)
{
    char path[4096];
    for (uint32_t file = 0; file < sl_objects_count(dataset->objects); file++) {
        const int fd = sl_objects_path(dataset->objects, file, path, sizeof(path)) == SLUICE_OK
                           ? open(path, O_RDONLY | O_CLOEXEC)
                           : -1;
        if (fd >= 0) {
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
    }
}

static void die(const sluice_error *error)
{
    char text[1200];
    sluice_error_format(error, text, sizeof(text));
    fprintf(stderr, "read_bench: %s\n", text);
    exit(1);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void run(bench *b, const sl_fetch_config *config)
{
    sluice_error error;
    sl_error_clear(&error);
    const sl_fetch_source source = {
        .ctx = b, .next = next_item, .learn = learn, .deliver = deliver};
    if (!b->warm) {
        drop_cache(b->dataset);
    }
    const double cpu = cpu_seconds();
    const uint64_t start = sl_now_ns();
    if (sl_fetch_open(&b->fetch, config, &source, &error) != SLUICE_OK) {
        die(&error);
    }
    sl_fetch_credit(b->fetch, b->order.count);
    sl_fetch_wake(b->fetch);
    sl_lock(&b->mutex);
    while (b->delivered < b->order.count) {
        sl_cond_wait(&b->done, &b->mutex);
    }
    sl_unlock(&b->mutex);
    const double seconds = (double)(sl_now_ns() - start) * 1e-9;
    const double used = cpu_seconds() - cpu;
    sl_fetch_stats stats;
    sl_fetch_get_stats(b->fetch, &stats);
    printf("{\"samples\": %llu, \"failed\": %llu, \"bytes_wanted\": %llu, \"bytes_read\": %llu, "
           "\"reads\": %llu, \"seconds\": %.4f, \"mb_per_s\": %.1f, \"cpu_s\": %.4f, "
           "\"backend\": \"%s\", \"direct\": %d}\n",
           (unsigned long long)b->delivered, (unsigned long long)b->failed,
           (unsigned long long)stats.bytes_wanted, (unsigned long long)stats.bytes_read,
           (unsigned long long)stats.reads, seconds, (double)stats.bytes_read * 1e-6 / seconds,
           used, stats.backend, stats.direct);
    sl_fetch_close(b->fetch);
}

static void usage(void)
{
    fprintf(stderr,
            "usage: read_bench [--shuffle] [--buffered] [--auto] [--fill] [--warm] [--pread] "
            "[--depth N] [--merge BYTES] DATASET\n");
    exit(2);
}

static void parse(int argc, char **argv, sl_fetch_config *config, sluice_shuffle *shuffle,
                  bool *warm)
{
    static const struct option longs[] = {{"shuffle", no_argument, NULL, 's'},
                                          {"buffered", no_argument, NULL, 'b'},
                                          {"fill", no_argument, NULL, 'f'},
                                          {"auto", no_argument, NULL, 'a'},
                                          {"warm", no_argument, NULL, 'w'},
                                          {"pread", no_argument, NULL, 'p'},
                                          {"depth", required_argument, NULL, 'd'},
                                          {"merge", required_argument, NULL, 'm'},
                                          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (c) {
        case 's':
            *shuffle = SLUICE_SHUFFLE_FULL;
            break;
        case 'b':
            config->cache = SL_CACHE_BUFFERED;
            break;
        case 'f':
            config->fills = true;
            config->cache = SL_CACHE_AUTO;
            break;
        case 'a':
            config->cache = SL_CACHE_AUTO;
            break;
        case 'w':
            *warm = true;
            break;
        case 'p':
            config->backend = SLUICE_IO_PREAD;
            break;
        case 'd':
            config->depth = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'm':
            config->merge_bytes = strtoull(optarg, NULL, 10);
            break;
        default:
            usage();
        }
    }
}

int main(int argc, char **argv)
{
    sl_fetch_config config = {.cache = SL_CACHE_DIRECT,
                              .depth = 32,
                              .threads = 32,
                              .lookahead = 8192,
                              .inserts = 1,
                              .arena_bytes = (uint64_t)128 << 20,
                              .max_sample_bytes = (uint64_t)64 << 20,
                              .stall_warn_ns = UINT64_C(30000000000),
                              .stall_fail_ns = UINT64_C(120000000000),
                              .merge_gap_bytes = 64 << 10,
                              .merge_bytes = 1 << 20};
    sluice_shuffle shuffle = SLUICE_SHUFFLE_NONE;
    bench b = {.next = 0};
    parse(argc, argv, &config, &shuffle, &b.warm);
    if (optind + 1 != argc) {
        usage();
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    const char *path = argv[optind];
    sl_budget budget;
    sl_budget_init(&budget, UINT64_MAX);
    config.budget = &budget;
    sl_mutex_init(&b.mutex);
    sl_cond_init(&b.done);
    if (sl_dataset_open(&b.dataset, &path, 1, &options, &error) != SLUICE_OK) {
        die(&error);
    }
    config.whole_objects = b.dataset->whole_objects;
    config.objects = b.dataset->objects;
    b.order = sl_order_make(shuffle, b.dataset->info.samples, 1, 1, 1, 0);
    run(&b, &config);
    sl_dataset_close(b.dataset);
    return 0;
}
