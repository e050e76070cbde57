/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_kernel: the kernel of a GPU step, as PTX, which every driver compiles for its device (compute
 * capability 7.5 and newer). One parameter, 64 bits: nanoseconds. Each thread spins until the
 * device's clock has advanced by that time.
 */
#ifndef TOOL_GPU_KERNEL_H
#define TOOL_GPU_KERNEL_H

extern const char gpu_spin_ptx[];
extern const char gpu_spin_name[];

#endif
