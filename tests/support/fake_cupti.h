/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cupti: lets a test program report GPU work to the fake CUPTI. Times are in ns on
 * fake_cupti_now's clock. Threads: any. */
#ifndef TEST_FAKE_CUPTI_H
#define TEST_FAKE_CUPTI_H

#include <stdint.h>

uint64_t fake_cupti_now(void);
void fake_cupti_kernel(uint32_t device, const char *name, uint64_t start, uint64_t end);
/* `copy_kind` is CUPTI's: 1 host to device, 2 device to host. */
void fake_cupti_copy(uint32_t device, int copy_kind, uint64_t start, uint64_t end);
void fake_cupti_fill(uint32_t device, uint64_t start, uint64_t end);

#endif
