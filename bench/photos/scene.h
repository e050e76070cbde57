/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene: composes the image of a synthetic photo. Photos of one class share a kind of place, a
 * palette and a subject. The contents follow the dead leaves model (occluding objects whose sizes
 * follow a power law), which gives the edges and the spectrum of natural images.
 *
 * A scene owns memory that is reused for consecutive images; one thread.
 */
#ifndef TOOL_SCENE_H
#define TOOL_SCENE_H

#include "photo.h"

#include <stdint.h>

struct scene;

/* Returns NULL if out of memory. */
struct scene *scene_create(void);
void scene_destroy(struct scene *scene);

/* Renders `photo` as 8-bit RGB, rows from the top; valid until the next call. Returns NULL if
 * memory is short. */
uint8_t *scene_render(struct scene *scene, const struct photo *photo);

#endif
