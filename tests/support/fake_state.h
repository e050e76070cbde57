/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_state: the inside of fake_device, for fake_device.c and fake_convert.c (the contract's
 * calls), fake_control.c (the test's) and fake_stream.c (what streams do, later) only.
 *
 * Lock: fake_device.mutex guards everything; `changed` is broadcast after each change.
 */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include "fake_device.h"
#include "thread.h"

#define QUEUE_MAX  256U
#define THINGS_MAX 1024U

/* Objects stay allocated until fake_device_free, so that use after close is seen, not suffered. */
struct sl_event {
    bool open;
    sl_event_kind kind;
    uint64_t recorded, done; /* number of records called; of records reached by their stream */
    uint64_t done_ns;        /* when the last was */
};

/* Pieces of work on a block. */
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
    fake_block *other; /* KERNEL (NULL: it reads only one), CONVERT (to) */
    const void *from;  /* COPY */
    size_t size;
    uint64_t hash;
    fake_counts before, before_other; /* given to the blocks before this */
    sl_conversion conversion;
    sl_conversion_rows rows;
    sl_event *event; /* RECORD, WAIT */
    uint64_t record; /* its number */
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
    sl_device base; /* first: the contract's pointer is ours */
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

/* Counts a misuse when `condition` is false. */
void fake_expect_locked(fake_device *fake, bool condition, const char *text);
uint64_t fake_hash(const void *memory, size_t size);
/* The open block that holds the address; NULL: none. */
fake_block *fake_find_locked(fake_device *fake, const void *address);
/* Makes one; `own`: for the library, which is to close it. */
uint8_t *fake_block_make_locked(fake_device *fake, size_t bytes, bool own);
/* Takes the lock; DEVICE, without it, when this call is to fail. */
sluice_status fake_enter(sl_device *device, sluice_error *error);
/* Gives it back, and says that something has changed. OK. */
sluice_status fake_leave(fake_device *fake);
/* As the contract's. */
sluice_status fake_convert(sl_device *device, const sl_conversion *conversion,
                           const sl_conversion_rows *rows, struct CUstream_st *stream,
                           sluice_error *error);
/* What a stream does when it comes to a conversion. */
void fake_run_conversion(fake_device *fake, const fake_work *work);
/* NULL is the default stream, which is the device's first. */
struct CUstream_st *fake_resolve(fake_device *fake, struct CUstream_st *stream);
/* A running stream; a system that refuses its thread ends the test. */
struct CUstream_st *fake_stream_make_locked(fake_device *fake, bool own, bool urgent);
/* Appends to what the stream has to do; waits while that is too much. */
void fake_give_locked(struct CUstream_st *stream, const fake_work *work);

#endif
