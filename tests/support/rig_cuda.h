/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig_cuda: the consumer's side of staging_rig on a real CUDA device, through the driver.
 *
 * Reading: the consumer's stream copies a batch to the rig's memory and then runs a host function,
 * as late as a kernel would run.
 * Threads: one at a time. Any failure ends the test: nothing here is under test.
 */
#ifndef RIG_CUDA_H
#define RIG_CUDA_H

#include "rig_parts.h"

struct CUstream_st;
typedef struct rig_cuda rig_cuda;

typedef struct rig_cuda_reader {
    struct CUstream_st *stream;
    rig_view *view;      /* device addresses; replaced by host addresses */
    size_t images, tail; /* bytes of the images; bytes from the labels to the mask's end */
    void (*run)(void *ctx);
    void *ctx;
} rig_cuda_reader;

rig_cuda *rig_cuda_open(void);
/* Waits for all streams. NULL is a no-op. */
void rig_cuda_close(rig_cuda *cuda);
struct CUstream_st *rig_cuda_stream_new(rig_cuda *cuda);
void rig_cuda_synchronize(rig_cuda *cuda, struct CUstream_st *stream);
void rig_cuda_kernel(rig_cuda *cuda, const rig_cuda_reader *reader);

#endif
