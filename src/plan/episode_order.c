/* SPDX-License-Identifier: Apache-2.0 */
#include "episode_order.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "philox.h"
#include "substitutes.h"

#include <assert.h>
#include <stddef.h>

/* Separates the keys of episodes from every other use of Philox. */
#define EPISODE_DOMAIN 0x657069736F646500U

/* ---- sets ---- */

static uint64_t class_samples(const sl_classes *of, uint32_t class)
{
    return of->first[class + 1] - of->first[class];
}

static sluice_status too_few(const sl_episode_set *set, sluice_error *error)
{
    uint32_t there = 0;
    uint64_t most = 0;
    for (uint32_t c = 0; c < set->of->count; c++) {
        const uint64_t samples = class_samples(set->of, c);
        there += samples > 0;
        most = samples > most ? samples : most;
    }
    return sl_error_set(error, SLUICE_INVALID, "loader",
                        "an episode has %u classes of %u samples each, but of the dataset's %u "
                        "classes only %u have as many (the largest has %llu)",
                        set->classes, set->samples, there, set->fit_count,
                        (unsigned long long)most);
}

/* Hashes with FNV-1a, and sets the last bit: never 0. */
static uint64_t episode_hash(const sl_episode_set *set)
{
    uint64_t hash = SL_FNV1A_BEGIN;
    hash = sl_fnv1a(hash, set->classes);
    hash = sl_fnv1a(hash, set->samples);
    for (uint64_t i = 0; i < set->of->samples; i++) {
        hash = sl_fnv1a(hash, set->of->of[i]);
    }
    return hash | 1;
}

sluice_status sl_episode_set_open(sl_episode_set *set, const sl_classes *of,
                                  const sl_episode_set *shape, sluice_error *error)
{
    assert(shape->classes >= 1 && shape->samples >= 1 && of->samples >= 1);
    *set = (sl_episode_set){.of = of,
                            .classes = shape->classes,
                            .samples = shape->samples,
                            .episodes = shape->episodes};
    const uint64_t whole = of->samples / sl_episode_positions(set);
    if (set->episodes == 0) {
        set->episodes = whole > 0 ? whole : 1;
    }
    set->fit = sl_calloc(of->count, sizeof(*set->fit));
    if (set->fit == NULL) {
        return sl_no_memory(error, "loader", "for the classes of episodes");
    }
    for (uint32_t c = 0; c < of->count; c++) {
        if (class_samples(of, c) >= set->samples) {
            set->fit[set->fit_count++] = c;
        }
    }
    set->hash = episode_hash(set);
    return set->fit_count >= set->classes ? SLUICE_OK : too_few(set, error);
}

void sl_episode_set_close(sl_episode_set *set)
{
    sl_free(set->fit);
    *set = (sl_episode_set){.classes = 0};
}

/* ---- orders ---- */

sl_order sl_order_make_episodes(const sl_episode_set *set, uint64_t seed, uint64_t epoch)
{
    return (sl_order){.kind = &sl_episode_order,
                      .set = set,
                      .shuffle = SLUICE_SHUFFLE_FULL,
                      .count = set->episodes * sl_episode_positions(set),
                      .seed = seed,
                      .epoch = epoch};
}

/* One class of one episode. */
typedef struct episode_class {
    const uint32_t *samples; /* of the dataset's samples, those of this class */
    sl_permutation places;   /* permutation of these */
    uint32_t item;           /* of a position: 0 .. n - 1 */
} episode_class;

static episode_class class_at(const sl_order *order, uint64_t position)
{
    const sl_episode_set *set = order->set;
    assert(position < order->count);
    const uint64_t episode = position / sl_episode_positions(set);
    const uint64_t slot = position % sl_episode_positions(set) / set->samples;
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, EPISODE_DOMAIN);
    const sl_permutation classes =
        sl_permutation_make(set->fit_count, sl_philox_u64(key, episode, 0));
    const uint32_t class = set->fit[sl_permutation_apply(&classes, slot)];
    return (episode_class){
        .samples = set->of->sorted + set->of->first[class],
        .places = sl_permutation_make(class_samples(set->of, class),
                                      sl_philox_u64(key, episode, 1 + (uint64_t) class)),
        .item = (uint32_t)(position % set->samples)};
}

void sl_episode_order_samples(const sl_order *order, uint64_t first, uint32_t count,
                              uint64_t *samples)
{
    const sl_episode_set *set = order->set;
    while (count > 0) {
        const episode_class at = class_at(order, first);
        const uint32_t rest = set->samples - at.item;
        const uint32_t run = rest < count ? rest : count;
        sl_permutation_apply_run(&at.places, at.item, run, samples);
        for (uint32_t i = 0; i < run; i++) {
            samples[i] = at.samples[samples[i]];
        }
        first += run;
        samples += run;
        count -= run;
    }
}

uint64_t sl_episode_choices(const sl_order *order, uint64_t position)
{
    return class_at(order, position).places.count;
}

uint64_t sl_episode_own(const sl_order *order, uint64_t position)
{
    const episode_class at = class_at(order, position);
    const sl_episode_set *set = order->set;
    const uint64_t own = set->samples;
    return sl_substitute_own(at.places.count - own, at.item, own);
}

uint64_t sl_episode_substitute(const sl_order *order, uint64_t position, uint32_t attempt)
{
    const episode_class at = class_at(order, position);
    const sl_episode_set *set = order->set;
    const uint64_t own = set->samples;
    const uint64_t others = at.places.count - own;
    uint64_t place = at.item;
    if (attempt <= others) {
        place = own + sl_substitute_place(others, at.item, own, attempt - 1);
    } else if (own > 1) {
        place = (at.item + 1 + (attempt - others - 1) % (own - 1)) % own;
    }
    return at.samples[sl_permutation_apply(&at.places, place)];
}

/* ---- the kind ---- */

static sl_order episode_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return sl_order_make_episodes(source->set, seed, epoch);
}

static uint64_t episode_unit(const sl_order *order)
{
    return sl_episode_positions(order->set);
}

/* A sample occurs once in an episode. */
static uint64_t episode_repetition(const sl_order *order, uint64_t position)
{
    return position / sl_episode_positions(order->set);
}

const sl_order_kind sl_episode_order = {.name = "episodes",
                                        .make = episode_make,
                                        .samples = sl_episode_order_samples,
                                        .repetition = episode_repetition,
                                        .unit = episode_unit,
                                        .choices = sl_episode_choices,
                                        .substitute = sl_episode_substitute,
                                        .by_class = true};
