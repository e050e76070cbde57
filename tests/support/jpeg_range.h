/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_range: whether a JPEG's values are in the range that encoders write.
 *
 * Damage can make coefficients and quantizers whose products exceed 16 bits. libjpeg-turbo's
 * inverse transforms then overflow differently on each architecture. Our kernels follow SSE2, so on
 * x86-64 all code paths give the same pixels even then; elsewhere only for values in range.
 */
#ifndef SL_JPEG_RANGE_H
#define SL_JPEG_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if all code paths promise the same pixels here. False if libjpeg cannot read the file. */
bool jpeg_is_portable(const uint8_t *data, size_t size);
/* True if nothing overflows on any architecture. */
bool jpeg_is_in_range(const uint8_t *data, size_t size);

#endif
