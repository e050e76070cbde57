/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_harness: a source for fetch that knows the expected value of every byte and counts deliveries.
 *
 * Files f = 0, 1, ... are in a temporary folder. Byte o of file f is io_byte(f, o), so no copy of
 * the data is kept. The fetch thread checks and counts deliveries; only the main thread asserts.
 */
#ifndef IO_HARNESS_H
#define IO_HARNESS_H

#include "fetch.h"

#include <pthread.h>
#include <stdatomic.h>

#define IO_ITEMS_MAX 4096
#define IO_FILES     1000 /* upper limit of file numbers */

typedef enum io_release { IO_RELEASE_NOW, IO_RELEASE_LATER, IO_RELEASE_NEVER } io_release;

typedef struct io_result {
    uint32_t delivered;
    sluice_status status; /* of the last delivery */
    sluice_error error;   /* error of the last failed delivery */
} io_result;

typedef struct io_harness {
    char folder[64];
    sl_fetch *fetch;
    sl_objects *objects;
    uint32_t files;                                /* number of files the source knows [IO_FILES] */
    uint64_t (*bytes)(void *ctx, uint32_t object); /* their sizes, or NULL */
    sl_fetch_config config;
    sl_fault_config fault;
    sl_budget budget;
    io_release release;
    uint32_t pins_left; /* pins on objects left after the fetch was closed */
    const char *scheme; /* prefix of the file paths when fetch opens them; NULL: none */
    bool zeros;         /* files are being truncated: zeros are also valid */
    /* Each item is first looked up by this many consecutive reads of io_lookup_file; the lookup
     * fails if its tag is a multiple of `lookup_bad`. */
    uint32_t lookups, lookup_bad;
    /* Each item is split into this many pieces, spread over files of `piece_span` bytes. 0: not
     * split. */
    uint32_t pieces;
    uint64_t piece_span;
    uint64_t deliver_ns;   /* duration of each delivery */
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    sl_fetch_item items[IO_ITEMS_MAX];
    io_result results[IO_ITEMS_MAX];
    uint32_t count;              /* items */
    uint32_t asked;              /* items requested in the current run */
    uint32_t available;          /* next returns END from this item on */
    uint32_t delivered;          /* items delivered in the current run */
    uint32_t wrong;              /* bytes, padding, order or sequence were wrong */
    uint64_t highest;            /* highest sequence number delivered */
    uint64_t credit;             /* credit given, and checked */
    uint32_t held[IO_ITEMS_MAX]; /* handles to release */
    uint32_t held_count;
    _Atomic int running; /* the releasing thread */
    pthread_t releaser;
} io_harness;

enum { IO_LOOKUP_FILE = 999, IO_LOOKUP_BYTES = 64 };

uint8_t io_byte(uint32_t file, uint64_t offset);
/* Writes these bytes of the file to `to`, eight at a time; may write up to 7 bytes before `to` and
 * after the end. */
void io_fill(uint32_t file, uint64_t offset, uint8_t *to, size_t bytes);
/* True if these are the file's bytes starting at `offset`. */
bool io_same(uint32_t file, uint64_t offset, const uint8_t *data, size_t bytes);

/* Sets a configuration for these tests and makes an empty folder. */
void io_harness_init(io_harness *h, sluice_io_backend backend);
void io_harness_destroy(io_harness *h);
void io_path(const io_harness *h, uint32_t file, char *path, size_t bytes);
void io_make_file(io_harness *h, uint32_t file, uint64_t bytes);
uint32_t io_add(io_harness *h, uint32_t file, uint64_t offset, uint32_t bytes);
void io_open(io_harness *h);
void io_close(io_harness *h);
/* Gives credit for everything and waits until everything is delivered. */
void io_run_all(io_harness *h);
void io_give_credit(io_harness *h, uint64_t credit);
/* Waits until this run has `count` deliveries; false after 30 s. */
bool io_wait(io_harness *h, uint32_t count);
void io_release_held(io_harness *h);
/* Restarts and forgets results. */
void io_restart(io_harness *h);
/* Asserts that each item was delivered once, and that this many have `status`. */
void io_expect(io_harness *h, sluice_status status, uint32_t count);
sl_fetch_stats io_stats(io_harness *h);

/* Runs `test` in a child process, so that it may ruin the process; returns its exit code. */
int io_in_child(int (*test)(void *argument), void *argument);

#endif
