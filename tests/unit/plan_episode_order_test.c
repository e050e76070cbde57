/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the promises of episodes by brute force over all samples, and their steps on ranks. */
#include "episode_order.h"
#include "plan.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 200, CLASSES = 12, FIT = 9, K = 5, N = 4, EPISODE = K * N };

/* In no particular order. */
static const uint32_t *classes_of(void)
{
    static uint32_t of[SAMPLES];
    static const uint32_t counts[CLASSES] = {1, 2, 3, 4, 5, 6, 9, 20, 30, 30, 40, 50};
    uint32_t at = 0;
    for (uint32_t c = 0; c < CLASSES; c++) {
        for (uint32_t i = 0; i < counts[c]; i++) {
            of[at++ * 77 % SAMPLES] = c;
        }
    }
    assert_int_equal(at, SAMPLES);
    return of;
}

typedef struct fixture {
    sl_classes classes;
    sl_episode_set set;
} fixture;

static sluice_status open_set(fixture *f, uint32_t k, uint32_t n, uint64_t episodes,
                              sluice_error *error)
{
    assert_int_equal(sl_classes_open(&f->classes, classes_of(), SAMPLES, error), SLUICE_OK);
    return sl_episode_set_open(&f->set, &f->classes,
                               &(sl_episode_set){.classes = k, .samples = n, .episodes = episodes},
                               error);
}

static void close_set(fixture *f)
{
    sl_episode_set_close(&f->set);
    sl_classes_close(&f->classes);
}

/* Checks that classes follow one another, all different, each with different samples. */
static void check_episode(const uint64_t *samples, uint32_t k, uint32_t n)
{
    bool seen[SAMPLES] = {false};
    bool had[CLASSES] = {false};
    for (uint32_t slot = 0; slot < k; slot++) {
        const uint32_t class = classes_of()[samples[(size_t)slot * n]];
        assert_false(had[class]);
        had[class] = true;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t sample = samples[(size_t)slot * n + i];
            assert_true(sample < SAMPLES && !seen[sample]);
            assert_int_equal(classes_of()[sample], class);
            seen[sample] = true;
        }
    }
}

TEST(episodes_have_different_classes_and_samples)
{
    static const uint32_t shapes[][2] = {{1, 1},  {5, 4},  {9, 4},  {12, 1},
                                         {11, 2}, {1, 50}, {2, 40}, {3, 30}};
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        const uint32_t k = shapes[s][0];
        const uint32_t n = shapes[s][1];
        uint64_t samples[3 * SAMPLES];
        fixture f;
        sluice_error error;
        assert_int_equal(open_set(&f, k, n, 7, &error), SLUICE_OK);
        for (uint64_t epoch = 0; epoch < 20; epoch++) {
            const sl_order order = sl_order_make_episodes(&f.set, 11, epoch);
            assert_int_equal(order.count, 7 * k * n);
            for (uint64_t e = 0; e < 7; e++) {
                sl_order_samples(&order, e * k * n, k * n, samples);
                check_episode(samples, k, n);
                assert_int_equal(order.kind->repetition(&order, e * k * n), e);
                assert_int_equal(order.kind->repetition(&order, (e + 1) * k * n - 1), e);
            }
        }
        close_set(&f);
    }
}

TEST(any_position_is_found_by_itself_and_in_runs)
{
    enum { EPISODES = 6, ALL = EPISODES * EPISODE };
    uint64_t all[ALL];
    uint64_t run[ALL];
    fixture f;
    sluice_error error;
    assert_int_equal(open_set(&f, K, N, EPISODES, &error), SLUICE_OK);
    const sl_order order = sl_order_make_episodes(&f.set, 3, 5);
    for (uint64_t p = 0; p < ALL; p++) {
        all[p] = sl_order_sample(&order, p);
    }
    for (uint32_t first = 0; first < ALL; first += 7) {
        for (uint32_t count = 1; count <= ALL - first; count += 5) {
            sl_order_samples(&order, first, count, run);
            assert_memory_equal(run, all + first, count * sizeof(*run));
        }
    }
    close_set(&f);
}

/* Another seed or epoch gives another order; an episode does not depend on the number of
 * episodes. */
TEST(an_episode_is_a_function_of_seed_epoch_and_number)
{
    fixture f;
    fixture more;
    sluice_error error;
    uint64_t samples[4][EPISODE];
    assert_int_equal(open_set(&f, K, N, 10, &error), SLUICE_OK);
    assert_int_equal(open_set(&more, K, N, 1000, &error), SLUICE_OK);
    const sl_order orders[] = {
        sl_order_make_episodes(&f.set, 1, 2), sl_order_make_episodes(&more.set, 1, 2),
        sl_order_make_episodes(&f.set, 2, 2), sl_order_make_episodes(&f.set, 1, 3)};
    for (uint32_t i = 0; i < 4; i++) {
        sl_order_samples(&orders[i], (uint64_t)3 * EPISODE, EPISODE, samples[i]);
    }
    assert_memory_equal(samples[0], samples[1], sizeof(samples[0]));
    assert_memory_not_equal(samples[0], samples[2], sizeof(samples[0]));
    assert_memory_not_equal(samples[0], samples[3], sizeof(samples[0]));
    sl_order_samples(&orders[0], (uint64_t)4 * EPISODE, EPISODE, samples[1]);
    assert_memory_not_equal(samples[0], samples[1], sizeof(samples[0]));
    close_set(&f);
    close_set(&more);
}

/* Drawing without replacement, counts vary less than in independent draws: chi-square / (1 - part)
 * has the distribution. Bounds: 0.1 % on each side. */
static void check_chi_square(const unsigned *counts, uint32_t of, double expected, double part,
                             double low, double high)
{
    double chi = 0;
    for (uint32_t i = 0; i < of; i++) {
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    chi = chi * (of - 1) / of / (1 - part);
    if (chi < low || chi > high) {
        fail_msg("chi-square %f of %u, expected %f to %f", chi, of - 1, low, high);
    }
}

TEST(classes_and_samples_are_as_likely)
{
    enum { EPISODES = 20000, LAST = 11, LAST_SAMPLES = 50 };
    unsigned counts[CLASSES] = {0};
    unsigned in_slot[CLASSES] = {0};
    unsigned of_last[LAST_SAMPLES] = {0};
    fixture f;
    sluice_error error;
    assert_int_equal(open_set(&f, K, N, EPISODES, &error), SLUICE_OK);
    assert_int_equal(f.set.fit_count, FIT);
    const sl_order order = sl_order_make_episodes(&f.set, 5, 1);
    for (uint64_t e = 0; e < EPISODES; e++) {
        uint64_t samples[EPISODE];
        sl_order_samples(&order, e * EPISODE, EPISODE, samples);
        for (uint32_t slot = 0; slot < K; slot++) {
            const uint32_t class = classes_of()[samples[(size_t)slot * N]];
            counts[class]++;
            in_slot[class] += slot == K - 1;
            for (uint32_t i = 0; class == LAST && i < N; i++) {
                of_last[f.classes.place[samples[slot * N + i]] - f.classes.first[LAST]]++;
            }
        }
    }
    for (uint32_t c = 0; c < CLASSES - FIT; c++) {
        assert_int_equal(counts[c], 0);
    }
    check_chi_square(counts + CLASSES - FIT, FIT, (double)EPISODES * K / FIT, (double)K / FIT, 0.86,
                     26.1);
    check_chi_square(in_slot + CLASSES - FIT, FIT, (double)EPISODES / FIT, 1.0 / FIT, 0.86, 26.1);
    check_chi_square(of_last, LAST_SAMPLES, (double)counts[LAST] * N / LAST_SAMPLES,
                     (double)N / LAST_SAMPLES, 24.0, 85.4);
    close_set(&f);
}

/* A substitute has the same class and is not in the episode; as long as others exist, each sample
 * gets a different one. */
TEST(substitutes_are_of_the_class)
{
    fixture f;
    sluice_error error;
    assert_int_equal(open_set(&f, K, N, 300, &error), SLUICE_OK);
    const sl_plan plan = {
        .order = sl_order_make_episodes(&f.set, 9, 0), .batch = EPISODE, .world = 1};
    for (uint64_t p = 0; p < plan.order.count; p++) {
        const uint64_t own = sl_order_sample(&plan.order, p);
        const uint32_t class = classes_of()[own];
        const uint64_t all = f.classes.first[class + 1] - f.classes.first[class];
        bool tried[SAMPLES] = {false};
        uint32_t different = 0;
        uint64_t slot[N];
        sl_order_samples(&plan.order, p / N * N, N, slot);
        assert_int_equal(sl_plan_choices(&plan, p), all);
        for (uint32_t attempt = 1; attempt < all; attempt++) {
            const uint64_t other = sl_plan_substitute(&plan, 9, 0, p, attempt);
            bool inside = false;
            for (uint32_t i = 0; i < N; i++) {
                inside = inside || slot[i] == other;
            }
            assert_int_equal(classes_of()[other], class);
            assert_true(other != own && inside == (attempt > all - N));
            different += !tried[other];
            tried[other] = true;
        }
        assert_int_equal(different, all - 1);
    }
    close_set(&f);
}

TEST(substitutes_of_one_episode_are_different_ones)
{
    fixture f;
    sluice_error error;
    assert_int_equal(open_set(&f, 3, 10, 100, &error), SLUICE_OK);
    const sl_plan plan = {.order = sl_order_make_episodes(&f.set, 9, 0), .batch = 30, .world = 1};
    for (uint64_t e = 0; e < 100; e++) {
        uint64_t samples[30];
        for (uint32_t i = 0; i < 30; i++) {
            samples[i] = sl_plan_substitute(&plan, 9, 0, e * 30 + i, 1);
        }
        check_episode(samples, 3, 10); /* classes with 10 samples have 20 or more */
    }
    close_set(&f);
}

/* Checks the substitutes of the episode at position `p`, which has no sample twice. */
static void check_substitutes(const fixture *f, const sl_plan *plan, uint64_t p, uint32_t n)
{
    const uint32_t class = classes_of()[sl_order_sample(&plan->order, p)];
    const uint64_t others = f->classes.first[class + 1] - f->classes.first[class] - n;
    bool seen[SAMPLES] = {false};
    for (uint64_t item = 0; item < n; item++) {
        seen[sl_order_sample(&plan->order, p + item)] = true;
    }
    for (uint64_t item = 0; item < n; item++) {
        const uint64_t own = others / n + (item < others % n);
        for (uint32_t attempt = 1; attempt <= own; attempt++) {
            const uint64_t other = sl_plan_substitute(plan, 4, 1, p + item, attempt);
            assert_int_equal(classes_of()[other], class);
            assert_false(seen[other]);
            seen[other] = true;
        }
    }
}

/* Over all items and attempts, as long as an item has substitutes of its own: at least others / n,
 * rounded down. Two items never get the same substitute. */
TEST(items_of_an_episode_have_substitutes_of_their_own)
{
    for (uint32_t n = 1; n <= 7; n++) {
        fixture f;
        sluice_error error;
        assert_int_equal(open_set(&f, 2, n, 60, &error), SLUICE_OK);
        const sl_plan plan = {
            .order = sl_order_make_episodes(&f.set, 4, 1), .batch = 2 * n, .world = 1};
        for (uint64_t p = 0; p < plan.order.count; p += n) {
            check_substitutes(&f, &plan, p, n);
        }
        close_set(&f);
    }
}

TEST(a_class_of_one_sample_has_no_other)
{
    fixture f;
    sluice_error error;
    assert_int_equal(open_set(&f, CLASSES, 1, 20, &error), SLUICE_OK);
    const sl_plan plan = {.order = sl_order_make_episodes(&f.set, 9, 0), .batch = 12, .world = 1};
    uint32_t alone = 0;
    for (uint64_t p = 0; p < plan.order.count; p++) {
        if (sl_plan_choices(&plan, p) == 1) {
            alone++;
            assert_int_equal(sl_plan_substitute(&plan, 9, 0, p, 1),
                             sl_order_sample(&plan.order, p));
        } else {
            assert_int_not_equal(sl_plan_substitute(&plan, 9, 0, p, 1),
                                 sl_order_sample(&plan.order, p));
        }
    }
    assert_int_equal(alone, 20);
    close_set(&f);
}

/* Each episode comes once over all ranks, in one piece, regardless of the last-batch option. */
static void check_ranks(const sl_order *order, uint32_t world, uint32_t episodes,
                        sluice_last_batch last)
{
    const uint64_t all = order->count / EPISODE;
    const uint64_t global = (uint64_t)world * episodes;
    const uint64_t steps = all / global + (last != SLUICE_LAST_DROP && all % global > 0);
    const bool repeats = last == SLUICE_LAST_REPEAT || last == SLUICE_LAST_WRAP;
    unsigned seen[64] = {0};
    unsigned again[64] = {0};
    for (uint32_t rank = 0; rank < world; rank++) {
        const sl_plan plan = {.order = *order,
                              .batch = episodes * EPISODE,
                              .rank = rank,
                              .world = world,
                              .last = last};
        assert_int_equal(sl_plan_steps(&plan), steps);
        for (uint64_t s = 0; s < steps; s++) {
            const sl_step step = sl_plan_step(&plan, s);
            const bool whole = last == SLUICE_LAST_PAD || repeats;
            assert_true(step.rows == plan.batch || !whole);
            assert_int_equal(step.rows % EPISODE, 0);
            assert_int_equal(step.own % EPISODE, 0);
            assert_int_equal(step.filled, repeats ? step.rows : step.own);
            for (uint32_t row = 0; row < step.filled; row++) {
                const uint64_t p = sl_step_position(&step, order, row);
                assert_int_equal(p % EPISODE, row % EPISODE);
                (row < step.own ? seen : again)[p / EPISODE] += row % EPISODE == 0;
            }
        }
    }
    unsigned repeated = 0;
    for (uint64_t e = 0; e < all; e++) {
        assert_int_equal(seen[e], last != SLUICE_LAST_DROP || e < steps * global);
        repeated += again[e];
    }
    assert_int_equal(repeated, repeats ? steps * global - all : 0);
}

TEST(batches_are_of_whole_episodes_on_all_ranks)
{
    static const sluice_last_batch rules[] = {SLUICE_LAST_DROP, SLUICE_LAST_PAD, SLUICE_LAST_SHORT,
                                              SLUICE_LAST_REPEAT, SLUICE_LAST_WRAP};
    enum { RULES = sizeof(rules) / sizeof(*rules) };
    for (uint64_t episodes = 1; episodes <= 40; episodes += 3) {
        fixture f;
        sluice_error error;
        assert_int_equal(open_set(&f, K, N, episodes, &error), SLUICE_OK);
        const sl_order order = sl_order_make_episodes(&f.set, 1, 0);
        for (uint32_t way = 0; way < 15 * RULES; way++) {
            check_ranks(&order, 1 + way % 5, 1 + way / 5 % 3, rules[way / 15]);
        }
        close_set(&f);
    }
}

TEST(an_epoch_has_as_many_episodes_as_samples_make)
{
    static const struct {
        uint32_t k, n;
        uint64_t given, episodes;
    } cases[] = {{5, 4, 0, 10}, {12, 1, 0, 16}, {4, 30, 0, 1}, {3, 10, 0, 6},
                 {5, 20, 0, 2}, {5, 20, 9, 9},  {1, 50, 0, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fixture f;
        sluice_error error;
        assert_int_equal(open_set(&f, cases[i].k, cases[i].n, cases[i].given, &error), SLUICE_OK);
        assert_int_equal(f.set.episodes, cases[i].episodes);
        close_set(&f);
    }
}

TEST(too_few_classes_are_counted)
{
    fixture f;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(open_set(&f, 5, 21, 0, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text,
                           "5 classes of 21 samples each, but of the dataset's 12 classes "
                           "only 4 have as many (the largest has 50)"));
    close_set(&f);
    assert_int_equal(open_set(&f, 4, 21, 0, &error), SLUICE_OK);
    close_set(&f);
    assert_int_equal(open_set(&f, 1, 51, 0, &error), SLUICE_INVALID);
    close_set(&f);
}

TEST(a_hash_tells_shapes_and_classes_apart)
{
    fixture f;
    fixture other;
    sluice_error error;
    uint32_t of[SAMPLES];
    assert_int_equal(open_set(&f, 4, 5, 0, &error), SLUICE_OK);
    assert_int_equal(open_set(&other, 5, 4, 0, &error), SLUICE_OK);
    assert_true(f.set.hash != other.set.hash);
    close_set(&other);
    assert_int_equal(open_set(&other, 4, 5, 77, &error), SLUICE_OK);
    assert_true(f.set.hash == other.set.hash);
    close_set(&other);
    memcpy(of, classes_of(), sizeof(of));
    of[0] = (of[0] + 1) % CLASSES;
    assert_int_equal(sl_classes_open(&other.classes, of, SAMPLES, &error), SLUICE_OK);
    assert_int_equal(sl_episode_set_open(&other.set, &other.classes,
                                         &(sl_episode_set){.classes = 4, .samples = 5}, &error),
                     SLUICE_OK);
    assert_true(f.set.hash != other.set.hash);
    close_set(&other);
    close_set(&f);
}
