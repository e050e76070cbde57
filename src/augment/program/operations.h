/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations: the kinds of operations on canvases in programs (program.h). Steps and policies add
 * them to a drawing; run.h runs them. Values are in the order given.
 *
 * Threads: pure; the kinds are constant. Memory: of the work's scratch.
 */
#ifndef SL_OPERATIONS_H
#define SL_OPERATIONS_H

#include "program.h"

/* Tables. Factors as in Pillow's ImageEnhance: 1 changes nothing. */
extern const sl_operation_kind sl_operation_brightness;   /* factor */
extern const sl_operation_kind sl_operation_contrast;     /* factor */
extern const sl_operation_kind sl_operation_posterize;    /* bits kept */
extern const sl_operation_kind sl_operation_solarize;     /* threshold */
extern const sl_operation_kind sl_operation_solarize_add; /* added; below this */
extern const sl_operation_kind sl_operation_invert;
extern const sl_operation_kind sl_operation_autocontrast;
extern const sl_operation_kind sl_operation_equalize;

/* Rows. */
extern const sl_operation_kind sl_operation_saturation; /* factor */
extern const sl_operation_kind sl_operation_grey;
extern const sl_operation_kind sl_operation_hue; /* of a turn, -0.5 to 0.5 */
/* H added, 0 to 179 steps of 2 degrees; factors of S and V (hsv.h). */
extern const sl_operation_kind sl_operation_hsv;
extern const sl_operation_kind sl_operation_permute; /* channels that become R, G and B */
/* x, y, width, height; a colour; with a nonzero key noise about it, of these deviations. */
extern const sl_operation_kind sl_operation_erase;

/* Canvases. */
extern const sl_operation_kind sl_operation_sharpness;     /* factor */
extern const sl_operation_kind sl_operation_gaussian_blur; /* kernel x, y; sigma x, y */
extern const sl_operation_kind sl_operation_box_blur;      /* radius: Pillow's GaussianBlur */
extern const sl_operation_kind sl_operation_jpeg;          /* quality */
/* left, top, mode (sl_pad_mode): the canvas in the middle of a larger one. */
extern const sl_operation_kind sl_operation_pad;
/* alpha x, y; sigma x, y; interpolation (nearest or bilinear); a colour (elastic.h); with a key. */
extern const sl_operation_kind sl_operation_elastic;
enum { SL_ELASTIC_INTERPOLATION = 4, SL_ELASTIC_FILL };

/* In place: the function of operation->native, with the key as its seed. */
extern const sl_operation_kind sl_operation_native;

typedef enum sl_pad_mode {
    SL_PAD_CONSTANT, /* geometry.h does that */
    SL_PAD_EDGE,
    SL_PAD_REFLECT,  /* without the pixels on the edge */
    SL_PAD_SYMMETRIC /* with them */
} sl_pad_mode;

/*
 * AugMix: rule (sl_mix_rule), original, blend, chains. It is followed, for each chain, by a
 * sl_operation_chain (weight, number of its operations) and its operations.
 */
extern const sl_operation_kind sl_operation_mix;
extern const sl_operation_kind sl_operation_chain;

#endif
