/* SPDX-License-Identifier: Apache-2.0 */
/* Tests draws by weight: against the distribution (chi-square), as pure functions of the position,
 * in steps of ranks, for bad samples, and with invalid weights. */
#include "memory.h"
#include "plan.h"
#include "test.h"
#include "weighted_order.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 97, DRAWS = 100000 };

static double weights[SAMPLES];

/* Some weights are 0, the others span several magnitudes. */
static void fill(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        weights[i] = i % 5 == 3 ? 0 : (double)(1 + i * i % 17) * (i % 2 == 0 ? 1.0 : 0.25);
    }
}

static sl_order order_of(const sl_weight_set *set, uint64_t seed, uint64_t epoch)
{
    const sl_order_source source = {.kind = &sl_weighted_order, .set = set, .count = set->draws};
    return sl_order_of(&source, seed, epoch);
}

/* Returns the sum of (seen - expected)^2 / expected over the `freedom` + 1 samples that may be
 * drawn. */
static double chi_square(const uint32_t *seen, const double *of, uint32_t count, double draws,
                         uint32_t *freedom)
{
    double sum = 0;
    double chi = 0;
    *freedom = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += of[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const double expected = draws * of[i] / sum;
        if (of[i] == 0) {
            assert_int_equal(seen[i], 0);
            continue;
        }
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
        (*freedom)++;
    }
    (*freedom)--;
    return chi;
}

/* Five standard deviations above the mean of a chi-square. */
static double bound(uint32_t freedom)
{
    return freedom + 5 * sqrt(2.0 * freedom);
}

TEST(draws_follow_the_weights)
{
    static uint64_t samples[DRAWS];
    uint32_t seen[SAMPLES] = {0};
    uint32_t freedom;
    sl_weight_set set;
    fill();
    assert_int_equal(sl_weight_set_open(&set, weights, SAMPLES, DRAWS, NULL), SLUICE_OK);
    const sl_order order = order_of(&set, 5, 2);
    assert_int_equal(order.count, DRAWS);
    sl_order_samples(&order, 0, DRAWS, samples);
    for (int i = 0; i < DRAWS; i++) {
        seen[samples[i]]++;
    }
    assert_true(chi_square(seen, weights, SAMPLES, DRAWS, &freedom) < bound(freedom));
    sl_weight_set_close(&set);
}

/* Draws of one sample differ: no two positions have the same number. */
TEST(each_position_is_a_repetition_of_its_own)
{
    sl_weight_set set;
    fill();
    assert_int_equal(sl_weight_set_open(&set, weights, SAMPLES, DRAWS, NULL), SLUICE_OK);
    const sl_order order = order_of(&set, 5, 2);
    assert_non_null(order.kind->repetition);
    for (uint64_t p = 0; p < DRAWS; p += 997) {
        assert_int_equal(order.kind->repetition(&order, p), p);
    }
    sl_weight_set_close(&set);
}

TEST(a_draw_is_a_function_of_its_position)
{
    uint64_t run[256];
    sl_weight_set set;
    sl_weight_set more;
    fill();
    assert_int_equal(sl_weight_set_open(&set, weights, SAMPLES, 256, NULL), SLUICE_OK);
    assert_int_equal(sl_weight_set_open(&more, weights, SAMPLES, 1000, NULL), SLUICE_OK);
    const sl_order order = order_of(&set, 1, 1);
    const sl_order longer = order_of(&more, 1, 1);
    const sl_order others[] = {order_of(&set, 2, 1), order_of(&set, 1, 2)};
    uint32_t same[2] = {0};
    sl_order_samples(&order, 0, 256, run);
    for (uint64_t p = 0; p < 256; p++) {
        assert_int_equal(sl_order_sample(&order, p), run[p]);
        assert_int_equal(sl_order_sample(&longer, p), run[p]);
        for (int i = 0; i < 2; i++) {
            same[i] += sl_order_sample(&others[i], p) == run[p];
        }
    }
    assert_true(same[0] < 30 && same[1] < 30); /* about 256 / 60 */
    assert_true(set.hash != more.hash);
    sl_weight_set_close(&set);
    sl_weight_set_close(&more);
}

/* All ranks together have each position once. */
TEST(ranks_share_an_epoch)
{
    sl_weight_set set;
    uint8_t taken[103] = {0};
    fill();
    assert_int_equal(sl_weight_set_open(&set, weights, SAMPLES, 103, NULL), SLUICE_OK);
    for (uint32_t rank = 0; rank < 3; rank++) {
        const sl_plan plan = {.order = order_of(&set, 4, 0),
                              .batch = 8,
                              .rank = rank,
                              .world = 3,
                              .last = SLUICE_LAST_SHORT};
        assert_int_equal(sl_plan_steps(&plan), 5);
        for (uint64_t s = 0; s < 5; s++) {
            const sl_step step = sl_plan_step(&plan, s);
            for (uint32_t row = 0; row < step.filled; row++) {
                taken[sl_step_position(&step, &plan.order, row)]++;
            }
        }
    }
    for (int i = 0; i < 103; i++) {
        assert_int_equal(taken[i], 1);
    }
    sl_weight_set_close(&set);
}

/* A substitute follows the weights of the other samples. */
TEST(a_bad_sample_is_drawn_again)
{
    static const double three[] = {6, 0, 1, 3};
    uint32_t seen[4] = {0};
    uint32_t freedom;
    double others[4];
    sl_weight_set set;
    assert_int_equal(sl_weight_set_open(&set, three, 4, 20000, NULL), SLUICE_OK);
    const sl_plan plan = {.order = order_of(&set, 8, 3), .batch = 1, .world = 1};
    uint32_t bad = 0;
    for (uint64_t p = 0; p < 20000; p++) {
        if (sl_order_sample(&plan.order, p) == 0) {
            seen[sl_plan_substitute(&plan, 8, 3, p, 1 + (uint32_t)(p % 3))]++;
            bad++;
        }
        assert_true(sl_plan_substitute(&plan, 8, 3, p, 1) != sl_order_sample(&plan.order, p));
    }
    memcpy(others, three, sizeof(others));
    others[0] = 0;
    assert_true(chi_square(seen, others, 4, bad, &freedom) < bound(freedom));
    assert_int_equal(sl_plan_choices(&plan, 0), 3);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(sl_weighted_order.fits(&plan.order, 0, i), three[i] > 0);
    }
    sl_weight_set_close(&set);
}

TEST(one_sample_has_all_the_weight)
{
    static const double one[] = {0, 0, 7, 0};
    sl_weight_set set;
    assert_int_equal(sl_weight_set_open(&set, one, 4, 0, NULL), SLUICE_OK);
    const sl_plan plan = {.order = order_of(&set, 1, 1), .batch = 1, .world = 1};
    assert_int_equal(plan.order.count, 4);
    assert_int_equal(sl_plan_choices(&plan, 0), 1);
    for (uint64_t p = 0; p < 4; p++) {
        assert_int_equal(sl_order_sample(&plan.order, p), 2);
        assert_int_equal(sl_plan_substitute(&plan, 1, 1, p, 1), 2);
    }
    sl_weight_set_close(&set);
}

/* Sums that overflow, and weights that vanish beside the largest. */
TEST(weights_of_all_magnitudes)
{
    static const double large[] = {1.7e308, 1.7e308, 0, 1.7e308};
    static const double equal[] = {1, 1, 0, 1};
    static const double small[] = {5e-324, 0, 5e-324, 1.0};
    sl_weight_set set;
    uint32_t seen[4] = {0};
    uint32_t freedom;
    assert_int_equal(sl_weight_set_open(&set, large, 4, 30000, NULL), SLUICE_OK);
    const sl_order order = order_of(&set, 3, 0);
    for (uint64_t p = 0; p < 30000; p++) {
        seen[sl_order_sample(&order, p)]++;
    }
    assert_true(chi_square(seen, equal, 4, 30000, &freedom) < 25);
    sl_weight_set_close(&set);
    assert_int_equal(sl_weight_set_open(&set, small, 4, 0, NULL), SLUICE_OK);
    assert_int_equal(set.choices, 3);
    assert_true(set.ends[0] > 0 && set.ends[0] == set.ends[1] && set.ends[1] < set.ends[2]);
    sl_weight_set_close(&set);
}

TEST(what_is_refused)
{
    static const double faults[] = {NAN, -1, INFINITY, -INFINITY, -5e-324};
    sl_weight_set set;
    sluice_error error = SLUICE_ERROR_INIT;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        const double given[] = {1, 2, faults[i]};
        assert_int_equal(sl_weight_set_open(&set, given, 3, 0, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, "sample 2 has weight"));
        sl_weight_set_close(&set);
    }
    static const double none[] = {0, -0.0};
    assert_int_equal(sl_weight_set_open(&set, none, 2, 0, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "all weights are 0"));
    sl_weight_set_close(&set);
}
