/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_write: writes pixels as a PNG file.
 *
 * Purpose: 8-bit RGB that other programs can open, bit for bit the same pixels. The same pixels
 * give the same bytes with one version of zlib.
 *
 * Threads: pure.
 *
 * Memory: the file, and about 300 kB of zlib's.
 */
#ifndef SL_PNG_WRITE_H
#define SL_PNG_WRITE_H

#include "view.h"

#include <sluice/common.h>

/* `rgb` has width x height x 3 bytes. The caller frees the file (sl_free). Errors: NOMEM,
 * UNSUPPORTED (a side of more than 2^31 - 1). */
sluice_status sl_png_write(const uint8_t *rgb, uint32_t width, uint32_t height, uint8_t **png,
                           size_t *bytes, sluice_error *error);

#endif
