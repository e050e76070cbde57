/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging_rig: a staging over one of the tests' devices, and batches of known contents.
 *
 * Contents: every byte of a row is derived from (step, row), so that a row of another step or
 * position, half a row or a stale row is detected.
 * Threads: as staging; the rig itself belongs to the main thread.
 */
#ifndef STAGING_RIG_H
#define STAGING_RIG_H

#include "fake_cuda.h"
#include "fake_device.h"
#include "rig_parts.h"
#include "slots.h"
#include "staging.h"

typedef enum rig_device {
    RIG_SHARED,    /* device_host as it is */
    RIG_COPYING,   /* device_host with its own memory: the copier runs, copies are immediate */
    RIG_FAKE,      /* fake_device: late copies on streams */
    RIG_FAKE_CUDA, /* device_cuda over fake_cuda */
    RIG_CUDA,      /* device_cuda over the installed driver */
    RIG_DEVICES
} rig_device;

/* Iterates over the devices selected by the environment variable SLUICE_TEST_DEVICE: "cuda",
 * "fake-cuda", or, if unset, the first three. */
rig_device rig_first(void);
rig_device rig_after(rig_device kind);
#define RIG_EACH(kind) \
    (rig_device kind = rig_first(); (kind) < RIG_DEVICES; (kind) = rig_after(kind))
/* Returns the selected device that can be held and made to fail. RIG_DEVICES: none. */
rig_device rig_late(void);
/* main of a test of all devices: returns 77 after printing the reason if the selected device is not
 * available, otherwise 0. */
int rig_skip(void);
/* Does the same for a test that needs rig_late(). */
int rig_skip_late(void);

typedef struct rig_options {
    uint32_t host_slots, device_slots, batch, image_bytes;
    fake_options fake;
    sl_budget *budget;
    void (*on_empty)(void *ctx);
    void *ctx;
} rig_options;

typedef struct rig {
    rig_device kind;
    rig_options options;
    sl_staging *staging;
    fake_device *fake;                   /* RIG_FAKE */
    const fake_cuda_control *cuda;       /* RIG_FAKE_CUDA */
    struct rig_cuda *real;               /* RIG_CUDA */
    struct CUstream_st *stream;          /* the consumer's stream; NULL with host devices */
    _Atomic uint32_t left[SL_SLOTS_MAX]; /* unfinished rows of each host slot */
} rig;

const char *rig_device_name(rig_device kind);
/* Opens a host device alone. */
sl_device *rig_host_open(rig_device kind);
/* Prepares the rig without a staging; returns the device for it. */
sl_device *rig_prepare(rig *r, rig_device kind, const rig_options *options);
/* Opens the staging over a new device. */
sluice_status rig_open(rig *r, rig_device kind, const rig_options *options, sluice_error *error);
/* rig_must_open fails the test if opening fails; rig_on_each runs a test's body over every
 * device. */
void rig_must_open(rig *r, rig_device kind, const rig_options *options);
void rig_on_each(void (*body)(rig *r), const rig_options *options);
/* Closes the staging if it is still open, and the device's other side. Afterwards all misuses are
 * known, including objects left open; prints the first and returns their number. */
uint64_t rig_close(rig *r);

/* Returns the number of tickets taken or dropped since open. */
uint64_t rig_taken(const rig *r);

/* ---- the consumer's side of the device; a host device acts at once ---- */

struct CUstream_st *rig_stream_new(rig *r);
void rig_synchronize(rig *r, struct CUstream_st *stream);
/* Queues a kernel on `stream` that reads the batch at `*view`, which then has the host addresses of
 * the data read. */
void rig_kernel(rig *r, struct CUstream_st *stream, rig_view *view, void (*run)(void *ctx),
                void *ctx);

/* ---- operations of late devices, as in fake_device.h ---- */

void rig_hold(rig *r, bool hold);
void rig_hold_stream(rig *r, struct CUstream_st *stream, bool hold);
/* Starts or ends capture of the rig's stream into a graph. */
void rig_capture(rig *r, bool capture);
void rig_fail(rig *r, uint64_t nth, bool sticky);
bool rig_has_failed(rig *r);
uint64_t rig_copies(rig *r);
uint64_t rig_violations(rig *r);
/* Returns "" if there is none; valid until rig_close. */
const char *rig_first_violation(rig *r);

/* Writes one row. `image_bytes` is the size of an image. */
void rig_fill_row(const rig_view *view, uint32_t image_bytes, uint64_t step, uint32_t row);
/* Returns the number of wrong rows. */
uint32_t rig_bad_rows(const rig_view *view, uint32_t image_bytes, uint64_t step, uint32_t rows);
/* Begins a step and fills it, rows in reverse order. Returns the slot, or -1 if none is empty. */
int rig_try_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows);
/* Begins a step as soon as a slot is empty, and fills it. Returns the slot, or -1 if none becomes
 * empty within 20 s. */
int rig_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows);
/* Begins a step without completing any row (a batch without rows is filled at once). Returns -1 if
 * no slot is empty. `view` may be NULL. */
int rig_begin_view(rig *r, const sl_batch_facts *facts, rig_view *view);
int rig_begin(rig *r, uint64_t step, uint32_t rows);
/* Completes this many more rows; the last ones fill the slot. Any thread. */
void rig_complete(rig *r, int slot, uint32_t rows);
/* Reads the batch as the device would: on the rig's stream, after waiting for it. Returns the
 * number of bad rows; all of them if waiting fails. */
uint32_t rig_read(rig *r, sluice_batch *batch);

#endif
