/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging_rig: a staging over one of the devices that tests have, and batches of known contents.
 *
 * Contents: every byte of a row follows from (step, row), so that a row of another step, of another
 * row, half a row or a stale one is noticed.
 * Threads: as staging; the rig itself is the main thread's.
 */
#ifndef STAGING_RIG_H
#define STAGING_RIG_H

#include "fake_device.h"
#include "staging.h"

typedef enum rig_device {
    RIG_SHARED,  /* device_host as it is */
    RIG_COPYING, /* device_host with memory of its own: the copier runs, copies are immediate */
    RIG_FAKE,    /* fake_device: late copies on streams */
    RIG_DEVICES
} rig_device;

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
    fake_device *fake;          /* RIG_FAKE */
    struct CUstream_st *stream; /* the consumer's; NULL but for RIG_FAKE */
} rig;

const char *rig_device_name(rig_device kind);
/* The device alone; `*fake` is set for RIG_FAKE, else NULL. */
sl_device *rig_device_open(rig_device kind, const fake_options *options, fake_device **fake);
/* Opens the staging over a new device. */
sluice_status rig_open(rig *r, rig_device kind, const rig_options *options, sluice_error *error);
/* Closes the staging if it is still open, and the fake device: afterwards misuses are known. */
uint64_t rig_close(rig *r);

/* Writes one row. `image_bytes` is a picture's size. */
void rig_fill_row(const sl_slot_view *view, uint32_t image_bytes, uint64_t step, uint32_t row);
/* How many of the rows are not what they should be. */
uint32_t rig_bad_rows(const sl_slot_view *view, uint32_t image_bytes, uint64_t step, uint32_t rows);
/* Begins a step and fills it, rows in reverse order. The slot; -1 when none is empty. */
int rig_try_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows);
/* Begins a step, as soon as a slot is empty, and fills it. The slot, or -1 when none becomes empty
 * for 20 s. */
int rig_fill(rig *r, uint64_t epoch, uint64_t step, uint32_t rows);
/* Begins a step without completing any row; -1 when no slot is empty. */
int rig_begin(rig *r, uint64_t step, uint32_t rows);
void rig_complete(rig *r, int slot, uint32_t rows);
/* Reads the batch as the device would: on the rig's stream, after waiting for it. The number of bad
 * rows; all of them when waiting fails. */
uint32_t rig_read(rig *r, sluice_batch *batch);

#endif
