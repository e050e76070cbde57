/* SPDX-License-Identifier: Apache-2.0 */
/* full_decode: the baseline of `sluice bench`: libjpeg-turbo decodes whole images to RGB, one
 * after another on one thread, with its default settings. The time excludes reading. One thread. */
#ifndef TOOL_FULL_DECODE_H
#define TOOL_FULL_DECODE_H

#include <sluice/dataset.h>

#include <stdint.h>

enum { FULL_DECODE_ROUNDS_MAX = 8 };

struct full_decode {
    const sluice_dataset *dataset;
    const char *field; /* of the images; NULL: no images */
    uint64_t samples;  /* of the dataset */
    uint64_t count;    /* images in a round, evenly spaced; fewer after a slow first round */
    uint32_t rounds;
    double round_ms[FULL_DECODE_ROUNDS_MAX]; /* thread CPU milliseconds per image */
};

/* `field` is borrowed. */
void full_decode_begin(struct full_decode *yardstick, const sluice_dataset *dataset,
                       const char *field, uint64_t samples);

/* Measures another round; skips images that cannot be decoded. */
void full_decode_round(struct full_decode *yardstick);

/* Returns the median of the rounds; NaN if no JPEG could be decoded. */
double full_decode_median_ms(const struct full_decode *yardstick);

#endif
