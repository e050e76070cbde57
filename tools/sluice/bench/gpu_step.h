/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_step: a training step made of GPU kernels of a known length. A step is many launches of a
 * kernel that fills every multiprocessor and spins until the device's own clock has advanced: like
 * in real training, other streams can run between launches, and the length does not depend on the
 * device's clock rate. The number of launches is fixed. Their length is calibrated by events, after
 * a warm-up of the device, so that a step takes the requested time.
 *
 * The CUDA driver is opened at run time ($SLUICE_CUDA_DRIVER, else libcuda.so.1). Steps are queued
 * on a separate stream: sluice_batch_wait, the kernels, sluice_batch_release_on; the host waits
 * only to be at most `ahead` steps ahead. The recorded times are the device's, converted to the
 * host's clock by one synchronisation at the beginning of each arm.
 */
#ifndef TOOL_GPU_STEP_H
#define TOOL_GPU_STEP_H

#include "accelerator.h"

/* Opens it. `device`: "cuda" or "cuda:N", as in sluice_loader_options. The primary context is
 * current on the calling thread until it is closed. NULL: reported, `*code` is the exit code. */
struct accelerator *gpu_step_open(const char *device, double step_s, uint32_t ahead, int *code);

#endif
