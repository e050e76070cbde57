/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_mixing: which rows of a batch are mixed, by which fractions, and where.
 *
 * Purpose: MixUp (Zhang et al., 2018), CutMix (Yun et al., 2019) and timm's mode with both. A row
 * has one PARTNER in its batch, by rule: the row as far from the end as it is from the beginning
 * (timm's flip), or the one before it (torchvision's roll). A draw, for the batch, a pair or a row,
 * is a pure function of the seed, the epoch, the column and the position of the batch among the
 * rank's: it depends on no worker, and on no earlier batch.
 *
 * Rules: those of torchvision's v2.MixUp and v2.CutMix and of timm's Mixup (1.0): lambda is from
 * Beta(alpha, alpha); the box has sides of sqrt(1 - lambda) about a uniform centre, is clipped, and
 * lambda becomes the rest of the area; with `sides` its sides are uniform instead. If nothing would
 * change (lambda is 1, the box is empty, the partner is the row itself) nothing is mixed. Threads:
 * pure.
 */
#ifndef SL_BATCH_MIXING_H
#define SL_BATCH_MIXING_H

#include "mixing_row.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum sl_mixing_partner { SL_PARTNER_REVERSED, SL_PARTNER_PREVIOUS } sl_mixing_partner;

/* Unit of a draw. */
typedef enum sl_mixing_mode { SL_MIX_BATCH, SL_MIX_PAIR, SL_MIX_ELEM } sl_mixing_mode;

/* Of a recipe. */
typedef struct sl_mixing {
    double mixup_alpha, cutmix_alpha; /* 0: not used */
    double sides[2]; /* of the box, as fractions of the image's: from, below; 0: by lambda */
    double probability, switch_probability; /* of mixing; then of CutMix, if both are used */
    sl_mixing_mode mode;
    sl_mixing_partner partner;
    bool keeps_lambda; /* keeps the drawn lambda, also if the box is clipped */
    uint32_t width, height;
    uint32_t stream;    /* of random numbers */
    uint64_t end_epoch; /* first epoch without mixing; 0: all epochs mix */
} sl_mixing;

/* A batch of a rank. */
typedef struct sl_mixing_batch {
    uint64_t seed, epoch;
    uint64_t first; /* position of its first row in the epoch */
    uint32_t group; /* the column's, of geometry */
    uint32_t rows;  /* rows with a partner: those with a sample, or that should have one */
} sl_mixing_batch;

/* Returns the partner of row `row` of `rows`. */
uint32_t sl_mixing_partner_of(const sl_mixing *mixing, uint32_t rows, uint32_t row);
/* Returns the row whose partner it is. */
uint32_t sl_mixing_user_of(const sl_mixing *mixing, uint32_t rows, uint32_t row);
/* Draws the mixing of row `row`. */
sl_mixing_row sl_mixing_draw(const sl_mixing *mixing, const sl_mixing_batch *batch, uint32_t row);
/* Returns the reason rows of such images cannot be mixed; NULL: they can. */
const char *sl_mixing_mismatch(const sl_mixing *mixing);

#endif
