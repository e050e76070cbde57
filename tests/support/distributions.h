/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distributions: whether draws with fixed seeds have the expected distribution: counts by Pearson's
 * chi-squared test at a probability of 0.001, and first moments.
 *
 * Failures fail the running test. Threads: the test's.
 */
#ifndef SL_DISTRIBUTIONS_H
#define SL_DISTRIBUTIONS_H

#include <stdint.h>

/* `seen`: how often each of `count` values was drawn. `parts`: their relative probabilities, some
 * may be 0; NULL: all are equal. */
void distribution_expect(const uint32_t *seen, const double *parts, uint32_t count,
                         const char *what);
/* Expects `seen` of `of` draws to fit this probability. */
void distribution_expect_share(uint32_t seen, uint32_t of, double probability);

enum { UNIFORM_BINS = 20 };

/* Numbers that should be uniform in [least, most]; the other members start as 0. */
typedef struct uniform {
    const char *name;
    double least, most;
    uint32_t seen[UNIFORM_BINS], count;
    double sum;
} uniform;

void uniform_note(uniform *u, double value);
/* Needs at least a thousand numbers. */
void uniform_expect(const uniform *u);

#endif
