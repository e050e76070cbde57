/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_state: the internals of fake_device. Included only by fake_device.c and fake_convert.c (the
 * contract's calls), fake_control.c (the test's side) and fake_stream.c (the streams' work).
 *
 * Lock: fake_device.mutex guards everything; `changed` is broadcast after each change.
 */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include "fake_device.h"
#include "thread.h"

#define QUEUE_MAX  256U
#define THINGS_MAX 1024U

/* Objects stay allocated until fake_device_free, so that use after close is detected, not undefined
 * behaviour. */
struct sl_event {
    bool open;
    sl_event_kind kind;
    uint64_t recorded, done; /* records called; records that their stream has reached */
    uint64_t done_ns;        /* time of the last one done */
};

/* Numbers of work items on a block. */
typedef struct fake_counts {
    uint64_t copies, conversions_from, conversions_to, kernels;
} fake_counts;

typedef struct fake_block {
    uint8_t *bytes;
    size_t size;
    bool open;
    bool own; /* the library's, not the test's */
    fake_counts given, done;
} fake_block;

typedef enum fake_kind { FAKE_COPY, FAKE_RECORD, FAKE_WAIT, FAKE_CONVERT, FAKE_KERNEL } fake_kind;

typedef struct fake_work {
    fake_kind kind;
    fake_block *block; /* COPY, KERNEL, CONVERT (from) */
    fake_block *other; /* KERNEL (NULL: reads only one), CONVERT (to) */
    const void *from;  /* COPY */
    size_t size;
    uint64_t hash;
    fake_counts before, before_other; /* work given to the blocks before this */
    sl_conversion conversion;
    sl_conversion_rows rows;
    sl_event *event; /* RECORD, WAIT */
    uint64_t record; /* number of the record */
    void (*run)(void *ctx);
    void *ctx;
} fake_work;

struct CUstream_st {
    fake_device *fake;
    bool open, hold;
    bool own; /* the library's, not the test's */
    bool urgent;
    sl_thread thread;
    uint64_t random;
    fake_work queue[QUEUE_MAX];
    uint64_t given, done;
};

struct fake_device {
    sl_device base; /* first member, so that the contract's pointer is also ours */
    fake_options options;
    bool open;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t fail_in;
    bool sticky, failed, refuse;
    uint64_t violations, copies, conversions;
    char first[160];
    const uint8_t *slab;
    size_t slab_bytes;
    fake_block *blocks[THINGS_MAX];
    sl_event *events[THINGS_MAX];
    struct CUstream_st *streams[THINGS_MAX];
    size_t block_count, event_count, stream_count;
};

/* Counts a misuse if `condition` is false. */
void fake_expect_locked(fake_device *fake, bool condition, const char *text);
uint64_t fake_hash(const void *memory, size_t size);
/* Finds the open block that contains the address; NULL: none. */
fake_block *fake_find_locked(fake_device *fake, const void *address);
/* Allocates a block; `own`: for the library, which must close it. */
uint8_t *fake_block_make_locked(fake_device *fake, size_t bytes, bool own);
/* Takes the lock; returns DEVICE, without the lock, if this call is to fail. */
sluice_status fake_enter(sl_device *device, sluice_error *error);
/* Signals a change and releases the lock. Returns OK. */
sluice_status fake_leave(fake_device *fake);
/* Implements the contract's call. */
sluice_status fake_convert(sl_device *device, const sl_conversion *conversion,
                           const sl_conversion_rows *rows, struct CUstream_st *stream,
                           sluice_error *error);
/* Runs a conversion when its stream reaches it. */
void fake_run_conversion(fake_device *fake, const fake_work *work);
/* Maps NULL to the default stream, the device's first. */
struct CUstream_st *fake_resolve(fake_device *fake, struct CUstream_st *stream);
/* Starts a stream; aborts the test if the system refuses its thread. */
struct CUstream_st *fake_stream_make_locked(fake_device *fake, bool own, bool urgent);
/* Appends to the stream's work; waits while its queue is full. */
void fake_give_locked(struct CUstream_st *stream, const fake_work *work);

#endif
