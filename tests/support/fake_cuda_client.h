/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda_client: gives a test access to the fake driver that the library uses.
 */
#ifndef FAKE_CUDA_CLIENT_H
#define FAKE_CUDA_CLIENT_H

#include "fake_cuda.h"

/* Opens the fake that SLUICE_CUDA_DRIVER names, and resets it; NULL if it names none. Once opened
 * it stays loaded. */
const fake_cuda_control *fake_cuda_open(void);
/* Returns 1, with a message on standard error, if there was a misuse or an object is still open. */
int fake_cuda_complain(const fake_cuda_control *fake);

/* Allocates device memory for the test from the fake driver, as programs do. Aborts on failure. */
void *fake_cuda_memory_new(size_t bytes);
void fake_cuda_memory_free(void *memory);

/* Creates a context on that device and makes it current, as cuCtxCreate does. */
void fake_cuda_context_enter(int device);
void fake_cuda_context_leave(void);

#endif
