/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the permutation: a bijection for every count, and statistically indistinguishable from a
 * random draw. */
#include "permutation_kernels.h"

#include "philox.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the chi-square that `freedom` degrees of freedom exceed with a probability of 1e-6, or
 * fall below with the same (sign -1): Wilson and Hilferty, 1931. The keys are fixed: no test fails
 * by chance. */
static double chi_square_limit(double freedom, int sign)
{
    const double z = 4.7534 * sign;
    const double part = 2 / (9 * freedom);
    const double cube_root = 1 - part + z * sqrt(part);
    return freedom * cube_root * cube_root * cube_root;
}

static double chi_square(const unsigned *bins, size_t count, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double off = bins[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

static void expect_chance(const char *what, const unsigned *bins, size_t count, double freedom,
                          double expected)
{
    const double found = chi_square(bins, count, expected);
    const double low = chi_square_limit(freedom, -1);
    const double high = chi_square_limit(freedom, 1);
    print_message("%s: chi-square %.1f, %.0f degrees of freedom, allowed %.1f .. %.1f\n", what,
                  found, freedom, low, high);
    assert_true(found > low && found < high);
}

/* True if a permutation maps [0, count) onto itself and its inverse leads back (for large counts,
 * every 7th is checked). */
static bool is_bijection(uint64_t count, uint64_t key)
{
    const sl_permutation p = sl_permutation_make(count, key);
    unsigned char *seen = calloc(count, 1);
    bool good = seen != NULL;
    for (uint64_t i = 0; i < count && good; i++) {
        const uint64_t image = sl_permutation_apply(&p, i);
        good = image < count && !seen[image];
        uint64_t run[9];
        const uint32_t length = (uint32_t)(count - i < 9 ? count - i : i % 9);
        sl_permutation_apply_run(&p, i, length, run);
        for (uint32_t k = 0; k < length && good; k++) {
            good = run[k] == sl_permutation_apply(&p, i + k);
        }
        if (good && (count < 600 || i % 7 == 0)) {
            good = sl_permutation_invert(&p, image) == i;
        }
        if (good) {
            seen[image] = 1;
        }
    }
    free(seen);
    return good;
}

TEST(every_count_is_a_bijection)
{
    for (uint64_t count = 1; count <= 3000; count += count < TEST_AMOUNT(400U, 1U) ? 1 : 7) {
        assert_true(is_bijection(count, count * 77));
    }
    for (uint64_t count = 1; count <= 150; count += TEST_AMOUNT(1, 7)) {
        for (uint64_t key = 0; key < 16; key++) {
            assert_true(is_bijection(count, key << 60 | key));
        }
    }
    static const uint64_t larger[] = {4095, 4096, 4097, 65521, 65536, 65537, 99991};
    for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++) {
        assert_true(is_bijection(larger[i], UINT64_MAX - i));
    }
}

/* Compares every level with the one-by-one network: where an image exceeds the count, the walk
 * continues. */
static void check_kernel(const sl_permutation_kernel *kernel, const sl_permutation *p,
                         uint64_t first)
{
    uint64_t l[SL_PERMUTATION_LANES_MAX];
    uint64_t r[SL_PERMUTATION_LANES_MAX];
    uint64_t images[SL_PERMUTATION_LANES_MAX + 1] = {0};
    assert_true(kernel->lanes <= SL_PERMUTATION_LANES_MAX);
    images[kernel->lanes] = 77;
    for (uint32_t k = 0; k < kernel->lanes; k++) {
        l[k] = (first + k) % p->count % p->left;
        r[k] = (first + k) % p->count / p->left;
    }
    kernel->forward(p, l, r, images);
    assert_true(images[kernel->lanes] == 77);
    for (uint32_t k = 0; k < kernel->lanes; k++) {
        assert_true(images[k] < p->left * p->right);
        if (images[k] < p->count) {
            assert_true(images[k] == sl_permutation_apply(p, (first + k) % p->count));
        }
    }
}

TEST(every_level_gives_the_same_images)
{
    uint32_t kernels = 0;
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        const sl_permutation_kernel *kernel = sl_permutation_kernel_of((sl_simd)level);
        if (kernel == NULL) {
            continue;
        }
        kernels++;
        for (uint64_t count = 1; count < (uint64_t)1 << 62; count += count / 5 + 1) {
            const sl_permutation p = sl_permutation_make(count, count * 0x9E3779B97F4A7C15U);
            check_kernel(kernel, &p, 0);
            check_kernel(kernel, &p, count / 3);
            check_kernel(kernel, &p, count - 1);
        }
        const sl_permutation largest = sl_permutation_make((uint64_t)1 << 62, UINT64_MAX);
        check_kernel(kernel, &largest, 0);
        check_kernel(kernel, &largest, ((uint64_t)1 << 62) - SL_PERMUTATION_LANES_MAX);
    }
    assert_true(kernels > 0 || sl_simd_best() < SL_SIMD_AVX2);
}

/* Runs longer than a kernel's batch, starting anywhere in a row of `left`. */
TEST(runs_of_any_length_are_those_of_single_indexes)
{
    static uint64_t run[1000];
    const sl_permutation p = sl_permutation_make(99991, 4);
    for (uint32_t length = 0; length <= 200; length += length < 140 ? 1 : 20) {
        const uint64_t first = (uint64_t)length * 490;
        run[length] = 77;
        sl_permutation_apply_run(&p, first, length, run);
        assert_true(run[length] == 77);
        for (uint32_t i = 0; i < length; i++) {
            assert_true(run[i] == sl_permutation_apply(&p, first + i));
        }
    }
    sl_permutation_apply_run(&p, 98991, 1000, run);
    assert_true(run[999] == sl_permutation_apply(&p, 99990));
}

TEST(none_is_one)
{
    const sl_permutation p = sl_permutation_make(0, 3);
    assert_true(p.count == 1);
    assert_true(sl_permutation_apply(&p, 0) == 0);
}

TEST(huge_counts_work_at_once)
{
    static const uint64_t counts[] = {(uint64_t)1 << 40,       ((uint64_t)1 << 40) + 1,
                                      ((uint64_t)1 << 61) - 1, ((uint64_t)1 << 62) - 1,
                                      (uint64_t)1 << 62,       (uint64_t)3037000500 * 1000000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const sl_permutation p = sl_permutation_make(counts[i], i);
        uint64_t sum_of_octants = 0;
        for (uint64_t k = 0; k < 4096; k++) {
            /* both ends and everything between */
            const uint64_t index = k % 2 ? k / 2 : counts[i] - 1 - k * (counts[i] / 4096);
            const uint64_t image = sl_permutation_apply(&p, index);
            assert_true(image < counts[i]);
            assert_true(sl_permutation_invert(&p, image) == index);
            sum_of_octants += image / (counts[i] / 8);
        }
        assert_in_range(sum_of_octants, 4096 * 3, 4096 * 4); /* the mean is 3.5 */
    }
}

/* The ratio of the domain to the count bounds the length of the walk. */
TEST(the_domain_is_hardly_larger)
{
    for (uint64_t count = 1; count < ((uint64_t)1 << 62); count += count / 3 + 1) {
        const sl_permutation p = sl_permutation_make(count, 1);
        const double over = (double)(p.left * p.right - count) / (double)count;
        assert_true(p.left * p.right >= count);
        assert_true(over <= 2 / sqrt((double)count) + 1 / (double)count + 1e-15);
    }
}

/* From another implementation in another language, with integers of any size. */
TEST(images_are_what_they_always_were)
{
    static const struct {
        uint64_t count, key, images[5]; /* of 0, 1, 2, count / 2, count - 1 */
    } known[] = {
        {10, 1, {8, 9, 1, 0, 7}},
        {1000, 0xDEADBEEF, {923, 422, 181, 180, 689}},
        {1281167, 20240601, {426737, 921846, 299154, 1150962, 1231096}},
        {(uint64_t)1 << 40,
         7,
         {930526044131, 986680278468, 389085360302, 799394763860, 555857583345}},
        {(uint64_t)1 << 62,
         9,
         {2662683022008531152, 313548758736219174, 974447231796345157, 2512412008855565661,
          3973097779361666452}},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const uint64_t count = known[i].count;
        const uint64_t indexes[5] = {0, 1, 2, count / 2, count - 1};
        const sl_permutation p = sl_permutation_make(count, known[i].key);
        for (size_t k = 0; k < 5; k++) {
            assert_true(sl_permutation_apply(&p, indexes[k]) == known[i].images[k]);
        }
    }
}

/* Returns the rank of the arrangement among all factorial(count): Lehmer's code. */
static size_t rank_of(const sl_permutation *p)
{
    uint64_t images[8];
    for (uint64_t i = 0; i < p->count; i++) {
        images[i] = sl_permutation_apply(p, i);
    }
    size_t rank = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        size_t smaller_later = 0;
        for (uint64_t k = i + 1; k < p->count; k++) {
            smaller_later += images[k] < images[i];
        }
        rank = rank * (size_t)(p->count - i) + smaller_later;
    }
    return rank;
}

TEST_UNSANITIZED(all_arrangements_are_as_likely)
{
    static const char *const names[] = {"all 2", "all 6", "all 24", "all 120", "all 720"};
    size_t arrangements = 1;
    for (uint64_t count = 2; count <= 6; count++) {
        arrangements *= count;
        const size_t keys = arrangements * 150;
        unsigned bins[720] = {0};
        for (uint64_t key = 0; key < keys; key++) {
            const sl_permutation p = sl_permutation_make(count, key);
            bins[rank_of(&p)]++;
        }
        expect_chance(names[count - 2], bins, arrangements, (double)arrangements - 1, 150);
    }
}

TEST_UNSANITIZED(every_index_goes_everywhere)
{
    enum { COUNT = 37, CELL_COUNT = COUNT * COUNT, KEYS = 8000 };
    static unsigned bins[CELL_COUNT];
    for (uint64_t key = 0; key < KEYS; key++) {
        const sl_permutation p = sl_permutation_make(COUNT, key * 0x100000001);
        for (uint64_t i = 0; i < COUNT; i++) {
            bins[i * COUNT + sl_permutation_apply(&p, i)]++;
        }
    }
    /* Each permutation fills one cell of each row and column: with (n-1)^2 degrees of freedom the
     * sum must be scaled by (n-1)/n. */
    const double freedom = (COUNT - 1) * (COUNT - 1);
    const double scaled = chi_square(bins, CELL_COUNT, (double)KEYS / COUNT) * (COUNT - 1) / COUNT;
    print_message("places: chi-square %.1f, %.0f degrees of freedom\n", scaled, freedom);
    assert_true(scaled > chi_square_limit(freedom, -1) && scaled < chi_square_limit(freedom, 1));
}

static bool is_odd(const sl_permutation *p)
{
    bool seen[81] = {false};
    unsigned even_cycles = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        unsigned length = 0;
        for (uint64_t at = i; !seen[at]; at = sl_permutation_apply(p, at)) {
            seen[at] = true;
            length++;
        }
        even_cycles += length > 0 && length % 2 == 0;
    }
    return even_cycles % 2 == 1;
}

/* Odd and even permutations are equally common, for odd squares too, where each round of a network
 * with two odd sides would be even. */
TEST_UNSANITIZED(both_parities_occur)
{
    static const uint64_t counts[] = {9, 16, 25, 27, 49, 50, 81};
    enum { KEYS = 4000 };
    for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
        unsigned odd = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            const sl_permutation p = sl_permutation_make(counts[n], key);
            odd += is_odd(&p);
        }
        assert_in_range(odd, KEYS / 2 - 155, KEYS / 2 + 155); /* 4.9 standard deviations */
    }
}

/* A random permutation has one fixed point on average, with a variance of one. */
TEST_UNSANITIZED(fixed_points_are_as_many_as_by_chance)
{
    enum { KEYS = 4000, COUNT = 101 };
    int fixed = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        const sl_permutation p = sl_permutation_make(COUNT, ~key);
        for (uint64_t i = 0; i < COUNT; i++) {
            fixed += sl_permutation_apply(&p, i) == i;
        }
    }
    assert_in_range(fixed, KEYS - 310, KEYS + 310);
}

enum { SIDE = 32, CELLS = SIDE * SIDE };

static size_t cell(uint64_t a, uint64_t b, uint64_t count)
{
    return (size_t)(a * SIDE / count) * SIDE + (size_t)(b * SIDE / count);
}

TEST_UNSANITIZED(neighbours_part)
{
    enum { COUNT = 1000003, TAKEN = 200000 };
    static unsigned pairs[CELLS];
    static unsigned strides[CELLS];
    static unsigned steps[CELLS];
    static unsigned epochs[CELLS];
    const sl_permutation p = sl_permutation_make(COUNT, 5);
    const sl_permutation next = sl_permutation_make(COUNT, 6);
    for (uint64_t i = 0; i < TAKEN; i++) {
        const uint64_t a = sl_permutation_apply(&p, i);
        const uint64_t b = sl_permutation_apply(&p, i + 1);
        pairs[cell(a, b, COUNT)]++;
        /* the network's own width: the same column of the next row */
        strides[cell(a, sl_permutation_apply(&p, i + p.left), COUNT)]++;
        steps[(b + COUNT - a) % COUNT * CELLS / COUNT]++;
        epochs[cell(a, sl_permutation_apply(&next, i), COUNT)]++;
    }
    const double expected = (double)TAKEN / CELLS;
    expect_chance("neighbours", pairs, CELLS, CELLS - 1, expected);
    expect_chance("rows of the network", strides, CELLS, CELLS - 1, expected);
    expect_chance("steps", steps, CELLS, CELLS - 1, expected);
    expect_chance("neighbouring keys", epochs, CELLS, CELLS - 1, expected);
}

TEST_UNSANITIZED(neighbours_are_not_correlated)
{
    enum { TAKEN = 200000 };
    const uint64_t count = (uint64_t)1 << 40;
    const sl_permutation p = sl_permutation_make(count, 1);
    double products = 0;
    double before = 0;
    const double half = (double)count * 0.5;
    for (uint64_t i = 0; i < TAKEN; i++) {
        /* uniform in [-1, 1): variance 1/3, products of neighbours 1/9 */
        const double here = (double)sl_permutation_apply(&p, i) / half - 1;
        products += here * before;
        before = here;
    }
    const double correlation = products / TAKEN * 3;
    print_message("serial correlation %.5f\n", correlation);
    assert_true(fabs(correlation) < 4.9 / sqrt(TAKEN));
}
