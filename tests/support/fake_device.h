/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_device: an accelerator for tests, made of threads.
 *
 * Purpose: runs staging's code path for devices without one. Device memory is separate from host
 * memory; each stream is a thread that does its work in order, after random delays; events are
 * real. The fake checks its use and counts misuses that would silently give wrong data on a real
 * device:
 *   - a copy from memory that is not registered, or to memory that is not the device's;
 *   - a source that changes between the copy's call and the copy;
 *   - a copy that runs before an earlier kernel has read the target;
 *   - a kernel that runs before an earlier copy or conversion;
 *   - a conversion that runs before its input is copied, or before an earlier kernel has read the
 *     target; a copy that runs before a conversion has read the target; a conversion outside the
 *     device's memory, or on a stream that is not urgent;
 *   - a wait for an event that was never recorded; a host wait for, or a time between, events not
 *     made for it;
 *   - use of anything closed; anything closed too early, twice or not at all.
 * Threads: any; one lock inside. Call fake_device_free last, after sl_device_close.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "device.h"

typedef struct fake_device fake_device;

typedef struct fake_options {
    uint64_t seed;
    uint32_t delay_us;    /* longest delay before each item of a stream's work */
    bool ignore_releases; /* deliberately broken: the library's copy stream waits for no event */
    bool ignore_copies;   /* deliberately broken: its urgent stream waits for no event */
    bool ignore_ready;    /* deliberately broken: the test's streams wait for no event */
    bool no_time;         /* cannot measure time between events */
    bool events_lie;      /* deliberately broken: query and synchronize report completion at once */
} fake_options;

fake_device *fake_device_new(const fake_options *options);
/* Returns the device for the code under test, which closes it. */
sl_device *fake_device_get(fake_device *fake);
/* Waits for all streams. */
void fake_device_free(fake_device *fake);

/* Makes the `nth` fallible call from now on (1: the next) fail: DEVICE with code 700, nothing done.
 * `sticky`: all later ones too. 0: none fails. */
void fake_fail(fake_device *fake, uint64_t nth, bool sticky);
/* True if a call has failed on request. */
bool fake_has_failed(fake_device *fake);
/* The next stream_wait and event_record return INVALID, as for a stream under graph capture. */
void fake_refuse_streams(fake_device *fake, bool refuse);
/* true: no stream begins more work; false: they resume. */
void fake_hold(fake_device *fake, bool hold);
/* Does the same for one stream; the latest call counts. */
void fake_hold_stream(fake_device *fake, struct CUstream_st *stream, bool hold);

/* Does the same for the library's urgent streams. */
void fake_hold_urgent(fake_device *fake, bool hold);

/* Creates a stream for the test; it lives until fake_device_free. */
struct CUstream_st *fake_stream_new(fake_device *fake);
/* Queues a kernel on `stream` that reads the device memory block containing `address`. */
void fake_kernel(fake_device *fake, struct CUstream_st *stream, const void *address,
                 void (*run)(void *ctx), void *ctx);
/* Queues a kernel that reads two blocks (or one, if the second address is NULL). */
void fake_kernel_on(fake_device *fake, struct CUstream_st *stream, const void *const addresses[2],
                    void (*run)(void *ctx), void *ctx);
/* Allocates device memory for the test; it lives until fake_device_free. */
void *fake_memory_new(fake_device *fake, size_t bytes);
/* Waits until all work queued on the stream so far is done. */
void fake_stream_synchronize(fake_device *fake, struct CUstream_st *stream);

/* Returns the number of misuses so far, and the first one ("" if none). */
uint64_t fake_violations(fake_device *fake);
const char *fake_first_violation(fake_device *fake);
uint64_t fake_copies(fake_device *fake);
uint64_t fake_conversions(fake_device *fake);

#endif
