/* SPDX-License-Identifier: Apache-2.0 */
/* Tests batches of similar length: each sample once, batches within a group of ranks against a
 * separate sort, ties, remainders, substitutes, and invalid arguments. */
#include "length_order.h"
#include "memory.h"
#include "plan.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3000 };

static double lengths[MOST];

/* Sets lengths of `kinds` different values. */
static void fill(uint64_t count, uint32_t kinds)
{
    uint32_t state = 12345;
    for (uint64_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        lengths[i] = (double)((state >> 8) % kinds);
    }
}

static sl_order order_of(const sl_length_set *set, sluice_shuffle shuffle, uint64_t epoch)
{
    const sl_order_source source = {
        .kind = &sl_length_order, .set = set, .shuffle = shuffle, .count = set->samples};
    return sl_order_of(&source, 7, epoch);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Returns how many samples are longer than `low` and shorter than `high`. */
static uint64_t ranks_between(const double *sorted, uint64_t count, double low, double high)
{
    uint64_t between = 0;
    for (uint64_t i = 0; i < count; i++) {
        between += sorted[i] > low && sorted[i] < high;
    }
    return between;
}

static void check_epoch(const sl_length_set *set, const sl_order *order, const double *sorted)
{
    static uint64_t samples[MOST];
    static uint8_t seen[MOST];
    const uint64_t n = set->samples;
    const uint64_t global = set->global;
    memset(seen, 0, sizeof(seen));
    sl_order_samples(order, 0, (uint32_t)n, samples);
    for (uint64_t p = 0; p < n; p++) {
        assert_int_equal(seen[samples[p]]++, 0);
        assert_int_equal(sl_order_sample(order, p), samples[p]);
    }
    const uint64_t rest = n % global;
    for (uint64_t b = 0; b + global <= n; b += global) {
        double low = INFINITY;
        double high = 0;
        for (uint64_t p = b; p < b + global; p++) {
            low = fmin(low, lengths[samples[p]]);
            high = fmax(high, lengths[samples[p]]);
        }
        /* The samples between are in the batch's group, or in the remainder. */
        assert_true(ranks_between(sorted, n, low, high) <= 2 * set->group_batches * global + rest);
    }
}

TEST(each_sample_once_and_batches_of_one_group)
{
    static const uint64_t counts[] = {1, 2, 7, 64, 100, 999, 3000};
    static const uint32_t globals[] = {1, 3, 8, 100, 5000};
    static const uint32_t groups[] = {0, 1, 4};
    static double sorted[MOST];
    for (size_t c = 0; c < 7; c++) {
        fill(counts[c], c % 2 == 0 ? 5 : 1000);
        memcpy(sorted, lengths, sizeof(sorted));
        qsort(sorted, counts[c], sizeof(*sorted), compare);
        for (size_t k = 0; k < 15; k++) {
            sl_length_set set;
            assert_int_equal(
                sl_length_set_open(&set, lengths, counts[c], globals[k / 3], groups[k % 3], NULL),
                SLUICE_OK);
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                const sl_order order = order_of(&set, SLUICE_SHUFFLE_FULL, epoch);
                check_epoch(&set, &order, sorted);
            }
            sl_length_set_close(&set);
        }
    }
}

TEST(unshuffled_is_sorted)
{
    sl_length_set set;
    fill(500, 20);
    assert_int_equal(sl_length_set_open(&set, lengths, 500, 16, 0, NULL), SLUICE_OK);
    const sl_order order = order_of(&set, SLUICE_SHUFFLE_NONE, 3);
    for (uint64_t p = 1; p < 500; p++) {
        const uint64_t before = sl_order_sample(&order, p - 1);
        const uint64_t own = sl_order_sample(&order, p);
        assert_true(lengths[before] < lengths[own] ||
                    (lengths[before] == lengths[own] && before < own));
    }
    sl_length_set_close(&set);
}

/* Batches and their positions differ in another epoch. */
TEST(epochs_differ)
{
    enum { COUNT = 640, BATCH = 8 };
    sl_length_set set;
    fill(COUNT, 100000);
    assert_int_equal(sl_length_set_open(&set, lengths, COUNT, BATCH, 10, NULL), SLUICE_OK);
    uint32_t together = 0;
    uint32_t same = 0;
    static uint64_t a[COUNT];
    static uint64_t b[COUNT];
    static uint64_t step_of[COUNT];
    const sl_order first = order_of(&set, SLUICE_SHUFFLE_FULL, 0);
    const sl_order second = order_of(&set, SLUICE_SHUFFLE_FULL, 1);
    sl_order_samples(&first, 0, COUNT, a);
    sl_order_samples(&second, 0, COUNT, b);
    for (uint64_t p = 0; p < COUNT; p++) {
        step_of[b[p]] = p / BATCH;
        same += a[p] == b[p];
    }
    for (uint64_t p = 0; p < COUNT; p += BATCH) {
        for (uint64_t q = p + 1; q < p + BATCH; q++) {
            together += step_of[a[p]] == step_of[a[q]];
        }
    }
    assert_true(same < 12);      /* about 1 */
    assert_true(together < 120); /* of 560; 1 in 9 expected */
    sl_length_set_close(&set);
}

/* With DROP, the last positions are not visited: over many epochs, each sample comes equally
 * often. */
TEST(the_rest_is_of_all_samples)
{
    enum { COUNT = 50, BATCH = 20, EPOCHS = 5000 };
    sl_length_set set;
    uint32_t dropped[COUNT] = {0};
    double chi = 0;
    fill(COUNT, 1000);
    assert_int_equal(sl_length_set_open(&set, lengths, COUNT, BATCH, 0, NULL), SLUICE_OK);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const sl_order order = order_of(&set, SLUICE_SHUFFLE_FULL, epoch);
        for (uint64_t p = 40; p < COUNT; p++) {
            dropped[sl_order_sample(&order, p)]++;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        const double expected = EPOCHS * 10.0 / COUNT;
        chi += (dropped[i] - expected) * (dropped[i] - expected) / expected;
    }
    /* Runs of 10 are dropped together, which makes chi-square up to 10 times as large. */
    assert_true(chi < 10 * (49 + 5 * sqrt(98.0)));
    sl_length_set_close(&set);
}

/* Samples of equal length come in a new order each epoch, wherever groups begin. */
TEST(equal_lengths_mix)
{
    enum { COUNT = 400, BATCH = 4 };
    sl_length_set set;
    for (int i = 0; i < COUNT; i++) {
        lengths[i] = i % 2;
    }
    assert_int_equal(sl_length_set_open(&set, lengths, COUNT, BATCH, 50, NULL), SLUICE_OK);
    double distance = 0;
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        const sl_order order = order_of(&set, SLUICE_SHUFFLE_FULL, epoch);
        for (uint64_t p = 0; p < COUNT; p += BATCH) {
            distance +=
                fabs((double)sl_order_sample(&order, p) - (double)sl_order_sample(&order, p + 1)) /
                2000;
        }
    }
    assert_true(distance > 110 && distance < 165); /* by chance: 400 / 3 */
    sl_length_set_close(&set);
}

TEST(a_bad_sample_is_replaced_by_one_of_its_length)
{
    sl_length_set set;
    for (int i = 0; i < 1000; i++) {
        lengths[i] = (double)((i * 389) % 1000);
    }
    assert_int_equal(sl_length_set_open(&set, lengths, 1000, 10, 20, NULL), SLUICE_OK);
    const sl_plan plan = {.order = order_of(&set, SLUICE_SHUFFLE_FULL, 4), .batch = 10, .world = 1};
    for (uint64_t p = 0; p < 1000; p++) {
        for (uint32_t attempt = 1; attempt < 4; attempt++) {
            const uint64_t own = sl_order_sample(&plan.order, p);
            const uint64_t other = sl_plan_substitute(&plan, 7, 4, p, attempt);
            assert_true(other != own && fabs(lengths[own] - lengths[other]) < 50);
        }
    }
    sl_length_set_close(&set);
    assert_int_equal(sl_length_set_open(&set, lengths, 2, 1, 0, NULL), SLUICE_OK);
    const sl_plan two = {.order = order_of(&set, SLUICE_SHUFFLE_FULL, 0), .batch = 1, .world = 1};
    assert_int_equal(sl_plan_substitute(&two, 7, 0, 0, 1), sl_order_sample(&two.order, 1));
    sl_length_set_close(&set);
}

TEST(what_is_refused)
{
    static const double faults[] = {NAN, -1, INFINITY};
    sluice_error error = SLUICE_ERROR_INIT;
    for (size_t i = 0; i < 3; i++) {
        const double given[] = {1, faults[i], 1};
        sl_length_set set;
        assert_int_equal(sl_length_set_open(&set, given, 3, 1, 0, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, "option lengths: sample 1 has length"));
        sl_length_set_close(&set);
    }
}
