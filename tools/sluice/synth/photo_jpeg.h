/* SPDX-License-Identifier: Apache-2.0 */
/* photo_jpeg: compresses a synthetic photo by its description. One thread per encoder. */
#ifndef TOOL_PHOTO_JPEG_H
#define TOOL_PHOTO_JPEG_H

#include "photo.h"

#include <stddef.h>
#include <stdint.h>

struct photo_jpeg {
    unsigned char *bytes; /* malloc'd, kept from photo to photo */
    unsigned long capacity, size;
    uint8_t *row; /* one CMYK row */
    size_t row_bytes;
};

/* Encodes; start from a zeroed struct. `rgb` is width x height x 3 bytes; not changed (libjpeg
 * takes no const rows). False: no memory. */
bool photo_jpeg_encode(struct photo_jpeg *jpeg, const struct photo *photo, uint8_t *rgb);
void photo_jpeg_free(struct photo_jpeg *jpeg);

#endif
