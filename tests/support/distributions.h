/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distributions: whether what is drawn, with fixed seeds, is distributed as it should be: counts by
 * Pearson's chi-squared test, beyond whose limit is a probability of 0.001, and first moments.
 *
 * Fails the running test where it is not. Threads: the test's.
 */
#ifndef SL_DISTRIBUTIONS_H
#define SL_DISTRIBUTIONS_H

#include <stdint.h>

/* `seen`: how often each of `count` things was drawn. `parts`: how likely each is, some may be 0;
 * NULL: all are alike. */
void distribution_expect(const uint32_t *seen, const double *parts, uint32_t count,
                         const char *what);
/* What has that probability was seen `seen` times of `of`. */
void distribution_expect_share(uint32_t seen, uint32_t of, double probability);

enum { UNIFORM_BINS = 20 };

/* Numbers that are to be uniform in [least, most]; of one that begins, the rest is 0. */
typedef struct uniform {
    const char *name;
    double least, most;
    uint32_t seen[UNIFORM_BINS], count;
    double sum;
} uniform;

void uniform_note(uniform *u, double value);
/* Of a thousand and more. */
void uniform_expect(const uniform *u);

#endif
