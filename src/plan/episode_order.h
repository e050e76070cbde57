/* SPDX-License-Identifier: Apache-2.0 */
/*
 * episode_order: the order of an epoch of episodes, for few-shot learning.
 *
 * Purpose: an episode is k classes with n samples each (support and query together). Episode e of
 * an epoch has positions [e k n, (e + 1) k n), class after class: classes   the first k places of a
 * permutation of the classes with n samples or more, drawn for (seed, epoch, e): k different ones,
 * each equally likely; samples   of each, the first n places of a permutation of its samples, drawn
 * for (seed, epoch, e, class): n different ones, each equally likely. So classes and samples of an
 * episode do not depend on other episodes, batch or rank. A sample may be in several episodes of an
 * epoch, augmented differently in each, or in none. A bad sample at item i of the n is replaced by
 * those at places n + i, 2 n + i and so on, which no other item tries before its own have run out;
 * then by the others after the first n places (the loader skips those that are in the episode by
 * then), then by one of its class in the episode. Memory: 4 bytes a class. Threads: pure; a set is
 * immutable once made.
 */
#ifndef SL_EPISODE_ORDER_H
#define SL_EPISODE_ORDER_H

#include "order.h"
#include "partners.h"

/* k n is at most the largest batch. */
#define SL_EPISODE_MAX ((uint32_t)65536)

typedef struct sl_episode_set {
    const sl_classes *of; /* must stay */
    uint32_t classes;     /* k; 0: no episodes */
    uint32_t samples;     /* n */
    uint64_t episodes;    /* of an epoch, >= 1 */
    uint32_t *fit;        /* classes with n samples or more, ascending */
    uint32_t fit_count;
    uint64_t hash; /* of everything the order depends on besides seed and epoch; never 0 */
} sl_episode_set;

extern const sl_order_kind sl_episode_order; /* of an sl_episode_set */

/* `shape` has classes and samples, each >= 1 and k n at most SL_EPISODE_MAX, and episodes, below
 * 2^40; 0: as many as all samples make, at least one. Errors: INVALID: fewer than k classes have
 * n samples, with their number; NOMEM. A zeroed set may be closed. */
sluice_status sl_episode_set_open(sl_episode_set *set, const sl_classes *of,
                                  const sl_episode_set *shape, sluice_error *error);
void sl_episode_set_close(sl_episode_set *set);
/* Returns the number of positions of an episode. */
static inline uint64_t sl_episode_positions(const sl_episode_set *set)
{
    return (uint64_t)set->classes * set->samples;
}

/* Returns the order of an epoch; `set` must stay. */
sl_order sl_order_make_episodes(const sl_episode_set *set, uint64_t seed, uint64_t epoch);
/* Finds the samples at `first` and the following positions. */
void sl_episode_order_samples(const sl_order *order, uint64_t first, uint32_t count,
                              uint64_t *samples);
/* Returns how many samples the class of a position has. */
uint64_t sl_episode_choices(const sl_order *order, uint64_t position);
/* Returns how many own substitutes an item has, which no other item tries in as many attempts. */
uint64_t sl_episode_own(const sl_order *order, uint64_t position);
/* Returns a substitute for a bad sample at `position`, attempt 1 .. ; the sample itself if its
 * class has no other. */
uint64_t sl_episode_substitute(const sl_order *order, uint64_t position, uint32_t attempt);

#endif
