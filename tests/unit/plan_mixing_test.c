/* SPDX-License-Identifier: Apache-2.0 */
/* Tests mixes by brute force: the shares in every prefix, each source's samples once per epoch of
 * that source, runs against single positions, changing weights, and how weights become shares. */
#include "mixing.h"

#include "order.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES_MAX = 12, SIZE_MAX_HERE = 400 };

static sl_mix *make(const double *weights, const uint64_t *sizes, uint32_t sources,
                    uint64_t epoch_samples)
{
    static const uint64_t first[] = {0};
    sl_mix *mix = NULL;
    const sl_mix_weights w = {.sources = sources,
                              .rows = 1,
                              .weights = weights,
                              .epochs = first,
                              .sizes = sizes,
                              .epoch_samples = epoch_samples};
    assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_OK);
    return mix;
}

/* ---- shares ---- */

static const struct {
    double weights[SOURCES_MAX];
    uint32_t sources, period;
} shapes[] = {
    {{1}, 1, 1},
    {{0.7, 0.3}, 2, 10},
    {{1, 1, 1}, 3, 3},
    {{5, 0, 3}, 3, 8},
    {{0.5, 0.25, 0.125, 0.0625, 0.0625}, 5, 16},
    {{100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11, 110},
    {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, 12, 52},
    {{0.6180339887498949, 0.3819660112501051}, 2, 65536},
    {{1e-9, 1, 2.718281828459045}, 3, 65536},
    {{65535, 1}, 2, 65536},
    {{65537, 1}, 2, 65536},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* After every prefix of several periods, counts are within 1 of the exact share. */
TEST(test_every_prefix_is_within_one)
{
    for (size_t s = 0; s < SHAPES; s++) {
        uint64_t sizes[SOURCES_MAX];
        uint64_t taken[SOURCES_MAX] = {0};
        const uint32_t sources = shapes[s].sources;
        for (uint32_t i = 0; i < sources; i++) {
            sizes[i] = 1 + 37 * i % 29;
        }
        sl_mix *mix = make(shapes[s].weights, sizes, sources, 1000);
        const sl_mix_row *row = &mix->row[0];
        assert_int_equal(row->period, shapes[s].period);
        const uint64_t positions = 2 * (uint64_t)row->period + 777;
        for (uint64_t p = 0; p < positions; p++) {
            const sl_mix_place place = sl_mix_find(mix, p / 1000, p % 1000);
            const uint64_t size = sizes[place.source];
            assert_int_equal(place.epoch * size + place.position, taken[place.source]);
            taken[place.source]++;
            for (uint32_t i = 0; i < sources; i++) {
                const int64_t over =
                    (int64_t)(taken[i] * row->period) - (int64_t)((p + 1) * row->share[i]);
                assert_true(llabs(over) < (int64_t)row->period);
            }
        }
        sl_mix_close(mix);
    }
}

TEST(test_shares_are_near_the_weights)
{
    for (size_t s = 0; s < SHAPES; s++) {
        uint64_t sizes[SOURCES_MAX];
        double sum = 0;
        uint64_t shares = 0;
        for (uint32_t i = 0; i < SOURCES_MAX; i++) {
            sizes[i] = 1;
            sum += shapes[s].weights[i];
        }
        sl_mix *mix = make(shapes[s].weights, sizes, shapes[s].sources, 1);
        const sl_mix_row *row = &mix->row[0];
        for (uint32_t i = 0; i < shapes[s].sources; i++) {
            const double wanted = shapes[s].weights[i] / sum * row->period;
            assert_true(row->share[i] - wanted < 1.001 && wanted - row->share[i] < 1.001);
            assert_true((row->share[i] > 0) == (shapes[s].weights[i] > 0));
            shares += row->share[i];
        }
        assert_int_equal(shares, row->period);
        sl_mix_close(mix);
    }
}

/* As many sources as positions, with weights that have no ratio of whole numbers. */
TEST(test_many_sources)
{
    enum { MANY = 20000 };
    static double weights[MANY];
    static uint64_t sizes[MANY];
    static uint32_t seen[MANY];
    for (uint32_t i = 0; i < MANY; i++) {
        weights[i] = 1 + 1e-3 * (i % 7);
        sizes[i] = 3;
    }
    sl_mix *mix = make(weights, sizes, MANY, SL_MIX_PERIOD);
    for (uint64_t p = 0; p < SL_MIX_PERIOD; p++) {
        seen[sl_mix_find(mix, 0, p).source]++;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        assert_in_range(seen[i], 3, 4);
    }
    sl_mix_close(mix);
}

/* Sources too small for a share get one each, taken one by one from the largest shares, as the
 * brute force does. */
TEST(test_small_sources_take_from_large_ones)
{
    enum { SMALL = 301, ALL = SMALL + 3 };
    static double weights[ALL] = {1e9, 1e9 + 7, 4.1e8};
    static uint64_t sizes[ALL];
    uint32_t expected[] = {0, 0, 0};
    uint32_t sum = SMALL;
    for (uint32_t i = 0; i < ALL; i++) {
        weights[i] = i < 3 ? weights[i] : 1;
        sizes[i] = 1;
    }
    for (uint32_t i = 0; i < 3; i++) {
        expected[i] = (uint32_t)(weights[i] / (2.41e9 + 7 + SMALL) * SL_MIX_PERIOD);
        sum += expected[i];
    }
    for (; sum > SL_MIX_PERIOD; sum--) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < 3; i++) {
            most = expected[i] > expected[most] ? i : most;
        }
        expected[most]--;
    }
    sl_mix *mix = make(weights, sizes, ALL, 1);
    for (uint32_t i = 0; i < ALL; i++) {
        assert_int_equal(mix->row[0].share[i], i < 3 ? expected[i] : 1);
    }
    sl_mix_close(mix);
}

/* ---- orders ---- */

static const uint64_t order_sizes[] = {400, 7, 1, 64};
static const double order_weights[] = {5, 2, 1, 3};

enum { ORDERED = 4, EPOCH = 333 };

/* Epoch after epoch, each source's samples come once before any comes again. */
TEST(test_samples_come_once_before_they_come_again)
{
    sl_mix *mix = make(order_weights, order_sizes, ORDERED, EPOCH);
    for (int32_t shuffle = SLUICE_SHUFFLE_FULL; shuffle <= SLUICE_SHUFFLE_NONE; shuffle++) {
        uint64_t times[SIZE_MAX_HERE * ORDERED] = {0};
        uint64_t taken[ORDERED] = {0};
        const sl_order shape = {.shuffle = (sluice_shuffle)shuffle, .block = 4, .window = 3};
        for (uint64_t epoch = 0; epoch < 12; epoch++) {
            const sl_order order = sl_order_make_mixed(mix, &shape, 42, epoch);
            assert_int_equal(order.count, EPOCH);
            for (uint64_t p = 0; p < EPOCH; p++) {
                const uint64_t sample = sl_order_sample(&order, p);
                const uint32_t source = sl_mix_find(mix, epoch, p).source;
                assert_in_range(sample, mix->first[source], mix->first[source + 1] - 1);
                assert_int_equal(times[sample], taken[source] / order_sizes[source]);
                times[sample]++;
                taken[source]++;
            }
        }
    }
    sl_mix_close(mix);
}

/* A source that is exhausted before the mix's epoch ends continues with the next number, counted
 * from 0 in each epoch. */
TEST(test_repetitions_in_an_epoch)
{
    sl_mix *mix = make(order_weights, order_sizes, ORDERED, EPOCH);
    const sl_order shape = {.shuffle = SLUICE_SHUFFLE_FULL};
    uint64_t highest = 0;
    for (uint64_t epoch = 0; epoch < 12; epoch++) {
        uint64_t before[ORDERED];
        bool seen[ORDERED] = {false};
        const sl_order order = sl_order_make_mixed(mix, &shape, 42, epoch);
        for (uint64_t p = 0; p < EPOCH; p++) {
            const sl_mix_place place = sl_mix_find(mix, epoch, p);
            before[place.source] = seen[place.source] ? before[place.source] : place.epoch;
            seen[place.source] = true;
            const uint64_t found = order.kind->repetition(&order, p);
            assert_int_equal(found, place.epoch - before[place.source]);
            highest = found > highest ? found : highest;
        }
    }
    assert_true(highest > 10); /* the source with one sample */
    sl_mix_close(mix);
}

TEST(test_runs_are_what_positions_are)
{
    uint64_t run[EPOCH];
    sl_mix *mix = make(order_weights, order_sizes, ORDERED, EPOCH);
    const sl_order shape = {.shuffle = SLUICE_SHUFFLE_FULL};
    const sl_order order = sl_order_make_mixed(mix, &shape, 7, 5);
    for (uint32_t first = 0; first < EPOCH; first += 41) {
        const uint32_t count = EPOCH - first < 150 ? EPOCH - first : 150;
        sl_order_samples(&order, first, count, run);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(run[i], sl_order_sample(&order, first + i));
        }
    }
    sl_mix_close(mix);
}

/* Two sources of equal size have different orders, and so do two epochs of one source. */
TEST(test_orders_differ)
{
    static const double weights[] = {1, 1};
    static const uint64_t sizes[] = {100, 100};
    uint64_t samples[400];
    uint32_t same_source = 0;
    uint32_t same_epoch = 0;
    sl_mix *mix = make(weights, sizes, 2, 400);
    const sl_order shape = {.shuffle = SLUICE_SHUFFLE_FULL};
    const sl_order order = sl_order_make_mixed(mix, &shape, 7, 0);
    sl_order_samples(&order, 0, 400, samples);
    for (uint32_t i = 0; i < 200; i += 2) {
        same_source += samples[i] + 100 == samples[i + 1];
        same_epoch += samples[i] == samples[i + 200];
    }
    assert_true(same_source < 10 && same_epoch < 10);
    sl_mix_close(mix);
}

/* ---- weights that change ---- */

TEST(test_rows_go_on_where_the_last_one_ended)
{
    static const double weights[] = {1, 0, 1, 3, 2, 1};
    static const uint64_t epochs[] = {0, 3, 4};
    static const uint64_t sizes[] = {13, 29};
    uint64_t taken[2] = {0};
    sl_mix *mix = NULL;
    const sl_mix_weights w = {.sources = 2,
                              .rows = 3,
                              .weights = weights,
                              .epochs = epochs,
                              .sizes = sizes,
                              .epoch_samples = 50};
    assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_OK);
    for (uint64_t epoch = 0; epoch < 9; epoch++) {
        uint64_t here[2] = {0};
        for (uint64_t p = 0; p < 50; p++) {
            const sl_mix_place place = sl_mix_find(mix, epoch, p);
            assert_int_equal(place.epoch * sizes[place.source] + place.position,
                             taken[place.source]);
            taken[place.source]++;
            here[place.source]++;
        }
        const double share = epoch < 3 ? 0 : epoch == 3 ? 37.5 : 50.0 / 3;
        assert_true((double)here[1] - share < 1.5 && share - (double)here[1] < 1.5);
    }
    sl_mix_close(mix);
}

/* Windows: the sizes may change, and epochs may have all windows or as many as before. */
TEST(test_counted_again_is_made_of_other_sizes)
{
    static const double weights[] = {1, 0, 4, 1, 3, 2, 2, 1, 1};
    static const uint64_t epochs[] = {0, 2, 5};
    static const uint64_t sizes[] = {13, 29, 1};
    static const uint64_t other[] = {7, 100, 31};
    static const uint64_t first[] = {0, 7, 107, 138};
    sl_mix_weights w = {
        .sources = 3, .rows = 3, .weights = weights, .epochs = epochs, .sizes = sizes};
    for (uint64_t epoch_samples = 0; epoch_samples < 100; epoch_samples += 50) {
        sl_mix *mix = NULL;
        sl_mix *recounted = NULL;
        sl_mix *wanted = NULL;
        w.sizes = sizes;
        w.epoch_samples = epoch_samples;
        assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_OK);
        assert_int_equal(mix->epoch_samples, epoch_samples > 0 ? epoch_samples : 43);
        assert_int_equal(sl_mix_recount(&recounted, mix, first, NULL), SLUICE_OK);
        w.sizes = other;
        assert_int_equal(sl_mix_make(&wanted, &w, NULL), SLUICE_OK);
        assert_int_equal(recounted->epoch_samples, epoch_samples > 0 ? epoch_samples : 138);
        for (uint64_t i = 0; i < 9 * wanted->epoch_samples; i++) {
            const uint64_t epoch = i / wanted->epoch_samples;
            const sl_mix_place a = sl_mix_find(recounted, epoch, i % wanted->epoch_samples);
            const sl_mix_place b = sl_mix_find(wanted, epoch, i % wanted->epoch_samples);
            assert_true(a.source == b.source && a.epoch == b.epoch && a.position == b.position);
        }
        sl_mix_close(recounted);
        sl_mix_close(mix);
        sl_mix_close(wanted);
    }
}

/* ---- epochs without end ---- */

/* 2^63 positions are counted exactly: by whole periods and a walk through one of them. */
TEST(test_the_last_epochs)
{
    static const uint64_t sizes[] = {400, 7, 1, 64};
    static const uint64_t epoch_samples[] = {
        1, 2, 333, 65537, UINT64_C(3) << 31, UINT64_C(5) << 60, INT64_MAX};
    for (size_t s = 0; s < sizeof(epoch_samples) / sizeof(epoch_samples[0]); s++) {
        const uint64_t samples = epoch_samples[s];
        sl_mix *mix = make(order_weights, sizes, ORDERED, samples);
        const uint64_t epochs = sl_mix_epochs(mix);
        const uint64_t period = mix->row[0].period;
        assert_int_equal(period, 11);
        assert_true(epochs <= (UINT64_C(1) << 63) / samples);
        assert_true(epochs + 1 > (UINT64_C(1) << 63) / samples);
        for (uint64_t i = 0; i < 200; i++) {
            /* checks the last positions (over several short epochs) and the one after them */
            const uint64_t all = epochs * samples + samples - 1 - i;
            const sl_mix_place place = sl_mix_find(mix, all / samples, all % samples);
            uint64_t taken[ORDERED] = {0};
            for (uint64_t at = 0; at < period; at++) {
                const sl_mix_place first = sl_mix_find(mix, at / samples, at % samples);
                taken[first.source] += all / period + (at < all % period);
                assert_true(at != all % period || first.source == place.source);
            }
            assert_int_equal(place.epoch, taken[place.source] / sizes[place.source]);
            assert_int_equal(place.position, taken[place.source] % sizes[place.source]);
        }
        sl_mix_close(mix);
    }
}

/* Weights may change as late as in the last epoch. */
TEST(test_weights_for_the_last_epoch)
{
    static const double weights[] = {3, 1, 1, 4};
    static const uint64_t sizes[] = {13, 29};
    static const uint64_t more[] = {0, 14, 100};
    const uint64_t epochs = (UINT64_C(1) << 63) / 1000;
    const uint64_t from[] = {0, epochs - 1};
    const uint64_t too_late[] = {0, epochs};
    sl_mix_weights w = {.sources = 2,
                        .rows = 2,
                        .weights = weights,
                        .epochs = from,
                        .sizes = sizes,
                        .epoch_samples = 1000};
    sl_mix *mix = NULL;
    sl_mix *again = NULL;
    assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_OK);
    uint64_t taken[2] = {(epochs - 1) * 750, (epochs - 1) * 250};
    for (uint64_t p = 0; p < 3000; p++) {
        const sl_mix_place place = sl_mix_find(mix, epochs - 1 + p / 1000, p % 1000);
        assert_int_equal(place.epoch, taken[place.source] / sizes[place.source]);
        assert_int_equal(place.position, taken[place.source] % sizes[place.source]);
        taken[place.source]++;
    }
    assert_int_equal(sl_mix_recount(&again, mix, more, NULL), SLUICE_OK); /* as many per epoch */
    sl_mix_close(again);
    sl_mix_close(mix);
    w.epochs = too_late;
    assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_INVALID);
    assert_null(mix);
    const uint64_t of_all[] = {0, (UINT64_C(1) << 63) / 42 - 1};
    w.epochs = of_all;
    w.epoch_samples = 0;
    assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_OK);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_mix_recount(&again, mix, more, &error), SLUICE_INVALID); /* more */
    assert_null(again);
    assert_non_null(strstr(error.text, "92233720368547758 epochs"));
    sl_mix_close(mix);
}

TEST(test_weights_that_make_no_sense)
{
    static const double wrong[][2] = {
        {0, 0}, {-1, 2}, {1.0 / 0.0, 1}, {0.0 / 0.0, 1}, {1e308, 1e308}};
    static const double good[] = {1, 1, 1, 1};
    static const uint64_t sizes[] = {1, 1};
    static const uint64_t from[][2] = {{1, 2}, {0, 0}};
    sl_mix *mix = NULL;
    sl_mix_weights w = {.sources = 2, .rows = 1, .sizes = sizes, .epoch_samples = 1};
    w.epochs = from[1];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        w.weights = wrong[i];
        assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_INVALID);
        assert_null(mix);
    }
    w.weights = good;
    w.rows = 2;
    for (size_t i = 0; i < 2; i++) {
        w.epochs = from[i];
        assert_int_equal(sl_mix_make(&mix, &w, NULL), SLUICE_INVALID);
    }
}
