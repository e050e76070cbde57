/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_emulation: runs the conversion kernels on the host: every thread of a launch, one after
 * the other, from the very source that the device gets (conversion_body.h).
 * Threads: pure.
 */
#ifndef CONVERT_EMULATION_H
#define CONVERT_EMULATION_H

#include "conversion_kernel.h"

/* Kernel `kernel` over the whole grid; the parameters' addresses are of the host. */
void convert_emulate(const sl_conversion_launch *launch, uint32_t kernel);
/* One block of it: number x of those of a row. */
void convert_emulate_block(const sl_conversion_launch *launch, uint32_t kernel, uint32_t x,
                           uint32_t row);
/* The whole grid, from a conversion. */
void convert_emulate_rows(const sl_conversion *conversion, const sl_conversion_rows *rows);

/* One picture by plain loops, straight from conversion.h, for comparison. */
void convert_plainly(const sl_conversion *conversion, uint8_t flags, const uint8_t *from, void *to);
/* All rows, mixed or not, the same way; the addresses are of the host. */
void convert_rows_plainly(const sl_conversion *conversion, const sl_conversion_rows *rows);

#endif
