/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_blend: rows of two layers. Pure.
 *
 * MixUp (Zhang et al., arXiv 1710.09412) with an image of other samples, like detectors do
 * (ultralytics, data/augment.py, MixUp): weights of Beta(alpha, alpha), and annotations of both
 * images stay. Pixels are rounded to nearest even; ultralytics truncates them.
 *
 * Copy-paste (Ghiasi et al., arXiv 2012.07177): a random subset of the objects of another image,
 * drawn separately, over this one; its own objects lose the covered parts. As in the paper's
 * ablation, edges are not blended.
 */
#include "step_row.h"
#include "variates.h"

enum { BLEND_ALPHA, BLEND_PROBABILITY, BLEND_END_EPOCH };
enum { PASTE_PROBABILITY, PASTE_SHARE, PASTE_END_EPOCH };

static uint32_t layers_until(double end, uint64_t epoch)
{
    return end > 0 && (double)epoch >= end ? 1 : 2;
}

static uint32_t mixup_partner_layers(const double *arguments, uint64_t epoch)
{
    return layers_until(arguments[BLEND_END_EPOCH], epoch);
}

static sluice_status draw_mixup_partner(const double *arguments, sl_drawing *drawing)
{
    if (mixup_partner_layers(arguments, drawing->epoch) == 1) {
        return SLUICE_OK;
    }
    const double alpha = arguments[BLEND_ALPHA];
    const bool happens = sl_draw_happens(drawing, arguments[BLEND_PROBABILITY]);
    sl_draw_blend(drawing, happens ? (float)sl_beta(&drawing->random, alpha, alpha) : 1, !happens);
    return SLUICE_OK;
}

SL_STEP(mixup_partner) = {
    .name = "mixup_partner",
    .text = "the image blended with that of other samples, drawn like it, by random fractions",
    .stage = SL_STAGE_FILTER,
    .stream = 42,
    .arguments = {{SL_ARG_ALPHA(32)}, {SL_ARG_PROBABILITY(1)}, {SL_ARG_END_EPOCH}},
    .layers = mixup_partner_layers,
    .draw = draw_mixup_partner};

static uint32_t copy_paste_layers(const double *arguments, uint64_t epoch)
{
    return layers_until(arguments[PASTE_END_EPOCH], epoch);
}

static sluice_status draw_copy_paste(const double *arguments, sl_drawing *drawing)
{
    if (copy_paste_layers(arguments, drawing->epoch) == 1) {
        return SLUICE_OK;
    }
    const bool happens = sl_draw_happens(drawing, arguments[PASTE_PROBABILITY]);
    const uint64_t high = sl_random_u32(&drawing->random);
    const uint64_t key = high << 32 | sl_random_u32(&drawing->random);
    sl_draw_paste(drawing, key, arguments[PASTE_SHARE], !happens);
    return SLUICE_OK;
}

SL_STEP(copy_paste) = {
    .name = "copy_paste",
    .text = "objects of another image, drawn like it, pasted by the shapes of its boxes",
    .stage = SL_STAGE_FILTER,
    .stream = 45,
    .arguments = {{SL_ARG_PROBABILITY(1)}, {SL_ARG_SCALE("share", 0.5)}, {SL_ARG_END_EPOCH}},
    .layers = copy_paste_layers,
    .pastes = true,
    .draw = draw_copy_paste};
