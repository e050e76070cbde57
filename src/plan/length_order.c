/* SPDX-License-Identifier: Apache-2.0 */
#include "length_order.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "minmax.h"
#include "option_text.h"
#include "philox.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Separate the draws of an epoch from each other and from every other use of Philox. */
#define BATCHES_DOMAIN   0x6C656E6774680000U
#define REST_DOMAIN      0x6C656E6774680001U
#define FIRST_DOMAIN     0x6C656E6774680002U
#define GROUP_DOMAIN     0x6C656E6774680003U
#define EQUAL_DOMAIN     0x6C656E6774680004U
#define NEIGHBOUR_DOMAIN 0x6C656E6774680005U

/* ---- sets ---- */

typedef struct sample_length {
    double length;
    uint32_t sample;
} sample_length;

static int compare_lengths(const void *left, const void *right)
{
    const sample_length *a = left;
    const sample_length *b = right;
    if (a->length != b->length) {
        return a->length < b->length ? -1 : 1;
    }
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static sluice_status check_lengths(const double *lengths, uint64_t samples, sluice_error *error)
{
    if (samples > UINT32_MAX) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "loader",
            "option " SL_OPTION(
                "lengths") " needs fewer than 2^32 samples, but the dataset has %llu",
            (unsigned long long)samples);
    }
    for (uint64_t i = 0; i < samples; i++) {
        if (!isfinite(lengths[i]) || lengths[i] < 0) {
            return sl_error_set(
                error, SLUICE_INVALID, "loader",
                "option " SL_OPTION("lengths") ": sample %llu has length %g: expected a finite "
                                               "number of at least 0",
                (unsigned long long)i, lengths[i]);
        }
    }
    return SLUICE_OK;
}

static void take_sorted(sl_length_set *set, const sample_length *sorted)
{
    uint64_t hash = sl_fnv1a(sl_fnv1a(SL_FNV1A_BEGIN, BATCHES_DOMAIN), set->global);
    hash = sl_fnv1a(hash, set->group_batches);
    for (uint64_t i = 0; i < set->samples; i++) {
        set->sorted[i] = sorted[i].sample;
        const bool begins = i == 0 || sorted[i].length > sorted[i - 1].length;
        if (begins) {
            set->runs[set->run_count++] = (uint32_t)i;
        }
        hash = sl_fnv1a(hash, (uint64_t)sorted[i].sample << 1 | begins);
    }
    set->hash = hash | 1;
}

static sluice_status sort_lengths(sl_length_set *set, const double *lengths, sluice_error *error)
{
    const uint64_t samples = set->samples;
    sample_length *sorted = sl_calloc(samples, sizeof(*sorted));
    set->sorted = sl_calloc(samples, sizeof(*set->sorted));
    set->runs = sl_calloc(samples, sizeof(*set->runs));
    if (sorted == NULL || set->sorted == NULL || set->runs == NULL) {
        sl_free(sorted);
        return sl_no_memory(error, "loader", "for the lengths of samples");
    }
    for (uint64_t i = 0; i < samples; i++) {
        sorted[i] = (sample_length){lengths[i], (uint32_t)i};
    }
    qsort(sorted, samples, sizeof(*sorted), compare_lengths);
    take_sorted(set, sorted);
    sl_free(sorted);
    return SLUICE_OK;
}

sluice_status sl_length_set_open(sl_length_set *set, const double *lengths, uint64_t samples,
                                 uint64_t global, uint32_t groups, sluice_error *error)
{
    assert(samples >= 1 && global >= 1);
    const uint64_t whole = samples / global;
    const uint64_t usual =
        whole / SL_LENGTH_BATCHES < SL_LENGTH_GROUPS ? whole / SL_LENGTH_BATCHES : SL_LENGTH_GROUPS;
    const uint64_t wanted = groups > 0 ? groups : usual > 0 ? usual : 1;
    *set = (sl_length_set){.samples = samples,
                           .global = global,
                           .whole = whole,
                           .group_batches = whole > 0 ? (whole - 1) / wanted + 1 : 1};
    const sluice_status status = check_lengths(lengths, samples, error);
    return status == SLUICE_OK ? sort_lengths(set, lengths, error) : status;
}

void sl_length_set_close(sl_length_set *set)
{
    sl_free(set->sorted);
    sl_free(set->runs);
    *set = (sl_length_set){.samples = 0};
}

/* ---- from places to samples ---- */

/* Draws from [0, bound), for the epoch. */
static uint64_t epoch_draw(const sl_order *order, uint64_t domain, uint64_t bound)
{
    return sl_philox_u64(sl_philox_u64(order->seed, order->epoch, domain), 0, 0) % bound;
}

/* Returns the key of permutation `number` of the epoch. */
static uint64_t epoch_key(const sl_order *order, uint64_t domain, uint64_t number)
{
    return sl_philox_u64(sl_philox_u64(order->seed, order->epoch, domain), number, 0);
}

static bool is_sorted(const sl_order *order)
{
    return order->shuffle == SLUICE_SHUFFLE_NONE;
}

/* Returns the sample at a rank; ranks of equal length are permuted. */
static uint64_t sample_at(const sl_order *order, uint64_t rank)
{
    const sl_length_set *set = order->set;
    uint32_t low = 0;
    for (uint32_t high = set->run_count; high - low > 1;) {
        const uint32_t middle = low + (high - low) / 2;
        if (set->runs[middle] <= rank) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const uint64_t begin = set->runs[low];
    const uint64_t end = low + 1 < set->run_count ? set->runs[low + 1] : set->samples;
    if (end - begin > 1 && !is_sorted(order)) {
        const sl_permutation equal =
            sl_permutation_make(end - begin, epoch_key(order, EQUAL_DOMAIN, begin));
        rank = begin + sl_permutation_apply(&equal, rank - begin);
    }
    return set->sorted[rank];
}

/* The ranks without the rest form a line. Returns the rank at one of its places. */
static uint64_t line_rank(const sl_order *order, uint64_t place)
{
    const sl_length_set *set = order->set;
    const uint64_t rest = set->samples - set->whole * set->global;
    const uint64_t begin = epoch_draw(order, REST_DOMAIN, set->samples); /* of the rest */
    if (begin + rest > set->samples) { /* the rest wraps around to the first ranks */
        return place + begin + rest - set->samples;
    }
    return place < begin ? place : place + rest;
}

/* Batches [begin, end) of the line, in the order of lengths. */
typedef struct length_group {
    uint64_t begin, end;
} length_group;

static length_group length_group_of(const sl_order *order, uint64_t batch)
{
    const sl_length_set *set = order->set;
    const uint64_t each = set->group_batches;
    const uint64_t least = (each + 1) / 2; /* batches of a group */
    const uint64_t first = least + epoch_draw(order, FIRST_DOMAIN, each);
    length_group group = {0, first};
    if (batch >= first) {
        group.begin = first + (batch - first) / each * each;
        group.end = group.begin + each;
    }
    if (group.begin > 0 && set->whole - group.begin < least) { /* merged into the one before */
        group.begin = group.begin > first ? group.begin - each : 0;
    }
    if (group.end + least > set->whole) {
        group.end = set->whole;
    }
    return group;
}

/* Finds the places of a global batch: `count` of them from `first` on. */
static void batch_ranks(const sl_order *order, uint64_t step, uint64_t first, uint32_t count,
                        uint64_t *ranks)
{
    const sl_length_set *set = order->set;
    const uint64_t batch = sl_permutation_apply(&order->outer, step);
    const length_group group = length_group_of(order, batch);
    const sl_permutation inner = sl_permutation_make((group.end - group.begin) * set->global,
                                                     epoch_key(order, GROUP_DOMAIN, group.begin));
    sl_permutation_apply_run(&inner, (batch - group.begin) * set->global + first, count, ranks);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = line_rank(order, group.begin * set->global + ranks[i]);
    }
}

/* Finds the ranks of the rest in the same way. */
static void rest_ranks(const sl_order *order, uint64_t first, uint32_t count, uint64_t *ranks)
{
    const sl_length_set *set = order->set;
    const uint64_t rest = set->samples - set->whole * set->global;
    const uint64_t begin = epoch_draw(order, REST_DOMAIN, set->samples);
    const sl_permutation inner = sl_permutation_make(rest, epoch_key(order, REST_DOMAIN, 1));
    sl_permutation_apply_run(&inner, first, count, ranks);
    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = (begin + ranks[i]) % set->samples;
    }
}

/* Finds the ranks at `first` and the following positions of the same batch. Returns how many. */
static uint32_t length_ranks(const sl_order *order, uint64_t first, uint32_t count, uint64_t *ranks)
{
    const sl_length_set *set = order->set;
    const uint64_t step = first / set->global;
    const uint64_t begin = step * set->global;
    const uint32_t found = (uint32_t)sl_min_u64(count, begin + set->global - first);
    if (is_sorted(order)) {
        for (uint32_t i = 0; i < found; i++) {
            ranks[i] = first + i;
        }
    } else if (step < set->whole) {
        batch_ranks(order, step, first - begin, found, ranks);
    } else {
        rest_ranks(order, first - begin, found, ranks);
    }
    return found;
}

static void length_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    while (count > 0) {
        const uint32_t found = length_ranks(order, first, count, samples);
        for (uint32_t i = 0; i < found; i++) {
            samples[i] = sample_at(order, samples[i]);
        }
        first += found;
        samples += found;
        count -= found;
    }
}

/* Chooses among the ranks around its own: as many as a group has, and at least two. */
static uint64_t length_substitute(const sl_order *order, uint64_t position, uint32_t attempt)
{
    const sl_length_set *set = order->set;
    const uint64_t size = sl_min_u64(set->group_batches * set->global, set->samples);
    const uint64_t near = size > 2 ? size : 2;
    uint64_t own = 0;
    (void)length_ranks(order, position, 1, &own);
    const uint64_t below = own > near / 2 ? own - near / 2 : 0;
    const uint64_t begin = sl_min_u64(below, set->samples - near);
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, NEIGHBOUR_DOMAIN);
    const uint64_t drawn = begin + sl_philox_u64(key, position, attempt) % (near - 1);
    return sample_at(order, drawn >= own ? drawn + 1 : drawn);
}

/* ---- the kind ---- */

static sl_order length_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_length_set *set = source->set;
    sl_order order = {.kind = &sl_length_order,
                      .set = set,
                      .shuffle = source->shuffle,
                      .count = set->samples,
                      .seed = seed,
                      .epoch = epoch};
    if (!is_sorted(&order)) {
        order.outer = sl_permutation_make(set->whole, epoch_key(&order, BATCHES_DOMAIN, 0));
    }
    return order;
}

const sl_order_kind sl_length_order = {.name = "lengths",
                                       .make = length_make,
                                       .samples = length_samples,
                                       .substitute = length_substitute};
