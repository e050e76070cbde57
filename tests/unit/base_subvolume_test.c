/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of tensors that are read, against a model that visits every element. For any shape,
 * part, dtype and number of dimensions, the pieces are exactly the box, the box contains the part,
 * and by the rule no other split would have been better.
 */
#include "philox.h"
#include "subvolume.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 800, ELEMENTS_MAX = 60000 };

static sl_random chance;

typedef struct setting {
    sl_subvolume taken;
    uint64_t whole[SLUICE_TENSOR_DIMS_MAX];
    uint64_t elements, needed; /* elements of the tensor; of the part */
} setting;

static setting any_setting(void)
{
    static const uint32_t sizes[] = {1, 2, 4, 8};
    setting s = {.elements = 1, .needed = 1};
    s.taken.dims = 1 + sl_random_below(&chance, 5);
    s.taken.element_bytes = sizes[sl_random_below(&chance, 4)];
    s.taken.part = SLUICE_PART_CENTER + (int)sl_random_below(&chance, 2);
    for (uint32_t i = 0; i < s.taken.dims; i++) {
        uint64_t most = ELEMENTS_MAX / s.elements;
        most = most > 300 ? 300 : most;
        s.whole[i] = 1 + sl_random_below(&chance, (uint32_t)most);
        const bool all = sl_random_below(&chance, 3) == 0;
        s.taken.shape[i] = all ? s.whole[i] : 1 + sl_random_below(&chance, (uint32_t)s.whole[i]);
        s.elements *= s.whole[i];
        s.needed *= s.taken.shape[i];
    }
    return s;
}

/* True if element `number` of the tensor is in the box [begin, begin + shape). */
static bool is_in(const setting *s, uint64_t number, const uint64_t *begin, const uint64_t *shape)
{
    for (uint32_t i = s->taken.dims; i > 0; i--) {
        const uint64_t at = number % s->whole[i - 1];
        number /= s->whole[i - 1];
        if (at < begin[i - 1] || at - begin[i - 1] >= shape[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Lists the elements of the pieces, in order; returns their number. */
static uint64_t list_pieces(const setting *s, const sl_box *box, const uint64_t *begin,
                            uint64_t *elements)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < box->pieces; i++) {
        const sl_piece piece = sl_subvolume_piece(&s->taken, s->whole, box, begin, i);
        assert_true(piece.count == 1 || piece.stride >= piece.bytes);
        for (uint32_t k = 0; k < piece.count; k++) {
            const uint64_t offset = piece.offset + (uint64_t)k * piece.stride;
            assert_int_equal(offset % s->taken.element_bytes, 0);
            for (uint32_t b = 0; b < piece.bytes; b += s->taken.element_bytes) {
                assert_true(count < s->elements);
                elements[count++] = (offset + b) / s->taken.element_bytes;
            }
        }
    }
    return count;
}

/* The box of a possible split: bytes, runs, and their cost. */
typedef struct model {
    uint64_t bytes, runs, cost;
} model;

static model model_of(const setting *s, uint32_t split)
{
    model m = {.bytes = s->taken.element_bytes, .runs = 1};
    for (uint32_t i = 0; i < s->taken.dims; i++) {
        m.bytes *= i < split ? s->taken.shape[i] : s->whole[i];
        m.runs *= i + 1 < split ? s->taken.shape[i] : 1;
    }
    m.cost = m.bytes + m.runs * 4096;
    if (split < 2) {
        return m;
    }
    /* From the end of a run to the start of the next. */
    uint64_t gap = (s->whole[split - 1] - s->taken.shape[split - 1]) * s->taken.element_bytes;
    for (uint32_t i = split; i < s->taken.dims; i++) {
        gap *= s->whole[i];
    }
    const uint64_t calls = m.runs / s->taken.shape[split - 2];
    if (gap <= 4096) {
        m.cost = m.bytes + calls * 4096 + (m.runs - calls) * (gap + 256);
    }
    return m;
}

static void check_choice(const setting *s, const sl_box *box)
{
    const uint64_t needed = s->needed * s->taken.element_bytes;
    uint64_t least = UINT64_MAX;
    uint64_t least_near = UINT64_MAX;
    for (uint32_t split = 1; split <= s->taken.dims; split++) {
        const model m = model_of(s, split);
        least = m.cost < least ? m.cost : least;
        if (m.bytes * 5 <= needed * 6) {
            least_near = m.cost < least_near ? m.cost : least_near;
        }
    }
    const uint64_t all = s->elements * s->taken.element_bytes;
    const bool near_pays = least_near <= all * 4 / 5;
    assert_int_equal(box->cost, near_pays ? least_near : least);
    assert_int_equal(box->cost, model_of(s, box->split).cost);
    assert_int_equal(box->bytes, model_of(s, box->split).bytes);
    assert_int_equal((uint64_t)box->count * box->pieces, model_of(s, box->split).runs);
    assert_true(!near_pays || box->bytes * 5 <= needed * 6);
}

static void check_one(uint64_t round)
{
    static uint64_t elements[ELEMENTS_MAX];
    const setting s = any_setting();
    const sl_subvolume_key key = {7, round, round * 3};
    uint64_t begin[SLUICE_TENSOR_DIMS_MAX];
    uint64_t box_begin[SLUICE_TENSOR_DIMS_MAX];
    sl_box box;
    assert_true(sl_subvolume_box(&s.taken, s.whole, &box));
    sl_subvolume_begin(&s.taken, s.whole, &key, begin);
    for (uint32_t i = 0; i < s.taken.dims; i++) {
        assert_true(begin[i] + s.taken.shape[i] <= s.whole[i]);
        box_begin[i] = i < box.split ? begin[i] : 0;
        assert_int_equal(box.shape[i], i < box.split ? s.taken.shape[i] : s.whole[i]);
    }
    check_choice(&s, &box);
    const uint64_t count = list_pieces(&s, &box, begin, elements);
    uint64_t at = 0;
    for (uint64_t i = 0; i < s.elements; i++) {
        const bool in_box = is_in(&s, i, box_begin, box.shape);
        assert_true(in_box || !is_in(&s, i, begin, s.taken.shape));
        if (in_box) {
            assert_true(at < count);
            assert_int_equal(elements[at++], i);
        }
    }
    assert_int_equal(at, count);
    assert_int_equal(box.bytes, count * s.taken.element_bytes);
}

TEST(against_a_model)
{
    chance = sl_random_for(3, 0, 0, 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        check_one(i);
    }
}

TEST(a_large_volume_by_its_rows)
{
    const sl_subvolume taken = {
        .dims = 3, .element_bytes = 4, .part = SLUICE_PART_RANDOM, .shape = {128, 128, 128}};
    const uint64_t whole[SLUICE_TENSOR_DIMS_MAX] = {332, 332, 332};
    sl_box box;
    assert_true(sl_subvolume_box(&taken, whole, &box));
    assert_int_equal(box.split, 3);
    assert_int_equal(box.bytes, 128 * 128 * 128 * 4);
    assert_int_equal(box.pieces, 128);
    assert_int_equal(box.count, 128);
    assert_int_equal(box.stride, 332 * 4);
    /* Nearly whole rows are read whole, and so are planes. */
    const uint64_t narrow[SLUICE_TENSOR_DIMS_MAX] = {332, 332, 150};
    assert_true(sl_subvolume_box(&taken, narrow, &box));
    assert_int_equal(box.split, 2);
    assert_int_equal(box.pieces, 1);
    assert_int_equal(box.count, 128);
    assert_int_equal(box.run_bytes, 128 * 150 * 4);
}

TEST(what_is_no_part)
{
    sl_subvolume taken = {
        .dims = 2, .element_bytes = 8, .part = SLUICE_PART_RANDOM, .shape = {4, 5}};
    sl_box box;
    const uint64_t smaller[SLUICE_TENSOR_DIMS_MAX] = {4, 4};
    const uint64_t none[SLUICE_TENSOR_DIMS_MAX] = {0, 5};
    const uint64_t huge[SLUICE_TENSOR_DIMS_MAX] = {UINT64_MAX, UINT64_MAX};
    const uint64_t large[SLUICE_TENSOR_DIMS_MAX] = {1 << 16, 1 << 12};
    const uint64_t larger[SLUICE_TENSOR_DIMS_MAX] = {4, 6};
    const uint64_t same[SLUICE_TENSOR_DIMS_MAX] = {4, 5};
    assert_false(sl_subvolume_box(&taken, smaller, &box));
    assert_false(sl_subvolume_box(&taken, none, &box));
    assert_false(sl_subvolume_box(&taken, huge, &box));
    assert_false(sl_subvolume_box(&taken, large, &box)); /* 2^31 bytes */
    assert_true(sl_subvolume_box(&taken, larger, &box));
    taken.part = SLUICE_PART_WHOLE;
    assert_false(sl_subvolume_box(&taken, larger, &box));
    assert_true(sl_subvolume_box(&taken, same, &box));
    assert_int_equal(box.bytes, 4 * 5 * 8);
    assert_int_equal(box.pieces * box.count, 1);
}

/* More strided pieces than the maximum: a coarser split. */
TEST(too_many_pieces)
{
    const sl_subvolume taken = {
        .dims = 4, .element_bytes = 8, .part = SLUICE_PART_RANDOM, .shape = {80, 80, 2, 1}};
    const uint64_t whole[SLUICE_TENSOR_DIMS_MAX] = {80, 80, 4, 8000};
    sl_box box;
    assert_true(sl_subvolume_box(&taken, whole, &box));
    assert_true(box.pieces <= SL_SUBVOLUME_PIECES_MAX);
    assert_true(box.split < 4);
}
