/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices: the PCI addresses of this process's GPUs. CUDA's numbers mean nothing outside the
 * process: CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES change them. Call it after cuInit, not
 * inside: only then does the driver answer. One thread at a time.
 */
#ifndef INJECT_DEVICES_H
#define INJECT_DEVICES_H

#include "idle_format.h"

#include <stdbool.h>

/* Queries the driver that the program has loaded; false, and nothing written, if it gives no
 * answer. */
bool devices_read(char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES]);

#endif
