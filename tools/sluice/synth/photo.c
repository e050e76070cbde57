/* SPDX-License-Identifier: Apache-2.0 */
#include "photo.h"

#include "rng.h"

#include <math.h>
#include <stddef.h>

enum { STREAM_PHOTO = 1, SIDE_MIN = 8, SIDE_MAX = 16384 };

/* A value and its weight, in any unit. */
struct weighted {
    double value;
    double weight;
};

static double pick(struct rng *rng, const struct weighted *table, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        total += table[i].weight;
    }
    double at = rng_unit(rng) * total;
    size_t i = 0;
    while (i + 1 < count && at >= table[i].weight) {
        at -= table[i].weight;
        i++;
    }
    return table[i].value;
}

#define PICK(rng, table) pick(rng, table, sizeof(table) / sizeof *(table))

/* Ratio of the longer to the shorter side. */
static const struct weighted aspects[] = {
    {1.0, 6}, {1.07, 4}, {1.18, 2}, {1.25, 3}, {1.333, 46},
    {1.4, 4}, {1.5, 24}, {1.6, 4},  {1.85, 3}, {2.4, 1},
};

/* Two thirds of ImageNet were resized to 500 pixels and saved with quality 96, 4:4:4. */
static void draw_resized(struct photo *photo, struct rng *rng, double *longer)
{
    static const struct weighted sides[] = {{500, 95}, {150, 1}, {350, 2}, {800, 1}};
    *longer = PICK(rng, sides);
    photo->quality = 96;
    photo->colour = PHOTO_444;
    photo->detail = exp(0.47 * rng_normal(rng) + 0.23);
}

/* The others have their original size. */
static void draw_found(struct photo *photo, struct rng *rng, double *longer)
{
    static const struct weighted qualities[] = {{35, 2},  {62, 3},  {72, 5},  {75, 18}, {80, 18},
                                                {85, 22}, {90, 12}, {93, 14}, {95, 6},  {99, 5}};
    static const struct weighted colours[] = {{PHOTO_420, 65}, {PHOTO_444, 32}, {PHOTO_422, 3}};
    double side = 490 * exp(0.44 * rng_normal(rng));
    *longer = side < 150 ? 150 : (side > 1600 ? 1600 : side);
    photo->quality = (int)PICK(rng, qualities);
    photo->colour = (enum photo_colour)(int)PICK(rng, colours);
    photo->detail = exp(0.62 * rng_normal(rng) + 0.15);
}

static uint32_t to_side(double pixels)
{
    double rounded = floor(pixels + 0.5);
    if (rounded < SIDE_MIN) {
        return SIDE_MIN;
    }
    return rounded > SIDE_MAX ? SIDE_MAX : (uint32_t)rounded;
}

/* Rare kinds come at fixed places, so that a set of a few hundred has some of each: 3 % grey, 1
 * % progressive, 0.5 % CMYK. */
static void make_rare(struct photo *photo)
{
    if (photo->index % 33 == 17) {
        photo->colour = PHOTO_GREY;
    } else if (photo->index % 200 == 60) {
        photo->colour = PHOTO_CMYK;
    }
    photo->progressive = photo->index % 100 == 40;
}

struct photo photo_draw(uint64_t seed, uint64_t index, uint32_t classes, double scale)
{
    struct rng rng = rng_make(seed, STREAM_PHOTO, index);
    struct photo photo = {.seed = seed, .index = index, .label = (uint32_t)(index % classes)};
    double longer;
    if (rng_unit(&rng) < 0.65) {
        draw_resized(&photo, &rng, &longer);
    } else {
        draw_found(&photo, &rng, &longer);
    }
    double shorter = longer / PICK(&rng, aspects);
    bool portrait = rng_unit(&rng) < 0.27;
    photo.width = to_side((portrait ? shorter : longer) * scale);
    photo.height = to_side((portrait ? longer : shorter) * scale);
    make_rare(&photo);
    return photo;
}
