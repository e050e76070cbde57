/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scene: paints a background, clutter and a subject, in this order, by a photo's class and its
 * random numbers. One thread; the same photo always gives the same pixels.
 */
#include "scene.h"

#include "noise.h"
#include "paint.h"
#include "rng.h"

#include <math.h>
#include <stdlib.h>

enum { STREAM_CLASS = 2, STREAM_SCENE = 3 };

enum place { PLACE_OUTDOOR, PLACE_INDOOR, PLACE_CLOSE_UP, PLACE_THICKET, PLACE_PLAIN, PLACES };

struct scene {
    struct canvas canvas;
    uint8_t *rgb;
    size_t capacity; /* capacity of canvas.pixels and rgb, in pixels */
    float *rough, *smooth, *scratch;
};

/* Properties shared by the photos of a class. */
struct style {
    enum place place;
    double subject_hue, ground_hue, accent_hue;
    enum shape_kind subject_kind;
    uint32_t subject_parts;
    double subject_range;
};

/* The image being painted. */
struct work {
    const struct scene *scene;
    struct rng rng;
    struct style style;
    float detail;
    float unit; /* the shorter side, pixels */
};

struct scene *scene_create(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return NULL;
    }
    scene->rough = malloc(sizeof(float) * NOISE_CELLS);
    scene->smooth = malloc(sizeof(float) * NOISE_CELLS);
    scene->scratch = malloc(sizeof(float) * NOISE_CELLS);
    if (scene->rough == NULL || scene->smooth == NULL || scene->scratch == NULL) {
        scene_destroy(scene);
        return NULL;
    }
    return scene;
}

void scene_destroy(struct scene *scene)
{
    if (scene == NULL) {
        return;
    }
    free(scene->canvas.pixels);
    free(scene->rgb);
    free(scene->rough);
    free(scene->smooth);
    free(scene->scratch);
    free(scene);
}

static bool reserve(struct scene *scene, const struct photo *photo)
{
    size_t pixels = (size_t)photo->width * photo->height;
    scene->canvas.width = photo->width;
    scene->canvas.height = photo->height;
    if (pixels <= scene->capacity) {
        return true;
    }
    free(scene->canvas.pixels);
    free(scene->rgb);
    scene->canvas.pixels = malloc(pixels * 3 * sizeof(float));
    scene->rgb = malloc(pixels * 3);
    bool done = scene->canvas.pixels != NULL && scene->rgb != NULL;
    scene->capacity = done ? pixels : 0;
    return done;
}

/* hue 0..6 (red, yellow, green, cyan, blue, magenta), saturation 0..1, value 0..255. */
static struct colour from_hue(double hue, double saturation, double value)
{
    struct colour colour;
    for (int c = 0; c < 3; c++) {
        double away = fabs(fmod(hue - 2 * c + 9, 6) - 3);
        double part = fmin(fmax(2 - away, 0), 1);
        colour.channel[c] = (float)(value * (1 - saturation * (1 - part)));
    }
    return colour;
}

static struct colour some_colour(struct work *work, double hue)
{
    struct rng *rng = &work->rng;
    double saturation = rng_between(rng, 0.05, 0.6);
    return from_hue(hue + 0.35 * rng_normal(rng), saturation, rng_between(rng, 40, 225));
}

static struct style draw_style(const struct photo *photo)
{
    struct rng rng = rng_make(photo->seed, STREAM_CLASS, photo->label);
    /* Skin, fur, wood and earth are about orange; plants yellow-green; sky and metal blue. */
    static const double hues[] = {0.6, 0.8, 1.0, 1.4, 2.0, 3.6, 4.0, 0.1};
    struct style style = {.place = (enum place)rng_below(&rng, PLACES)};
    style.subject_hue = hues[rng_below(&rng, 8)];
    style.ground_hue = hues[1 + rng_below(&rng, 4)];
    style.accent_hue = rng_between(&rng, 0, 6);
    style.subject_kind = rng_unit(&rng) < 0.7 ? SHAPE_ELLIPSE : SHAPE_BOX;
    style.subject_parts = 2 + rng_below(&rng, 5);
    style.subject_range = rng_between(&rng, 0.4, 1.6);
    return style;
}

static struct surface some_surface(struct work *work, double hue, double texture)
{
    struct rng *rng = &work->rng;
    struct surface surface = {.base = some_colour(work, hue)};
    for (int c = 0; c < 3; c++) {
        surface.tint.channel[c] = (float)rng_between(rng, 0.75, 1.15);
    }
    bool rough = rng_unit(rng) < 0.6;
    surface.field = rough ? work->scene->rough : work->scene->smooth;
    surface.texture = (float)(texture * (rough ? 1 : 1.5)) * work->detail;
    surface.step_x = 1 + (rng_unit(rng) < 0.2);
    surface.step_y = 1 + (rng_unit(rng) < 0.2);
    surface.offset = rng_below(rng, NOISE_CELLS);
    return surface;
}

static void paint_background(struct work *work)
{
    const struct canvas *canvas = &work->scene->canvas;
    struct rng *rng = &work->rng;
    enum place place = work->style.place;
    double sky_hue = place == PLACE_OUTDOOR ? 3.6 : work->style.ground_hue;
    struct surface far = some_surface(work, sky_hue, place == PLACE_PLAIN ? 1 : 8);
    far.field = work->scene->smooth;
    if (place == PLACE_PLAIN) {
        far.base = from_hue(1, 0.02, rng_between(rng, 225, 250)); /* a product shot */
    } else if (place == PLACE_OUTDOOR) {
        far.base = from_hue(sky_hue, rng_between(rng, 0.05, 0.5), rng_between(rng, 150, 240));
    }
    struct colour below = far.base;
    float fall = (float)rng_between(rng, 0.75, 1.1);
    for (int c = 0; c < 3; c++) {
        below.channel[c] *= fall;
    }
    paint_ground(canvas, 0, &far, &below);
    if (place == PLACE_OUTDOOR || place == PLACE_INDOOR) {
        struct surface ground = some_surface(work, work->style.ground_hue, 16);
        struct colour near = some_colour(work, work->style.ground_hue);
        uint32_t horizon = (uint32_t)(rng_between(rng, 0.3, 0.8) * canvas->height);
        paint_ground(canvas, horizon, &ground, &near);
    }
}

static struct shape some_shape(struct work *work, double hue, float radius)
{
    struct rng *rng = &work->rng;
    const struct canvas *canvas = &work->scene->canvas;
    struct shape shape = {.kind = rng_unit(rng) < 0.65 ? SHAPE_ELLIPSE : SHAPE_BOX};
    shape.x = (float)rng_between(rng, 0, canvas->width);
    shape.y = (float)rng_between(rng, 0, canvas->height);
    double range = exp(0.5 * rng_normal(rng));
    shape.radius_x = fmaxf(radius * (float)range, 1);
    shape.radius_y = fmaxf(radius / (float)range, 1);
    shape.angle = (float)rng_between(rng, -0.8, 0.8);
    shape.wobble = rng_unit(rng) < 0.4 ? (float)rng_between(rng, 0.05, 0.4) : 0;
    shape.softness = 1.2F;
    shape.light_x = (float)rng_between(rng, -25, 25);
    shape.light_y = (float)rng_between(rng, -35, 5);
    shape.roundness = shape.kind == SHAPE_ELLIPSE ? (float)rng_between(rng, 0, 35) : 0;
    shape.surface = some_surface(work, hue, rng_between(rng, 3, 20));
    return shape;
}

/* Paints objects around the subject, large ones first; radii follow r^-3 between two limits. */
static void paint_clutter(struct work *work)
{
    static const uint32_t counts[PLACES] = {22, 16, 10, 70, 3};
    struct rng *rng = &work->rng;
    uint32_t count = counts[work->style.place] / 2 + rng_below(rng, counts[work->style.place]);
    bool blurred = work->style.place == PLACE_CLOSE_UP;
    for (uint32_t i = 0; i < count; i++) {
        double draw = ((double)i + rng_unit(rng)) / count; /* decreases from large to small */
        double radius = 0.03 / sqrt(0.012 + draw * draw);
        double hue = rng_unit(rng) < 0.75 ? work->style.ground_hue : work->style.accent_hue;
        struct shape shape = some_shape(work, hue, (float)radius * work->unit);
        if (blurred) {
            shape.softness = 0.08F * work->unit;
            shape.surface.field = work->scene->smooth;
            shape.surface.texture *= 0.3F;
        }
        paint_shape(&work->scene->canvas, &shape);
    }
}

/* Paints the subject of the class: a body with parts around it, near the centre. */
static void paint_subject(struct work *work)
{
    struct rng *rng = &work->rng;
    const struct style *style = &work->style;
    const struct canvas *canvas = &work->scene->canvas;
    float size = (float)rng_between(rng, 0.16, 0.36) * work->unit;
    float x = (float)canvas->width * (float)rng_between(rng, 0.35, 0.65);
    float y = (float)canvas->height * (float)rng_between(rng, 0.4, 0.65);
    float texture = (float)rng_between(rng, 6, 22);
    for (uint32_t part = 0; part < style->subject_parts; part++) {
        float share = part == 0 ? 1 : (float)rng_between(rng, 0.15, 0.55);
        double turn = rng_between(rng, 0, 6.2831853);
        struct shape shape = some_shape(work, style->subject_hue, size * share);
        shape.kind = style->subject_kind;
        shape.radius_x = size * share * (float)style->subject_range;
        shape.radius_y = size * share / (float)style->subject_range;
        shape.x = x + (part == 0 ? 0 : size * (float)(cos(turn) * style->subject_range));
        shape.y = y + (part == 0 ? 0 : size * (float)(sin(turn) / style->subject_range));
        shape.roundness = 40;
        shape.surface.texture = texture * work->detail;
        paint_shape(canvas, &shape);
    }
    /* Eyes, buttons, highlights: small objects of strong contrast. */
    for (int i = 0; i < 3; i++) {
        struct shape shape = some_shape(work, style->accent_hue, size * 0.06F);
        shape.x = x + size * (float)rng_between(rng, -0.6, 0.6);
        shape.y = y + size * (float)rng_between(rng, -0.6, 0.6);
        float level = i == 0 ? 235 : 20;
        shape.surface.base = (struct colour){{level, level, level}};
        paint_shape(canvas, &shape);
    }
}

uint8_t *scene_render(struct scene *scene, const struct photo *photo)
{
    if (!reserve(scene, photo)) {
        return NULL;
    }
    struct work work = {.scene = scene, .style = draw_style(photo), .detail = (float)photo->detail};
    work.rng = rng_make(photo->seed, STREAM_SCENE, photo->index);
    work.unit = (float)(photo->width < photo->height ? photo->width : photo->height);
    struct rng *rng = &work.rng;
    noise_field(scene->rough, scene->scratch, rng, rng_between(rng, 0, 0.4));
    noise_field(scene->smooth, scene->scratch, rng, rng_between(rng, 0.8, 1.3));
    paint_background(&work);
    paint_clutter(&work);
    paint_subject(&work);
    struct finish finish = {.vignette = (float)rng_between(rng, 0, 0.35),
                            .grain_luma = 3.4F * work.detail,
                            .grain_chroma = 1.9F * work.detail,
                            .contrast = (float)rng_between(rng, 0.8, 1.15)};
    paint_finish(&scene->canvas, &finish, rng, scene->rgb);
    return scene->rgb;
}
