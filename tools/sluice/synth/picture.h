/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture: the contents of a synthetic photo: a blend of two colours of its class under noise of
 * several sizes, coarse noise stronger than fine, so that its compressed size and decoding time are
 * about those of a photo. A picture's memory is reused for each photo; one thread.
 */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "photo.h"

#include <stdint.h>

struct picture;

/* NULL: no memory. */
struct picture *picture_create(void);
void picture_destroy(struct picture *picture); /* NULL is a no-op */

/* Renders `photo` as 8-bit RGB, rows from the top; valid until the next call. NULL: no memory. */
uint8_t *picture_render(struct picture *picture, const struct photo *photo);

#endif
