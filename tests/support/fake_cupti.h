/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cupti: what a test program says to the fake CUPTI: that something ran on the GPU. Times are
 * of fake_cupti_now's clock, in ns. Any thread. */
#ifndef TEST_FAKE_CUPTI_H
#define TEST_FAKE_CUPTI_H

#include <stdint.h>

uint64_t fake_cupti_now(void);
void fake_cupti_kernel(uint32_t device, const char *name, uint64_t start, uint64_t end);
/* `copy_kind` as CUPTI has it: 1 host to device, 2 device to host. */
void fake_cupti_copy(uint32_t device, int copy_kind, uint64_t start, uint64_t end);
void fake_cupti_fill(uint32_t device, uint64_t start, uint64_t end);

#endif
