/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_CLASS = 2, STREAM_PICTURE = 3, CELLS = 256, OCTAVES = 5 };

struct picture {
    float cells[CELLS * CELLS]; /* white noise, a torus; -1..1 */
    uint8_t *rgb;
    float *line;     /* a row's brightness */
    size_t capacity; /* pixels of rgb */
    uint32_t width;  /* of line */
};

/* A level of noise: pixels per cell, and amplitude. */
struct octave {
    uint32_t cell;
    float weight;
};

struct picture *picture_create(void)
{
    return calloc(1, sizeof(struct picture));
}

void picture_destroy(struct picture *picture)
{
    if (picture != NULL) {
        free(picture->rgb);
        free(picture->line);
        free(picture);
    }
}

static bool reserve(struct picture *picture, const struct photo *photo)
{
    const size_t pixels = (size_t)photo->width * photo->height;
    if (pixels > picture->capacity) {
        free(picture->rgb);
        picture->rgb = malloc(pixels * 3);
        picture->capacity = picture->rgb != NULL ? pixels : 0;
    }
    if (photo->width > picture->width) {
        free(picture->line);
        picture->line = malloc(photo->width * sizeof *picture->line);
        picture->width = picture->line != NULL ? photo->width : 0;
    }
    return picture->rgb != NULL && picture->line != NULL;
}

/* Adds row `y` of the octave to the line, bilinear between the cells. */
static void add_octave(struct picture *picture, const struct octave *octave, uint32_t width,
                       uint32_t y)
{
    const uint32_t cell = octave->cell;
    const float *upper = picture->cells + (size_t)(y / cell % CELLS) * CELLS;
    const float *lower = picture->cells + (size_t)((y / cell + 1) % CELLS) * CELLS;
    const float down = (float)(y % cell) / (float)cell;
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t left = x / cell % CELLS;
        const uint32_t right = (left + 1) % CELLS;
        const float across = (float)(x % cell) / (float)cell;
        const float above = upper[left] + (upper[right] - upper[left]) * across;
        const float below = lower[left] + (lower[right] - lower[left]) * across;
        picture->line[x] += octave->weight * (above + (below - above) * down);
    }
}

static uint8_t to_level(float value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5F);
}

/* The colours shared by a class's photos: 0..255, and the amount of noise of each channel. */
struct colours {
    float top[3];
    float bottom[3];
    float tint[3];
};

static struct colours colours_of(const struct photo *photo)
{
    struct rng rng = rng_make(photo->seed, STREAM_CLASS, photo->label);
    struct colours colours;
    for (int i = 0; i < 3; i++) {
        colours.top[i] = (float)rng_between(&rng, 60, 220);
        colours.bottom[i] = (float)rng_between(&rng, 30, 190);
        colours.tint[i] = (float)rng_between(&rng, 0.6, 1.4);
    }
    return colours;
}

static void render_row(struct picture *picture, const struct photo *photo,
                       const struct colours *colours, uint32_t y)
{
    const float fine = (float)photo->detail;
    const struct octave octaves[OCTAVES] = {
        {97, 55}, {31, 30}, {9, 15 * fine}, {3, 13 * fine}, {1, 10 * fine}};
    memset(picture->line, 0, photo->width * sizeof *picture->line);
    for (int i = 0; i < OCTAVES; i++) {
        add_octave(picture, &octaves[i], photo->width, y);
    }
    const float down = (float)y / (float)photo->height;
    uint8_t *to = picture->rgb + (size_t)y * photo->width * 3;
    for (uint32_t x = 0; x < photo->width; x++) {
        for (int i = 0; i < 3; i++) {
            const float base = colours->top[i] + (colours->bottom[i] - colours->top[i]) * down;
            *to++ = to_level(base + colours->tint[i] * picture->line[x]);
        }
    }
}

uint8_t *picture_render(struct picture *picture, const struct photo *photo)
{
    if (!reserve(picture, photo)) {
        return NULL;
    }
    struct rng rng = rng_make(photo->seed, STREAM_PICTURE, photo->index);
    for (size_t i = 0; i < (size_t)CELLS * CELLS; i++) {
        picture->cells[i] = (float)rng_between(&rng, -1, 1);
    }
    const struct colours colours = colours_of(photo);
    for (uint32_t y = 0; y < photo->height; y++) {
        render_row(picture, photo, &colours, y);
    }
    return picture->rgb;
}
