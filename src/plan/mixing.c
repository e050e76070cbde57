/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixing: shares of weights, and the schedule of a period made from them. Immutable once made:
 * any thread may compute a position.
 */
#include "mixing.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "search.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define STAGE "plan"
#define NONE  UINT32_MAX
/* Tolerance for a share that should be a whole number; weights such as 0.7 are not exact. */
#define TOLERANCE 1e-7

/* ---- shares ---- */

/* Rounds a share that is not negative. */
static double whole_of(double share)
{
    return (double)(uint64_t)share;
}

/* Returns whether the weights are whole numbers of `period` positions. Tests source `*doubtful`
 * first and sets it to the source that fails, which mostly fails for the next period, too. */
static bool mixing_is_whole(const double *weights, uint32_t sources, double sum, uint32_t period,
                            uint32_t *doubtful)
{
    for (uint32_t done = 0, i = *doubtful; done < sources; done++) {
        const double share = weights[i] / sum * period;
        const double nearest = whole_of(share + 0.5);
        if (fabs(share - nearest) > TOLERANCE || (nearest < 1 && weights[i] > 0)) {
            *doubtful = i;
            return false;
        }
        i = i + 1 < sources ? i + 1 : 0;
    }
    return true;
}

typedef struct remainder_of {
    double part;
    uint32_t source;
} remainder_of;

static int compare(const void *a, const void *b)
{
    const remainder_of *left = a;
    const remainder_of *right = b;
    if (left->part != right->part) {
        return left->part > right->part ? -1 : 1;
    }
    return (left->source > right->source) - (left->source < right->source);
}

/* Returns the sum of the shares' excess over a level. */
static uint64_t above(const uint32_t *shares, uint32_t sources, uint32_t level)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sources; i++) {
        sum += shares[i] > level ? shares[i] - level : 0;
    }
    return sum;
}

/* Takes `missing` from the largest shares, one by one: all end at a level, or one below it. */
static void take_from_largest(uint32_t *shares, uint32_t sources, uint64_t missing)
{
    uint32_t low = 0;
    uint32_t level = SL_MIX_PERIOD;
    while (low < level) {
        const uint32_t middle = low + (level - low) / 2;
        if (above(shares, sources, middle) <= missing) {
            level = middle;
        } else {
            low = middle + 1;
        }
    }
    missing -= above(shares, sources, level);
    for (uint32_t i = 0; i < sources; i++) {
        if (shares[i] >= level && level > 0) {
            shares[i] = level - (missing > 0);
            missing -= missing > 0;
        }
    }
}

/* Gives surplus positions to the largest remainders. Takes missing positions, which occur
 * because every source has at least one, from the largest shares. */
static void mixing_settle(uint32_t *shares, remainder_of *parts, uint32_t sources, int64_t over)
{
    qsort(parts, sources, sizeof(*parts), compare);
    for (uint32_t i = 0; over > 0; i = i + 1 < sources ? i + 1 : 0) {
        if (shares[parts[i].source] > 0) {
            shares[parts[i].source]++;
            over--;
        }
    }
    if (over < 0) {
        take_from_largest(shares, sources, (uint64_t)-over);
    }
}

static bool round_shares(uint32_t *shares, const double *weights, uint32_t sources, double sum)
{
    remainder_of *parts = sl_calloc(sources, sizeof(*parts));
    if (parts == NULL) {
        return false;
    }
    int64_t over = SL_MIX_PERIOD;
    for (uint32_t i = 0; i < sources; i++) {
        const double share = weights[i] / sum * SL_MIX_PERIOD;
        shares[i] = (uint32_t)share;
        parts[i] = (remainder_of){share - whole_of(share), i};
        if (shares[i] == 0 && weights[i] > 0) {
            shares[i] = 1;
            parts[i].part = 0;
        }
        over -= shares[i];
    }
    mixing_settle(shares, parts, sources, over);
    sl_free(parts);
    return true;
}

/* ---- the schedule of a period ---- */

/* Each source has one waiting sample: until its release, in a list of the samples released at
 * one position; after it, in a heap by deadline. */
typedef struct scheduler {
    const sl_mix_row *row;
    uint32_t *given;    /* of each source: samples that have a position */
    uint32_t *deadline; /* of each source: deadline of its waiting sample */
    uint32_t *next;     /* of each source: in the list of its release */
    uint32_t *released; /* of each position: the first of that list */
    uint32_t *heap;
    uint32_t count; /* in the heap */
} scheduler;

static bool mixing_is_before(const scheduler *s, uint32_t a, uint32_t b)
{
    return s->deadline[a] != s->deadline[b] ? s->deadline[a] < s->deadline[b] : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
    const uint32_t was = *a;
    *a = *b;
    *b = was;
}

static void mixing_push(scheduler *s, uint32_t source)
{
    uint32_t at = s->count++;
    s->heap[at] = source;
    while (at > 0 && mixing_is_before(s, s->heap[at], s->heap[(at - 1) / 2])) {
        swap(&s->heap[at], &s->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static uint32_t pop(scheduler *s)
{
    const uint32_t first = s->heap[0];
    s->heap[0] = s->heap[--s->count];
    for (uint32_t at = 0;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->count; child++) {
            least = mixing_is_before(s, s->heap[child], s->heap[least]) ? child : least;
        }
        if (least == at) {
            return first;
        }
        swap(&s->heap[at], &s->heap[least]);
        at = least;
    }
}

/* Lets the source's next sample wait, until position `now` at the earliest. */
static void wait_for_release(scheduler *s, uint32_t source, uint32_t now)
{
    const uint64_t period = s->row->period;
    const uint64_t share = s->row->share[source];
    const uint64_t number = s->given[source];
    if (number == share) {
        return;
    }
    const uint32_t release = (uint32_t)(number * period / share);
    const uint32_t from = sl_max_u32(release, now);
    s->deadline[source] = (uint32_t)(((number + 1) * period + share - 1) / share);
    s->next[source] = s->released[from];
    s->released[from] = source;
}

static void mixing_fill(scheduler *s, uint32_t sources)
{
    const sl_mix_row *row = s->row;
    for (uint32_t i = 0; i < row->period; i++) {
        s->released[i] = NONE;
    }
    for (uint32_t i = 0; i < sources; i++) {
        wait_for_release(s, i, 0);
    }
    for (uint32_t at = 0; at < row->period; at++) {
        for (uint32_t i = s->released[at]; i != NONE; i = s->next[i]) {
            mixing_push(s, i);
        }
        const uint32_t source = pop(s); /* never empty: see mixing.h */
        row->source[at] = (uint16_t)source;
        row->rank[at] = s->given[source]++;
        if (at + 1 < row->period) {
            wait_for_release(s, source, at + 1);
        }
    }
}

static bool make_schedule(sl_mix_row *row, uint32_t sources)
{
    const size_t size = sources; /* all sources but one */
    uint32_t *memory = sl_calloc(4 * size + row->period, sizeof(*memory));
    row->source = sl_calloc(row->period, sizeof(*row->source));
    row->rank = sl_calloc(row->period, sizeof(*row->rank));
    const bool there = memory != NULL && row->source != NULL && row->rank != NULL;
    if (there) {
        scheduler s = {.row = row,
                       .given = memory,
                       .deadline = memory + size,
                       .next = memory + 2 * size,
                       .heap = memory + 3 * size,
                       .released = memory + 4 * size};
        mixing_fill(&s, sources);
    }
    sl_free(memory);
    return there;
}

/* ---- rows ---- */

static sluice_status mixing_check_row(const sl_mix_weights *w, uint32_t number, double *sum,
                                      sluice_error *error)
{
    *sum = 0;
    for (uint32_t i = 0; i < w->sources; i++) {
        const double weight = w->weights[(size_t)number * w->sources + i];
        if (!isfinite(weight) || weight < 0) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "weight %u is %g: a weight must be a number of at least 0", i + 1,
                                weight);
        }
        *sum += weight;
    }
    if (!(*sum > 0) || !isfinite(*sum)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the weights are all 0, or their sum is too large");
    }
    const bool ascending =
        number == 0 ? w->epochs[0] == 0 : w->epochs[number] > w->epochs[number - 1];
    return ascending ? SLUICE_OK
                     : sl_error_set(error, SLUICE_INVALID, STAGE,
                                    "the epochs of weights must begin with 0 and increase");
}

static bool make_shares(sl_mix_row *row, const double *weights, uint32_t sources, double sum)
{
    row->share = sl_calloc(sources, sizeof(*row->share));
    if (row->share == NULL) {
        return false;
    }
    uint32_t doubtful = 0;
    row->period = 1;
    while (row->period <= SL_MIX_PERIOD &&
           !mixing_is_whole(weights, sources, sum, row->period, &doubtful)) {
        row->period++;
    }
    if (row->period > SL_MIX_PERIOD) {
        row->period = SL_MIX_PERIOD;
        return round_shares(row->share, weights, sources, sum);
    }
    for (uint32_t i = 0; i < sources; i++) {
        row->share[i] = (uint32_t)(weights[i] / sum * row->period + 0.5);
    }
    return true;
}

/* Counts the samples of each source that were taken before the row begins. */
static bool mixing_count_before(const sl_mix *mix, sl_mix_row *row, const sl_mix_row *last)
{
    row->before = sl_calloc(mix->sources, sizeof(*row->before));
    if (row->before == NULL || last == NULL) {
        return row->before != NULL;
    }
    const uint64_t positions = (row->epoch - last->epoch) * mix->epoch_samples;
    for (uint32_t i = 0; i < mix->sources; i++) {
        row->before[i] = last->before[i] + positions / last->period * last->share[i];
    }
    for (uint32_t at = 0; at < positions % last->period; at++) {
        row->before[last->source[at]]++;
    }
    return true;
}

static sluice_status mixing_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the schedule of a mix");
}

/* Checks that every row of a mix, whose epoch sizes are known, begins in one of its epochs. */
static sluice_status check_epochs(const sl_mix *mix, uint64_t last, sluice_error *error)
{
    const uint64_t epochs = sl_mix_epochs(mix);
    return last < epochs
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE,
                              "weights are given for epoch %llu, but a mix of %llu samples an "
                              "epoch has %llu epochs (2^63 samples)",
                              (unsigned long long)last, (unsigned long long)mix->epoch_samples,
                              (unsigned long long)epochs);
}

static sluice_status make_row(sl_mix *mix, uint32_t number, const sl_mix_weights *w,
                              sluice_error *error)
{
    double sum;
    sl_mix_row *row = &mix->row[number];
    const sluice_status status = mixing_check_row(w, number, &sum, error);
    if (status < 0) {
        return status;
    }
    row->epoch = w->epochs[number];
    const sluice_status sound = check_epochs(mix, row->epoch, error);
    if (sound < 0) {
        return sound;
    }
    return make_shares(row, &w->weights[(size_t)number * w->sources], w->sources, sum) &&
                   make_schedule(row, w->sources) &&
                   mixing_count_before(mix, row, number > 0 ? row - 1 : NULL)
               ? SLUICE_OK
               : mixing_no_memory(error);
}

static bool mixing_make_space(sl_mix *mix)
{
    mix->first = sl_calloc((size_t)mix->sources + 1, sizeof(*mix->first));
    mix->row = sl_calloc(mix->rows, sizeof(*mix->row));
    return mix->first != NULL && mix->row != NULL;
}

sluice_status sl_mix_make(sl_mix **mix, const sl_mix_weights *weights, sluice_error *error)
{
    *mix = NULL;
    sl_mix *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return mixing_no_memory(error);
    }
    *made = (sl_mix){
        .sources = weights->sources, .rows = weights->rows, .whole = weights->epoch_samples == 0};
    if (!mixing_make_space(made)) {
        sl_mix_close(made);
        return mixing_no_memory(error);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < weights->sources; i++) {
        made->first[i + 1] = made->first[i] + weights->sizes[i];
    }
    made->epoch_samples = made->whole ? made->first[made->sources] : weights->epoch_samples;
    for (uint32_t i = 0; status == SLUICE_OK && i < weights->rows; i++) {
        status = make_row(made, i, weights, error);
    }
    if (status < 0) {
        sl_mix_close(made);
        return status;
    }
    *mix = made;
    return SLUICE_OK;
}

sluice_status sl_mix_recount(sl_mix **recounted, const sl_mix *mix, const uint64_t *first,
                             sluice_error *error)
{
    *recounted = NULL;
    sl_mix *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return mixing_no_memory(error);
    }
    *made =
        (sl_mix){.sources = mix->sources, .rows = mix->rows, .whole = mix->whole, .borrowed = true};
    made->epoch_samples = mix->whole ? first[mix->sources] : mix->epoch_samples;
    const sluice_status status = check_epochs(made, mix->row[mix->rows - 1].epoch, error);
    if (status < 0) {
        sl_free(made);
        return status;
    }
    bool there = mixing_make_space(made);
    for (uint32_t i = 0; there && i <= mix->sources; i++) {
        made->first[i] = first[i];
    }
    for (uint32_t i = 0; there && i < mix->rows; i++) {
        made->row[i] = mix->row[i];
        there = mixing_count_before(made, &made->row[i], i > 0 ? &made->row[i - 1] : NULL);
    }
    if (!there) {
        sl_mix_close(made);
        return mixing_no_memory(error);
    }
    *recounted = made;
    return SLUICE_OK;
}

/* ---- finding ---- */

static const sl_mix_row *row_of(const sl_mix *mix, uint64_t epoch)
{
    return &mix->row[sl_last_at_or_before(&mix->row->epoch, sizeof(*mix->row), mix->rows, epoch)];
}

/* Returns the number of samples of a source that come before position `all` of a row, where it
 * has that source. */
static uint64_t taken_before(const sl_mix_row *row, uint64_t all)
{
    const uint32_t at = (uint32_t)(all % row->period);
    const uint32_t source = row->source[at];
    return row->before[source] + all / row->period * row->share[source] + row->rank[at];
}

sl_mix_place sl_mix_find(const sl_mix *mix, uint64_t epoch, uint64_t position)
{
    const sl_mix_row *row = row_of(mix, epoch);
    const uint64_t all = (epoch - row->epoch) * mix->epoch_samples + position;
    const uint32_t source = row->source[all % row->period];
    const uint64_t taken = taken_before(row, all);
    const uint64_t size = mix->first[source + 1] - mix->first[source];
    return (sl_mix_place){source, taken / size, taken % size};
}

uint64_t sl_mix_repetition(const sl_mix *mix, uint64_t epoch, uint64_t position)
{
    const sl_mix_row *row = row_of(mix, epoch);
    const sl_mix_place place = sl_mix_find(mix, epoch, position);
    uint64_t first = (epoch - row->epoch) * mix->epoch_samples;
    if (place.epoch == 0) {
        return 0;
    }
    while (row->source[first % row->period] != place.source) {
        first++;
    }
    const uint64_t size = mix->first[place.source + 1] - mix->first[place.source];
    return place.epoch - taken_before(row, first) / size;
}
