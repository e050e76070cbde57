/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture: what a photo of synth shows: a blend of two colours of its class under noise of several
 * sizes, coarse noise stronger than fine, so that compressing it takes about as many bits, and
 * decoding it as long, as of a photo. A picture holds the memory for one after another; one thread.
 */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "photo.h"

#include <stdint.h>

struct picture;

/* NULL: no memory. */
struct picture *picture_create(void);
void picture_destroy(struct picture *picture); /* NULL is fine */

/* Renders `photo` as 8-bit RGB, rows from the top; valid until the next call. NULL: no memory. */
uint8_t *picture_render(struct picture *picture, const struct photo *photo);

#endif
