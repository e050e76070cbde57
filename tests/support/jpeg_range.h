/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_range: whether a JPEG's values are such as encoders write.
 *
 * Damage can make coefficients and quantizers whose products leave 16 bits. Then libjpeg-turbo's
 * inverse transforms overflow in another way on each architecture. Our kernels do as SSE2 does, so
 * on x86-64 all code paths give the same pixels even then; elsewhere only for values in range.
 */
#ifndef SL_JPEG_RANGE_H
#define SL_JPEG_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all code paths promise the same pixels here. What libjpeg cannot read: false. */
bool jpeg_is_portable(const uint8_t *data, size_t size);
/* The same for any architecture: whether nothing overflows. */
bool jpeg_is_in_range(const uint8_t *data, size_t size);

#endif
