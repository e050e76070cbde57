/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_harness: a source for fetch that knows what every byte must be, and counts deliveries.
 *
 * Files f = 0, 1, ... are in a temporary folder; byte o of file f is io_byte(f, o), so that no copy
 * of the data is kept. Deliveries are checked on the fetch thread and counted; only the main thread
 * asserts.
 */
#ifndef IO_HARNESS_H
#define IO_HARNESS_H

#include "fetch.h"

#include <pthread.h>
#include <stdatomic.h>

#define IO_ITEMS_MAX 4096
#define IO_FILES     1000 /* numbers of files that may exist */

typedef enum io_release { IO_RELEASE_NOW, IO_RELEASE_LATER, IO_RELEASE_NEVER } io_release;

typedef struct io_result {
    uint32_t delivered;
    sluice_status status; /* of the last delivery */
    sluice_error error;   /* of the last failed one */
} io_result;

typedef struct io_harness {
    char folder[64];
    sl_fetch *fetch;
    sl_objects *objects;
    uint32_t files;                                /* that the source knows [IO_FILES] */
    uint64_t (*bytes)(void *ctx, uint32_t object); /* their sizes, or NULL */
    sl_fetch_config config;
    sl_fault_config fault;
    sl_budget budget;
    io_release release;
    uint32_t pins_left; /* of objects, once the fetch was closed */
    const char *scheme; /* before the paths of files, where fetch opens them; NULL: nothing */
    bool zeros;         /* files are cut short meanwhile: zeros are right, too */
    /* Each item is looked up first, with so many reads of io_lookup_file in a row, and is not found
     * where its tag is a multiple of `lookup_bad`. */
    uint32_t lookups, lookup_bad;
    /* Items are in so many pieces, all over files of `piece_span` bytes. 0: they do not. */
    uint32_t pieces;
    uint64_t piece_span;
    uint64_t deliver_ns;   /* what each delivery takes */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    sl_fetch_item items[IO_ITEMS_MAX];
    io_result results[IO_ITEMS_MAX];
    uint32_t count;              /* items */
    uint32_t asked;              /* of the present run */
    uint32_t available;          /* next says END from here on */
    uint32_t delivered;          /* of the present run */
    uint32_t wrong;              /* bytes, padding, order or sequence not as they must be */
    uint64_t highest;            /* sequence delivered */
    uint64_t credit;             /* given, and checked */
    uint32_t held[IO_ITEMS_MAX]; /* handles to be released */
    uint32_t held_count;
    _Atomic int running; /* the releasing thread */
    pthread_t releaser;
} io_harness;

enum { IO_LOOKUP_FILE = 999, IO_LOOKUP_BYTES = 64 };

uint8_t io_byte(uint32_t file, uint64_t offset);
/* Writes these bytes of the file to `to`, eight at a time: up to 7 before `to` and behind the end,
 * too. */
void io_fill(uint32_t file, uint64_t offset, uint8_t *to, size_t bytes);
/* Whether these are the file's bytes from `offset` on. */
bool io_same(uint32_t file, uint64_t offset, const uint8_t *data, size_t bytes);

/* A configuration that is fit for these tests, and an empty folder. */
void io_harness_init(io_harness *h, sluice_io_backend backend);
void io_harness_destroy(io_harness *h);
void io_path(const io_harness *h, uint32_t file, char *path, size_t bytes);
void io_make_file(io_harness *h, uint32_t file, uint64_t bytes);
uint32_t io_add(io_harness *h, uint32_t file, uint64_t offset, uint32_t bytes);
void io_open(io_harness *h);
void io_close(io_harness *h);
/* Credit for everything, and waits until everything is delivered. */
void io_run_all(io_harness *h);
void io_give_credit(io_harness *h, uint64_t credit);
/* Waits until `count` deliveries of this run; false after 30 s. */
bool io_wait(io_harness *h, uint32_t count);
void io_release_held(io_harness *h);
/* Restarts and forgets results. */
void io_restart(io_harness *h);
/* Asserts that each item was delivered once, and how many of them with `status`. */
void io_expect(io_harness *h, sluice_status status, uint32_t count);
sl_fetch_stats io_stats(io_harness *h);

/* Runs `test` in a child process, which it may ruin; returns its exit code. */
int io_in_child(int (*test)(void *argument), void *argument);

#endif
