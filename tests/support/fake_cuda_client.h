/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda_client: how a test gets at the fake driver that the library uses as well.
 */
#ifndef FAKE_CUDA_CLIENT_H
#define FAKE_CUDA_CLIENT_H

#include "fake_cuda.h"

/* The fake that SLUICE_CUDA_DRIVER names, reset; NULL when that names none. Once opened it stays.
 */
const fake_cuda_control *fake_cuda_open(void);
/* 1, and says so on standard error, when there was a misuse or something is left open. */
int fake_cuda_complain(const fake_cuda_control *fake);

/* Device memory of the test's own, from the fake driver as programs get it. Aborts on failure. */
void *fake_cuda_memory_new(size_t bytes);
void fake_cuda_memory_free(void *memory);

/* Makes a context of the program's own, on that device, current, as cuCtxCreate does. */
void fake_cuda_context_enter(int device);
void fake_cuda_context_leave(void);

#endif
