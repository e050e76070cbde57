/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices: where the GPUs of this process are, by PCI address. CUDA's numbers say nothing outside
 * the process: CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES change them. Not inside cuInit: the
 * driver answers after it. One thread at a time.
 */
#ifndef INJECT_DEVICES_H
#define INJECT_DEVICES_H

#include "idle_format.h"

#include <stdbool.h>

/* Asks the driver that the program has loaded; false, and nothing written, when it does not tell.
 */
bool devices_read(char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES]);

#endif
