/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_composed_scenes: images of flat rectangles whose colours name the sample and the object.
 *
 * Every side is half, once, or twice SCENE_SIDE, and every edge is even. A resize to SCENE_SIDE by
 * the nearest pixel therefore moves each edge to a whole number, and each output pixel has the
 * colour of one object. Everything about a scene is a pure function of its number. Functions abort
 * on failure. Threads: any.
 */
#ifndef LOADER_COMPOSED_SCENES_H
#define LOADER_COMPOSED_SCENES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SCENES = 48,
    SCENE_SIDE = 32,
    SCENE_SIDE_MAX = 2 * SCENE_SIDE,
    SCENE_OBJECTS_MAX = 4,
    SCENE_CLASSES = 6
};

typedef struct scene {
    uint32_t number, width, height;
    uint32_t count;                        /* number of its objects, 1 .. SCENE_OBJECTS_MAX */
    int32_t objects[SCENE_OBJECTS_MAX][4]; /* left, top, right, bottom; no two overlap */
} scene;

scene scene_of(uint32_t number);
/* Returns the object that covers a pixel, or -1 for the background. */
int32_t scene_object_at(const scene *of, int32_t x, int32_t y);
/* Returns the colour of an object, or of the background for -1, unique to the sample. */
void scene_colour(const scene *of, int32_t object, uint8_t rgb[3]);
/* Returns the label of an object, unique to the sample. */
int64_t scene_label(const scene *of, uint32_t object);
/* Returns a point on the object, in pixels of the image. */
void scene_point(const scene *of, uint32_t object, double point[2]);

/* True if scenes_write damages the sample. */
bool scene_is_bad(uint32_t number);
/* Packs all scenes into the folder `path`. With `spoil`, bad samples have no image, or boxes with
 * swapped corners. Fields: image, id, boxes, labels, points, shapes, mask. */
void scenes_write(const char *path, bool spoil);
/* Sets `classes[number]` to the class of each sample. */
void scenes_classes(uint32_t classes[SCENES]);

#endif
