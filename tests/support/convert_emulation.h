/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert_emulation: runs the conversion kernels on the host: each thread of a launch in turn, from
 * the device's own source (conversion_body.h). Threads: pure.
 */
#ifndef CONVERT_EMULATION_H
#define CONVERT_EMULATION_H

#include "conversion_kernel.h"

/* Runs kernel `kernel` over the whole grid; the addresses in the parameters are host addresses. */
void convert_emulate(const sl_conversion_launch *launch, uint32_t kernel);
/* Runs one block of it: number x among the blocks of a row. */
void convert_emulate_block(const sl_conversion_launch *launch, uint32_t kernel, uint32_t x,
                           uint32_t row);
/* Runs the whole grid for a conversion. */
void convert_emulate_rows(const sl_conversion *conversion, const sl_conversion_rows *rows);

/* Converts one image by plain loops, straight from conversion.h, for comparison. */
void convert_plainly(const sl_conversion *conversion, uint8_t flags, const uint8_t *from, void *to);
/* Converts all rows in the same way, mixed or not; the addresses are host addresses. */
void convert_rows_plainly(const sl_conversion *conversion, const sl_conversion_rows *rows);

#endif
