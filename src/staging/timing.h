/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing: measures how long the consumer's stream stalled for batches and how long it worked, by
 * the device's own clock.
 *
 * Purpose: a host that never waits cannot see whether the device does. Each step uses three events
 * from a pool made at open: before and after the stream's wait for the batch, and at its release.
 * They are read steps later, when the device is long past them; nothing ever waits for one. A step
 * without a free mark is not timed.
 *
 *   take -> begin -> (the stream waits for the batch) -> there -> the step -> end -> ... read
 *
 * The first step is not counted, because the time before it is unknown.
 * Lock: `mutex`, not held during device calls. Threads: any; a mark is with one thread at a time.
 * Errors: the device's, from begin, there, end and read.
 */
#ifndef SL_TIMING_H
#define SL_TIMING_H

#include "device.h"

#include <stdint.h>

typedef struct sl_timing sl_timing;
typedef struct sl_timing_mark sl_timing_mark;

/* Opens marks for up to `steps` steps that the device has not completed yet. Errors: NOMEM,
 * DEVICE. */
sluice_status sl_timing_open(sl_timing **timing, sl_device *device, uint32_t steps,
                             sluice_error *error);
/* Closes; the device must have completed all work for it. NULL is a no-op. */
void sl_timing_close(sl_timing *timing);

/* Returns a mark for a step; NULL: none is free. */
sl_timing_mark *sl_timing_take(sl_timing *timing);
sluice_status sl_timing_begin(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                              sluice_error *error);
sluice_status sl_timing_there(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                              sluice_error *error);
/* Ends the step and, unless this fails, the caller's hold on the mark. */
sluice_status sl_timing_end(sl_timing *timing, sl_timing_mark *mark, struct CUstream_st *stream,
                            sluice_error *error);
/* Releases the mark and leaves its step untimed. */
void sl_timing_drop(sl_timing *timing, sl_timing_mark *mark);

/* Counts the steps that the device has passed. */
sluice_status sl_timing_read(sl_timing *timing, sluice_error *error);
/* Sums over the counted steps: waits for batches, work, and the time from the first one's beginning
 * to the last one's end. */
typedef struct sl_timing_sums {
    uint64_t steps, stall_ns, busy_ns, span_ns;
} sl_timing_sums;
void sl_timing_get(sl_timing *timing, sl_timing_sums *sums);

#endif
