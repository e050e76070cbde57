/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules for partner samples by brute force over all samples. */
#include "order.h"
#include "partners.h"
#include "substitutes.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 60, DRAWS = 20000 };

static const uint32_t *classes_of(void)
{
    static uint32_t of[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        of[i] = i % 7 == 0 ? 9 : i % 3; /* class 5 and some others are empty */
    }
    of[11] = 4; /* alone */
    return of;
}

static void open_classes(sl_classes *classes)
{
    sluice_error error;
    assert_int_equal(sl_classes_open(classes, classes_of(), SAMPLES, &error), SLUICE_OK);
}

static void samples_are_sorted_by_class(void **state)
{
    sl_classes classes;
    (void)state;
    open_classes(&classes);
    assert_int_equal(classes.count, 10);
    for (uint32_t c = 0; c < classes.count; c++) {
        uint64_t found = 0;
        for (uint32_t i = 0; i < SAMPLES; i++) {
            if (classes_of()[i] == c) {
                assert_int_equal(classes.sorted[classes.first[c] + found], i);
                assert_int_equal(classes.place[i], classes.first[c] + found);
                found++;
            }
        }
        assert_int_equal(classes.first[c + 1] - classes.first[c], found);
    }
    sl_classes_close(&classes);
}

/* Counts how often each sample is drawn as the partner of `own`. */
static void count_draws(const sl_classes *classes, sl_partner_rule rule, uint64_t own,
                        unsigned counts[SAMPLES])
{
    memset(counts, 0, SAMPLES * sizeof(*counts));
    for (uint32_t i = 0; i < DRAWS; i++) {
        const sl_partner_key key = {
            .seed = 3, .epoch = i / 100, .position = i % 100, .sample = own, .partner = 2};
        counts[sl_partner_drawn(rule, classes, SAMPLES, &key)]++;
    }
}

static bool is_allowed(sl_partner_rule rule, uint64_t own, uint64_t other)
{
    const uint32_t *of = classes_of();
    if (rule == SL_PARTNER_ANY) {
        return own != other;
    }
    return rule == SL_PARTNER_SAME ? own != other && of[own] == of[other] : of[own] != of[other];
}

static void each_partner_that_a_rule_allows_is_as_likely(void **state)
{
    sl_classes classes;
    unsigned counts[SAMPLES];
    (void)state;
    open_classes(&classes);
    for (int rule = SL_PARTNER_ANY; rule <= SL_PARTNER_OTHER; rule++) {
        for (uint64_t own = 0; own < SAMPLES; own += 4) {
            double allowed = 0;
            double chi = 0;
            count_draws(&classes, (sl_partner_rule)rule, own, counts);
            for (uint64_t i = 0; i < SAMPLES; i++) {
                allowed += is_allowed((sl_partner_rule)rule, own, i);
            }
            for (uint64_t i = 0; i < SAMPLES; i++) {
                const double wanted =
                    is_allowed((sl_partner_rule)rule, own, i) ? DRAWS / allowed : 0;
                assert_true(wanted > 0 || counts[i] == 0);
                chi += wanted > 0 ? (counts[i] - wanted) * (counts[i] - wanted) / wanted : 0;
            }
            /* Six standard deviations of chi-square; the draws are the same in every run. */
            assert_true(chi < allowed || (chi - allowed) * (chi - allowed) < 72 * allowed);
        }
    }
    sl_classes_close(&classes);
}

static void who_has_no_partner_has_itself_or_any(void **state)
{
    sl_classes classes;
    sluice_error error;
    const uint32_t one[3] = {2, 2, 2};
    sl_partner_key key = {.sample = 11, .partner = 1};
    (void)state;
    open_classes(&classes);
    assert_int_equal(sl_partner_drawn(SL_PARTNER_SAME, &classes, SAMPLES, &key), 11);
    sl_classes_close(&classes);
    assert_int_equal(sl_classes_open(&classes, one, 3, &error), SLUICE_OK);
    for (key.position = 0; key.position < 50; key.position++) {
        key.sample = key.position % 3;
        assert_true(sl_partner_drawn(SL_PARTNER_OTHER, &classes, 3, &key) != key.sample);
    }
    key.sample = 0;
    assert_int_equal(sl_partner_drawn(SL_PARTNER_ANY, NULL, 1, &key), 0);
    sl_classes_close(&classes);
}

static void what_it_depends_on_changes_it(void **state)
{
    unsigned same[4] = {0};
    (void)state;
    for (uint64_t i = 0; i < 400; i++) {
        const sl_partner_key key = {.seed = i, .epoch = i, .position = i, .partner = 1};
        const sl_partner_key others[4] = {
            {.seed = i + 1, .epoch = i, .position = i, .partner = 1},
            {.seed = i, .epoch = i + 1, .position = i, .partner = 1},
            {.seed = i, .epoch = i, .position = i, .partner = 2},
            {.seed = i, .epoch = i, .position = i, .partner = 1, .attempt = 1}};
        const uint64_t drawn = sl_partner_drawn(SL_PARTNER_ANY, NULL, SAMPLES, &key);
        assert_int_equal(drawn, sl_partner_drawn(SL_PARTNER_ANY, NULL, SAMPLES, &key));
        for (size_t k = 0; k < 4; k++) {
            same[k] += drawn == sl_partner_drawn(SL_PARTNER_ANY, NULL, SAMPLES, &others[k]);
        }
    }
    for (size_t k = 0; k < 4; k++) {
        assert_true(same[k] < 25); /* 7 of 400 by chance */
    }
}

/* Each sample is partner j once, in an order of j's own. */
static void orders_of_partners_differ(void **state)
{
    (void)state;
    const sl_order own = sl_order_make(SLUICE_SHUFFLE_FULL, SAMPLES, 0, 0, 5, 1);
    for (uint32_t partner = 1; partner <= 3; partner++) {
        const sl_order order =
            sl_order_make(SLUICE_SHUFFLE_FULL, SAMPLES, 0, 0, sl_partner_seed(5, partner), 1);
        const sl_order next =
            sl_order_make(SLUICE_SHUFFLE_FULL, SAMPLES, 0, 0, sl_partner_seed(5, partner + 1), 1);
        unsigned seen[SAMPLES] = {0};
        unsigned same = 0;
        for (uint64_t p = 0; p < SAMPLES; p++) {
            seen[sl_order_sample(&order, p)]++;
            same += sl_order_sample(&order, p) == sl_order_sample(&own, p);
            same += sl_order_sample(&order, p) == sl_order_sample(&next, p);
        }
        for (uint64_t p = 0; p < SAMPLES; p++) {
            assert_int_equal(seen[p], 1);
        }
        assert_true(same < 12);
    }
}

/* Each position comes once; with a block order, within its run; differently for each seed and
 * epoch. */
static void positions_of_a_mix_are_permuted(void **state)
{
    enum { COUNT = 1003, RUN = 8 * 6 };
    (void)state;
    for (int block = 0; block < 2; block++) {
        sl_order order = {.shuffle = block ? SLUICE_SHUFFLE_BLOCK : SLUICE_SHUFFLE_FULL,
                          .count = COUNT,
                          .block = 8,
                          .window = 6,
                          .seed = 3};
        sl_order next = order;
        next.seed = 4;
        unsigned seen[COUNT] = {0};
        unsigned same[3] = {0};
        for (uint64_t p = 0; p < COUNT; p++) {
            const uint64_t to = sl_partner_shift(&order, 1, p);
            assert_true(to < COUNT && (!block || to / RUN == p / RUN));
            seen[to]++;
            same[0] += to == p;
            same[1] += to == sl_partner_shift(&order, 2, p);
            same[2] += to == sl_partner_shift(&next, 1, p);
        }
        for (uint64_t p = 0; p < COUNT; p++) {
            assert_int_equal(seen[p], 1);
        }
        for (uint32_t i = 0; i < 3; i++) {
            assert_true(same[i] < 60); /* by chance, about one per run */
        }
    }
    const sl_order huge = {.shuffle = SLUICE_SHUFFLE_BLOCK,
                           .count = UINT64_C(1) << 60,
                           .block = UINT64_C(1) << 40,
                           .window = UINT64_C(1) << 40};
    assert_true(sl_partner_shift(&huge, 0, huge.count - 1) < huge.count);
}

/* All members and attempts of a row share one key. */
static void the_key_of_a_row_is_its_own(void **state)
{
    const sl_partner_key key = {.seed = 1, .epoch = 2, .position = 3};
    const sl_partner_key member = {
        .seed = 1, .epoch = 2, .position = 3, .partner = 3, .attempt = 2, .sample = 5};
    const sl_partner_key others[3] = {{.seed = 2, .epoch = 2, .position = 3},
                                      {.seed = 1, .epoch = 3, .position = 3},
                                      {.seed = 1, .epoch = 2, .position = 4}};
    (void)state;
    assert_true(sl_partner_place_key(&key) == sl_partner_place_key(&member));
    for (size_t i = 0; i < 3; i++) {
        assert_true(sl_partner_place_key(&key) != sl_partner_place_key(&others[i]));
    }
}

static void check_places(uint64_t places, uint64_t items, uint64_t item)
{
    bool seen[30] = {false};
    const uint64_t own = places / items + (item < places % items);
    for (uint64_t attempt = 0; attempt < places; attempt++) {
        const uint64_t place = sl_substitute_place(places, item, items, attempt);
        assert_true(place < places && !seen[place]);
        assert_int_equal(place % items == item, attempt < own);
        seen[place] = true;
    }
}

/* Brute force: each item tries each place once, its own places first. */
static void items_try_all_places_their_own_first(void **state)
{
    (void)state;
    for (uint64_t places = 1; places < 30; places++) {
        for (uint64_t items = 1; items < 9; items++) {
            for (uint64_t item = 0; item < items; item++) {
                check_places(places, items, item);
            }
        }
    }
}

static void rules_are_read(void **state)
{
    sl_partners partners;
    sluice_error error;
    (void)state;
    assert_int_equal(sl_partners_read(&partners, "same_class,other_class,any", &error), SLUICE_OK);
    assert_int_equal(partners.count, 3);
    assert_int_equal(sl_partners_rule(&partners, 1), SL_PARTNER_SAME);
    assert_int_equal(sl_partners_rule(&partners, 2), SL_PARTNER_OTHER);
    assert_int_equal(sl_partners_rule(&partners, 3), SL_PARTNER_ANY);
    assert_int_equal(sl_partners_rule(&partners, 31), SL_PARTNER_ANY);
    assert_true(sl_partners_need_classes(&partners));
    assert_int_equal(sl_partners_read(&partners, NULL, &error), SLUICE_OK);
    assert_int_equal(partners.count, 0);
    assert_false(sl_partners_need_classes(&partners));
    assert_int_equal(sl_partners_read(&partners, "any,same", &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "\"same\""));
    assert_int_equal(sl_partners_read(&partners, "any,,any", &error), SLUICE_INVALID);
}

static void impossible_classes_are_refused(void **state)
{
    sl_classes classes;
    sluice_error error;
    const uint32_t of[2] = {1, UINT32_MAX};
    (void)state;
    assert_int_equal(sl_classes_open(&classes, of, 2, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "sample 1"));
    sl_classes_close(&classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_sorted_by_class),
        cmocka_unit_test(each_partner_that_a_rule_allows_is_as_likely),
        cmocka_unit_test(who_has_no_partner_has_itself_or_any),
        cmocka_unit_test(what_it_depends_on_changes_it),
        cmocka_unit_test(orders_of_partners_differ),
        cmocka_unit_test(positions_of_a_mix_are_permuted),
        cmocka_unit_test(the_key_of_a_row_is_its_own),
        cmocka_unit_test(items_try_all_places_their_own_first),
        cmocka_unit_test(rules_are_read),
        cmocka_unit_test(impossible_classes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
