/* SPDX-License-Identifier: Apache-2.0 */
#include "weighted_order.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "option_text.h"
#include "philox.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* Separate draws from substitutes, and both from every other use of Philox. */
#define DRAW_DOMAIN  0x7765696768740000U
#define AGAIN_DOMAIN 0x7765696768740001U

/* approximate sum of all weights; rounding 2^32 of them keeps it below 2^63 */
#define WHOLE 4611686018427387904.0 /* 2^62 */

/* ---- sets ---- */

/* Checks the weights, and finds the largest. */
static sluice_status check_weights(const double *weights, uint64_t samples, double *most,
                                   sluice_error *error)
{
    *most = 0;
    for (uint64_t i = 0; i < samples; i++) {
        if (!isfinite(weights[i]) || weights[i] < 0) {
            return sl_error_set(
                error, SLUICE_INVALID, "loader",
                "option " SL_OPTION("weights") ": sample %llu has weight %g: expected a finite "
                                               "number of at least 0",
                (unsigned long long)i, weights[i]);
        }
        *most = weights[i] > *most ? weights[i] : *most;
    }
    return *most > 0 ? SLUICE_OK
                     : sl_error_set(error, SLUICE_INVALID, "loader",
                                    "option " SL_OPTION(
                                        "weights") ": all weights are 0, so no sample can be "
                                                   "drawn");
}

static void sum_weights(sl_weight_set *set, const double *weights, double most)
{
    double sum = 0; /* weights are scaled to at most 1, so the sum cannot overflow */
    for (uint64_t i = 0; i < set->samples; i++) {
        sum += weights[i] / most;
    }
    uint64_t end = 0;
    for (uint64_t i = 0; i < set->samples; i++) {
        const uint64_t whole = (uint64_t)(weights[i] / most * (WHOLE / sum));
        end += weights[i] > 0 && whole == 0 ? 1 : whole;
        set->choices += weights[i] > 0;
        set->ends[i] = end;
    }
}

/* Hashes with FNV-1a and sets the last bit: never 0. */
static uint64_t weight_hash(const sl_weight_set *set)
{
    uint64_t hash = sl_fnv1a(sl_fnv1a(SL_FNV1A_BEGIN, DRAW_DOMAIN), set->draws);
    for (uint64_t i = 0; i < set->samples; i++) {
        hash = sl_fnv1a(hash, set->ends[i]);
    }
    return hash | 1;
}

sluice_status sl_weight_set_open(sl_weight_set *set, const double *weights, uint64_t samples,
                                 uint64_t draws, sluice_error *error)
{
    double most;
    assert(samples >= 1);
    *set = (sl_weight_set){.samples = samples, .draws = draws > 0 ? draws : samples};
    const sluice_status status = check_weights(weights, samples, &most, error);
    if (status != SLUICE_OK) {
        return status;
    }
    set->ends = sl_calloc(samples, sizeof(*set->ends));
    if (set->ends == NULL) {
        return sl_no_memory(error, "loader", "for the weights of samples");
    }
    sum_weights(set, weights, most);
    set->hash = weight_hash(set);
    return SLUICE_OK;
}

void sl_weight_set_close(sl_weight_set *set)
{
    sl_free(set->ends);
    *set = (sl_weight_set){.samples = 0};
}

/* ---- draws ---- */

/* Returns high(number x bound): in [0, bound), with a bias below bound / 2^64. */
static uint64_t weighted_scale(uint64_t number, uint64_t bound)
{
    const uint64_t a = number >> 32;
    const uint64_t b = (uint32_t)number;
    const uint64_t c = bound >> 32;
    const uint64_t d = (uint32_t)bound;
    const uint64_t middle = a * d + (b * d >> 32);
    return a * c + (middle >> 32) + (((uint32_t)middle + b * c) >> 32);
}

/* Returns the first sample whose end is above `at`. */
static uint64_t sample_with(const sl_weight_set *set, uint64_t at)
{
    uint64_t low = 0;
    for (uint64_t high = set->samples; low < high;) {
        const uint64_t middle = low + (high - low) / 2;
        if (set->ends[middle] <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t weight_sum(const sl_weight_set *set)
{
    return set->ends[set->samples - 1];
}

static void weighted_samples(const sl_order *order, uint64_t first, uint32_t count,
                             uint64_t *samples)
{
    const sl_weight_set *set = order->set;
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, DRAW_DOMAIN);
    for (uint32_t i = 0; i < count; i++) {
        samples[i] =
            sample_with(set, weighted_scale(sl_philox_u64(key, first + i, 0), weight_sum(set)));
    }
}

/* A sample may be drawn at any position, so each position is a separate repetition. */
static uint64_t weighted_repetition(const sl_order *order, uint64_t position)
{
    (void)order;
    return position;
}

static uint64_t weighted_choices(const sl_order *order, uint64_t position)
{
    const sl_weight_set *set = order->set;
    (void)position;
    return set->choices;
}

static bool weighted_fits(const sl_order *order, uint64_t position, uint64_t sample)
{
    const sl_weight_set *set = order->set;
    (void)position;
    return set->ends[sample] > (sample > 0 ? set->ends[sample - 1] : 0);
}

static uint64_t weighted_substitute(const sl_order *order, uint64_t position, uint32_t attempt)
{
    const sl_weight_set *set = order->set;
    uint64_t own = 0;
    weighted_samples(order, position, 1, &own);
    const uint64_t begin = own > 0 ? set->ends[own - 1] : 0;
    const uint64_t weight = set->ends[own] - begin;
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, AGAIN_DOMAIN);
    const uint64_t at =
        weighted_scale(sl_philox_u64(key, position, attempt), weight_sum(set) - weight);
    return sample_with(set, at < begin ? at : at + weight);
}

/* ---- the kind ---- */

static sl_order weighted_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_weight_set *set = source->set;
    return (sl_order){.kind = &sl_weighted_order,
                      .set = set,
                      .shuffle = SLUICE_SHUFFLE_FULL,
                      .count = set->draws,
                      .seed = seed,
                      .epoch = epoch};
}

const sl_order_kind sl_weighted_order = {.name = "weighted",
                                         .make = weighted_make,
                                         .samples = weighted_samples,
                                         .repetition = weighted_repetition,
                                         .choices = weighted_choices,
                                         .substitute = weighted_substitute,
                                         .fits = weighted_fits};
