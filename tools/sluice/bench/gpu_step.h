/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_step: a training step that is a GPU kernel of a known length. A step is many launches of a
 * kernel that fills every multiprocessor and spins until the device's own clock has moved on: as in
 * real training, other streams get in between launches, and the length does not depend on the
 * device's clock rate. The number of launches is fixed, their length is calibrated so that a step
 * takes what was asked for, measured by events, after the device has been warmed up.
 *
 * The CUDA driver is opened at run time ($SLUICE_CUDA_DRIVER, else libcuda.so.1). Steps are given
 * to a stream of its own: sluice_batch_wait, the kernels, sluice_batch_release_on; the host waits
 * only to be no more than `ahead` steps ahead. The times on record are the device's,
 * on the host's clock through one synchronisation as each arm begins.
 */
#ifndef TOOL_GPU_STEP_H
#define TOOL_GPU_STEP_H

#include "accelerator.h"

/*
 * `device`: "cuda" or "cuda:N", as in sluice_loader_options. The primary context is current on the
 * calling thread until it is closed. NULL: reported, `*code` is the exit code.
 */
struct accelerator *gpu_step_open(const char *device, double step_s, uint32_t ahead, int *code);

#endif
