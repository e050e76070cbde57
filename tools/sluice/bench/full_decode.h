/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_decode: the yardstick of `sluice bench`: libjpeg-turbo decodes whole pictures to RGB, one
 * after another on one thread, with its default settings. Reading is not in the time. One thread.
 */
#ifndef TOOL_FULL_DECODE_H
#define TOOL_FULL_DECODE_H

#include <sluice/dataset.h>

#include <stdint.h>

enum { FULL_DECODE_ROUNDS_MAX = 8 };

struct full_decode {
    const sluice_dataset *dataset;
    const char *field; /* of the pictures; NULL: there are none */
    uint64_t samples;  /* of the dataset */
    uint64_t count;    /* pictures in a round, evenly spaced; fewer after a slow first round */
    uint32_t rounds;
    double round_ms[FULL_DECODE_ROUNDS_MAX]; /* thread CPU milliseconds per picture */
};

/* `field` is borrowed. */
void full_decode_begin(struct full_decode *yardstick, const sluice_dataset *dataset,
                       const char *field, uint64_t samples);

/* Measures one round more; pictures that cannot be decoded are passed over. */
void full_decode_round(struct full_decode *yardstick);

/* Median of the rounds; NaN when there was no JPEG that decodes. */
double full_decode_median_ms(const struct full_decode *yardstick);

#endif
