/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator: a simulated device, "cuda:0".
 *
 * Purpose: replaces sl_device_cuda. Each stream is a fiber that does its work in order, each unit
 * after a random delay. Device memory is plain memory, so that checks can read it. A loader that
 * misuses the device ends the program (sim_fail): it changes a copy's source before the copy runs,
 * overwrites memory that the consumer still reads, or frees memory under queued work. Losing the
 * device: from the call chosen by the run on, every call returns DEVICE and no queued work runs.
 * Threads: fibers.
 */
#ifndef SIM_ACCELERATOR_H
#define SIM_ACCELERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

typedef struct sim_accelerator_how {
    bool used;
    uint64_t delay_ns; /* longest delay of a unit of work */
    uint32_t slots;    /* batches in device memory */
    uint32_t lost_at;  /* call that loses the device, from 1 on; 0: never lost */
} sim_accelerator_how;

/* Begins part of a run: the device is intact, and no call has been made. */
void sim_accelerator_set(const sim_accelerator_how *how);
bool sim_accelerator_is_lost(void);

/* Opens a stream of the consumer. Closing it waits for its work. */
struct CUstream_st *sim_accelerator_open_stream(void);
void sim_accelerator_close_stream(struct CUstream_st *stream);
/* Waits until all work queued on the stream is done. */
void sim_accelerator_synchronize(struct CUstream_st *stream);
/* Queues a read of device memory, which must find the bytes unchanged. */
void sim_accelerator_read(struct CUstream_st *stream, const void *from, size_t bytes);

#endif
