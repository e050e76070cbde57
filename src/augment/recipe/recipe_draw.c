/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe_draw: draws a sample's program from a checked recipe and a key. Pure, over the caller's
 * program.
 */
#include "error.h"
#include "largest_canvas.h"
#include "option_text.h"
#include "recipe.h"

#include <assert.h>
#include <string.h>

/*
 * Number of a stream's first block, in a sample's random numbers: 16 for each group, and for
 * streams from 16 on in further blocks of such numbers. Fixed forever. Below 1008 there are 1024
 * blocks minus those with other uses (subvolume.c).
 */
#define ATTEMPT_SEED UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / the golden ratio: seeds far apart */
/* A multiplier of Steele and Vigna (arXiv 2001.05304): separates layers as far. */
#define LAYER_SEED UINT64_C(0xd1342543de82ef95)
/* Likewise: separates shared draws from all groups. */
#define SHARED_SEED UINT64_C(0xda942042e4dd58b5)
enum { STREAMS_PER_GROUP = 16, STREAM_BLOCK = STREAMS_PER_GROUP * SL_GROUPS_MAX };
_Static_assert(SL_STREAMS *SL_STREAM_STEPS <= 1008, "streams have numbers of their own");

sl_random sl_recipe_random(const sl_draw_key *key, uint32_t stream)
{
    assert(key->group < SL_GROUPS_MAX);
    return sl_random_for(key->seed + key->attempt * ATTEMPT_SEED + key->layer * LAYER_SEED,
                         key->epoch, key->sample,
                         stream / STREAMS_PER_GROUP * STREAM_BLOCK +
                             key->group * STREAMS_PER_GROUP + stream % STREAMS_PER_GROUP);
}

typedef struct recipe_draw {
    const sluice_augment *recipe;
    sl_draw_key key; /* of the first layer, from where its layers are blended on */
    sl_drawing drawing;
} recipe_draw;

static sluice_status draw_steps(recipe_draw *draw, uint32_t begin, uint32_t end);

static sluice_status draw_choice(recipe_draw *draw, uint32_t group, sl_random *random)
{
    const sl_recipe_step *steps = draw->recipe->steps;
    const uint32_t children = sl_recipe_children(draw->recipe, group);
    double sum = 0;
    for (uint32_t i = 0; i < children; i++) {
        sum += steps[group].arguments[i];
    }
    double left = sl_random_unit(random) * sum;
    uint32_t at = group + 1;
    uint32_t chosen = at;
    for (uint32_t i = 0; i < children; i++) {
        const double weight = steps[group].arguments[i];
        if (weight > 0) {
            chosen = at;
            if (left < weight) {
                break;
            }
            left -= weight;
        }
        at += 1 + steps[at].inside;
    }
    return draw_steps(draw, chosen, chosen + 1 + steps[chosen].inside);
}

static sluice_status draw_in_any_order(recipe_draw *draw, uint32_t group, sl_random *random)
{
    uint32_t order[SL_STEPS_MAX];
    const sl_recipe_step *steps = draw->recipe->steps;
    const uint32_t end = group + 1 + steps[group].inside;
    uint32_t count = 0;
    for (uint32_t at = group + 1; at < end; at += 1 + steps[at].inside) {
        order[count++] = at;
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t left = count; left > 0 && status == SLUICE_OK; left--) {
        const uint32_t pick = sl_random_below(random, left);
        const uint32_t at = order[pick];
        order[pick] = order[left - 1];
        status = draw_steps(draw, at, at + 1 + steps[at].inside);
    }
    return status;
}

static sluice_status draw_recipe_group(recipe_draw *draw, uint32_t group)
{
    const sl_recipe_step *step = &draw->recipe->steps[group];
    sl_random random = sl_recipe_random(&draw->key, step->stream);
    switch (step->kind->group) {
    case SL_GROUP_CHOICE:
        return draw_choice(draw, group, &random);
    case SL_GROUP_ORDER:
        return draw_in_any_order(draw, group, &random);
    case SL_GROUP_APPLY:
        if (!(sl_random_unit(&random) < step->arguments[0])) {
            return SLUICE_OK;
        }
        break;
    default:
        break;
    }
    const sl_draw_key own = draw->key;
    if (step->kind->shares) { /* of the sample alone, regardless of how often its group is drawn */
        draw->key.seed += (1 + (uint64_t)step->arguments[0]) * SHARED_SEED;
        draw->key.group = draw->key.attempt = 0;
    }
    const sluice_status status = draw_steps(draw, group + 1, group + 1 + step->inside);
    draw->key.seed = own.seed;
    draw->key.group = own.group;
    draw->key.attempt = own.attempt;
    return status;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as groups are, SL_STEP_DEPTH
static sluice_status draw_steps(recipe_draw *draw, uint32_t begin, uint32_t end)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = begin; i < end && status == SLUICE_OK;) {
        const sl_recipe_step *step = &draw->recipe->steps[i];
        if (step->kind->group != SL_GROUP_NO) {
            status = draw_recipe_group(draw, i);
        } else if (step->kind->draw != NULL) {
            draw->key.layer = step->kind->layers != NULL ? 0 : draw->key.layer;
            draw->drawing.random = sl_recipe_random(&draw->key, step->stream);
            draw->drawing.native = step->native;
            status = step->kind->draw(step->arguments, &draw->drawing);
        }
        i += 1 + step->inside;
    }
    return status;
}

/* ---- canvases ---- */

/* Canvases of at most so many pixels are always accepted. */
#define CANVAS_LEAST ((uint64_t)1 << 24)

void sl_recipe_limit(sluice_augment *recipe, uint64_t max_pixels)
{
    recipe->canvas_pixels = max_pixels > CANVAS_LEAST ? max_pixels : CANVAS_LEAST;
}

/* Returns the pixels of the largest canvas whose size the recipe or the batch gives. */
static uint64_t given_canvas(const sluice_augment *recipe, const sl_draw_key *key)
{
    return sl_recipe_wants_batch(recipe) ? (uint64_t)key->width * key->height
                                         : sl_recipe_canvas(recipe);
}

static bool has_canvas_limit(const sluice_augment *recipe, const sl_params *params)
{
    return recipe->canvas_pixels > 0 && sl_may_have_canvas(params);
}

static sluice_status check_canvases(const recipe_draw *draw, const sl_params *params,
                                    sluice_error *error)
{
    const sluice_augment *recipe = draw->recipe;
    const sl_canvas_size canvas = sl_largest_canvas(params);
    const uint64_t pixels = (uint64_t)canvas.width * canvas.height;
    if (pixels <= recipe->canvas_pixels || pixels <= given_canvas(recipe, &draw->key)) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                        "the recipe makes a canvas of %u x %u of a picture of %u x %u: %llu "
                        "pixels, the limit is %llu (option " SL_OPTION(
                            "max_pixels") "); crop "
                                          "before other steps, or raise it",
                        canvas.width, canvas.height, params->trail.picture_width,
                        params->trail.picture_height, (unsigned long long)pixels,
                        (unsigned long long)recipe->canvas_pixels);
}

#ifndef NDEBUG
static bool has_size(const sluice_augment *recipe, const sl_draw_key *key, const sl_params *params)
{
    const bool of_batch = recipe->width == SL_SIZE_OF_BATCH;
    const uint32_t width = of_batch ? key->width : recipe->width;
    const uint32_t height = of_batch ? key->height : recipe->height;
    return recipe->width == 0 || (params->width == width && params->height == height);
}
#endif

/* Begins the labels of the same image; following steps are drawn to both. */
static void begin_labels(sl_drawing *image, sl_drawing *labels, sl_params *params)
{
    sl_drawing_begin(labels, params, image->width, image->height, image->exact, image->error);
    labels->labels = true;
    labels->layer = image->layer;
    image->twin = labels;
}

static sluice_status end_labels(const recipe_draw *draw, sl_drawing *labels, sluice_error *error)
{
    sl_drawing_end(labels);
    labels->params->layered = false; /* labels of a layer are brought to the output separately */
    return has_canvas_limit(draw->recipe, labels->params)
               ? check_canvases(draw, labels->params, error)
               : SLUICE_OK;
}

sluice_status sl_draw_both(const sluice_augment *recipe, const sl_draw_key *key,
                           uint32_t picture_width, uint32_t picture_height,
                           sl_params *const programs[2], sluice_error *error)
{
    assert(picture_width > 0 && picture_height > 0);
    recipe_draw draw = {.recipe = recipe, .key = *key};
    sl_drawing labels;
    if (recipe->width == 0 && !key->any_size) {
        return sl_recipe_check(recipe, error);
    }
    if (picture_width > INT32_MAX || picture_height > INT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u is too large", picture_width, picture_height);
    }
    assert(!sl_recipe_wants_batch(recipe) || (key->width > 0 && key->height > 0));
    sl_drawing_begin(&draw.drawing, programs[0], picture_width, picture_height, key->exact, error);
    memcpy(draw.drawing.mean, recipe->mean, sizeof(recipe->mean));
    memcpy(draw.drawing.deviation, recipe->deviation, sizeof(recipe->deviation));
    if (key->label_fill != NULL) {
        draw.drawing.labels = true;
        memcpy(draw.drawing.label_fill, key->label_fill, sizeof(draw.drawing.label_fill));
    }
    draw.drawing.member = key->member;
    draw.drawing.layer = key->layer;
    draw.drawing.epoch = key->epoch;
    draw.drawing.batch_width = key->width;
    draw.drawing.batch_height = key->height;
    draw.drawing.boxes = key->boxes;
    draw.drawing.box_count = key->boxes != NULL ? key->box_count : 0;
    if (programs[1] != NULL) {
        assert(key->label_fill == NULL);
        begin_labels(&draw.drawing, &labels, programs[1]);
    }
    sluice_status status = draw_steps(&draw, 0, recipe->count);
    sl_drawing_end(&draw.drawing);
    assert(status != SLUICE_OK || has_size(recipe, key, programs[0]));
    if (status == SLUICE_OK && has_canvas_limit(recipe, programs[0])) {
        status = check_canvases(&draw, programs[0], error);
    }
    return status == SLUICE_OK && programs[1] != NULL ? end_labels(&draw, &labels, error) : status;
}

sluice_status sl_draw(const sluice_augment *recipe, const sl_draw_key *key, uint32_t picture_width,
                      uint32_t picture_height, sl_params *params, sluice_error *error)
{
    sl_params *const programs[2] = {params, NULL};
    return sl_draw_both(recipe, key, picture_width, picture_height, programs, error);
}
