/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale_bench: measures one rank of a large run on a dataset (docs/scale.md).
 *   scale_bench DATASET [NAME=VALUE ...]
 * Opens the dataset, then a loader, and takes batches. After each, it prints the time, the growth
 * of the process, and its reads. Run it under strace to count file opens. Names, with their
 * defaults: rank=0 world=1 batch=256 steps=0 shuffle=full|block|none block=64 window=16
 *   cache=auto|buffered|direct     at=0: resume after this step, with a cursor
 *   length=0: windows of that many elements of the field "tokens"
 *   padded=0: the field "bytes", padded to that many
 *   order=0: times the order of that many samples
 */
#include "clock.h"
#include "order.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct arguments {
    sluice_loader_options options;
    uint64_t steps, at, length, padded, order;
} arguments;

typedef struct usage {
    double seconds;
    uint64_t rss_kib, read_chars, read_calls, read_bytes;
} usage;

static void check(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "scale_bench: %s (%d)\n", error->text, (int)status);
        exit(1);
    }
}

/* Returns the number after `name` in a /proc file. */
static uint64_t number_of(const char *file, const char *name)
{
    char line[256];
    uint64_t value = 0;
    FILE *in = fopen(file, "re");
    while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtoull(line + strlen(name), NULL, 10);
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    return value;
}

static usage look(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (usage){.seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9,
                   .rss_kib = number_of("/proc/self/status", "VmRSS:"),
                   .read_chars = number_of("/proc/self/io", "rchar:"),
                   .read_calls = number_of("/proc/self/io", "syscr:"),
                   .read_bytes = number_of("/proc/self/io", "read_bytes:")};
}

static void tell(const char *what, usage *since)
{
    const usage now = look();
    (void)printf("%-8s %10.3f ms  %+8.1f MiB  read %9llu B in %6llu calls, %9llu B of storage\n",
                 what, (now.seconds - since->seconds) * 1e3,
                 ((double)now.rss_kib - (double)since->rss_kib) / 1024,
                 (unsigned long long)(now.read_chars - since->read_chars),
                 (unsigned long long)(now.read_calls - since->read_calls),
                 (unsigned long long)(now.read_bytes - since->read_bytes));
    (void)fflush(stdout);
    *since = look();
}

static bool take_word(arguments *a, const char *text)
{
    static const char *const words[] = {"shuffle=full", "shuffle=block",  "shuffle=none",
                                        "cache=auto",   "cache=buffered", "cache=direct"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *(i < 3 ? &a->options.shuffle : &a->options.page_cache) = (int32_t)(i % 3);
            return true;
        }
    }
    return false;
}

static bool take_number(arguments *a, const char *text)
{
    static const char *const names[] = {"rank=",  "world=", "batch=",  "block=",  "window=",
                                        "steps=", "at=",    "length=", "padded=", "order="};
    uint32_t *const small[] = {&a->options.rank, &a->options.world_size, &a->options.batch_size,
                               &a->options.block_samples, &a->options.window_blocks};
    uint64_t *const large[] = {&a->steps, &a->at, &a->length, &a->padded, &a->order};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(text, names[i], strlen(names[i])) == 0) {
            const uint64_t value = strtoull(text + strlen(names[i]), NULL, 10);
            if (i < 5) {
                *small[i] = (uint32_t)value;
            } else {
                *large[i - 5] = value;
            }
            return true;
        }
    }
    return false;
}

static void parse(arguments *a, int argc, char **argv)
{
    a->options = (sluice_loader_options)SLUICE_LOADER_OPTIONS_INIT;
    a->options.on_bad_sample = SLUICE_BAD_FAIL;
    a->options.batch_size = 256;
    a->options.world_size = 1;
    for (int i = 2; i < argc; i++) {
        if (!take_word(a, argv[i]) && !take_number(a, argv[i])) {
            (void)fprintf(stderr, "scale_bench: unknown argument \"%s\"\n", argv[i]);
            exit(2);
        }
    }
}

static void take(sluice_loader *loader, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++) {
        sluice_batch *batch = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const sluice_status status = sluice_loader_next(loader, &batch, -1);
        if (status == SLUICE_END) {
            return;
        }
        if (status != SLUICE_OK) {
            (void)sluice_loader_get_error(loader, &error);
            check(status, &error);
        }
        sluice_batch_release(batch);
    }
}

/* A run saved after `step` leaves such a cursor; this one is another run's, with its position
 * changed (plan/cursor.h). */
static void go_to(sluice_loader *loader, const arguments *a)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    check(sluice_loader_start_epoch(loader, 0), &error);
    check(sluice_loader_save(loader, cursor, &bytes), &error);
    uint64_t position = a->at * a->options.world_size * a->options.batch_size;
    memcpy(cursor + 40, &position, sizeof(position));
    uint64_t sum = 0xCBF29CE484222325U;
    for (size_t i = 0; i < 60; i++) {
        sum = (sum ^ cursor[i]) * 0x100000001B3U;
    }
    memcpy(cursor + 60, &sum, sizeof(sum));
    const sluice_status status = sluice_loader_restore(loader, cursor, bytes, &epoch);
    (void)sluice_loader_get_error(loader, &error);
    check(status, &error);
}

/* Measures finding single samples of the order anywhere in an epoch. */
static void time_order(const arguments *a, uint64_t samples)
{
    enum { POSITIONS = 1000000 };
    const uint64_t block = a->options.block_samples != 0 ? a->options.block_samples : 64;
    const uint64_t window = a->options.window_blocks != 0 ? a->options.window_blocks : 16;
    const uint64_t begin = sl_now_ns();
    const sl_order order =
        sl_order_make((sluice_shuffle)a->options.shuffle, samples, block, window, 1, 0);
    const uint64_t made = sl_now_ns();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < POSITIONS; i++) {
        sum += sl_order_sample(&order, (samples / 3 + i) % samples);
    }
    (void)printf("order    %llu ns to make, %zu bytes, %.0f ns per sample (sum %llx)\n",
                 (unsigned long long)(made - begin), sizeof(order),
                 (double)(sl_now_ns() - made) / POSITIONS, (unsigned long long)sum);
}

/* NULL: the default columns. */
static sluice_columns *make_columns(const arguments *a)
{
    sluice_columns *columns = NULL;
    sluice_column padded = SLUICE_COLUMN_INIT;
    if (a->length == 0 && a->padded == 0) {
        return NULL;
    }
    const sluice_error none = SLUICE_ERROR_INIT;
    check(sluice_columns_create(&columns), &none);
    if (a->length > 0) {
        check(sluice_columns_window(columns, "tokens", a->length, a->length, SLUICE_U16), &none);
        return columns;
    }
    padded.kind = SLUICE_COLUMN_PADDED;
    padded.field = "bytes";
    padded.length = a->padded;
    check(sluice_columns_add(columns, &padded), &none);
    return columns;
}

int main(int argc, char **argv)
{
    arguments a = {.steps = 0};
    if (argc < 2) {
        (void)fprintf(stderr, "usage: scale_bench DATASET [NAME=VALUE ...]\n");
        return 2;
    }
    parse(&a, argc, argv);
    const sluice_dataset_options none = SLUICE_DATASET_OPTIONS_INIT;
    const char *const path = argv[1];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    sluice_loader *loader = NULL;
    usage since = look();
    check(sluice_dataset_open(&dataset, &path, 1, &none, &error), &error);
    tell("open", &since);
    if (a.order > 0) {
        time_order(&a, a.order);
    }
    if (a.steps > 0) {
        sluice_columns *columns = make_columns(&a);
        a.options.columns = columns;
        check(sluice_loader_open(&loader, dataset, NULL, &a.options, &error), &error);
        tell("loader", &since);
        if (a.at > 0) {
            go_to(loader, &a);
            tell("cursor", &since);
        }
        check(sluice_loader_start_epoch(loader, 0), &error);
        take(loader, 1);
        tell("first", &since);
        (void)printf("steps of this rank from there: %llu\n",
                     (unsigned long long)sluice_loader_steps(loader));
        take(loader, a.steps - 1);
        tell("others", &since);
        sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
        check(sluice_loader_get_stats(loader, &stats), &error);
        (void)printf("%llu samples, %llu reads, %llu B read of %llu B wanted, %s\n",
                     (unsigned long long)stats.samples, (unsigned long long)stats.reads,
                     (unsigned long long)stats.bytes_read, (unsigned long long)stats.bytes_wanted,
                     stats.io_backend);
        sluice_loader_close(loader);
        sluice_columns_destroy(columns);
    }
    sluice_dataset_close(dataset);
    return 0;
}
