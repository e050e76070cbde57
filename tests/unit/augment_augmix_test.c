/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AugMix: all SIMD levels' result of a drawn mix, against its chains executed one by one and summed
 * as policy.h describes; and kernels against their reference, sample by sample.
 */
#include "aug_mix.h"
#include "philox.h"
#include "programs.h"
#include "recipe.h"
#include "test.h"
#include "whole_params.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 67, HEIGHT = 45, BYTES = WIDTH * HEIGHT * 3, DRAWS = 120, ROUNDS = 400, MOST = 200 };

static uint8_t picture[BYTES];

static void fill_picture(uint64_t number)
{
    sl_random random = sl_random_for(4, number, 0, 0);
    for (size_t i = 0; i < BYTES; i++) {
        picture[i] = (uint8_t)(i / 97 * 3 + sl_random_below(&random, 90));
    }
}

/* Applies the operations [first, first + count) of a program to the image. */
static void carry_out(const sl_params *params, const sl_operation *first, uint32_t count,
                      uint8_t *out)
{
    STATIC_PARAMS(part);
    sl_operation *operations = part.operations;
    part = *params;
    part.operation_count = count;
    part.operations = operations;
    memcpy(part.operations, first, count * sizeof(*first));
    program_bytes(&part, SL_SIMD_SCALAR, picture, WIDTH, HEIGHT, out);
}

static uint8_t cut_to_byte(float sum)
{
    return sum <= 0 ? 0 : sum >= 255 ? 255 : (uint8_t)sum;
}

static uint8_t blend_bytes(uint8_t from, uint8_t to, float share)
{
    return (uint8_t)((float)from + share * ((float)to - (float)from));
}

static void mix_by_hand(const sl_params *params, uint8_t *out)
{
    static uint8_t own[BYTES];
    static uint8_t chain_bytes[BYTES];
    static float sums[BYTES];
    const sl_operation *mix = &params->operations[0];
    const sl_mix_rule rule = (sl_mix_rule)mix->values[0];
    const sl_operation *chain = mix + 1;
    carry_out(params, mix, 0, own);
    memcpy(out, own, BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        sums[i] = rule == SL_MIX_SUM ? (float)mix->values[1] * (float)own[i] : 0.0F;
    }
    for (uint32_t k = 0; k < (uint32_t)mix->values[3]; k++) {
        const float weight = (float)chain->values[0];
        carry_out(params, chain + 1, (uint32_t)chain->values[1], chain_bytes);
        for (size_t i = 0; i < BYTES; i++) {
            sums[i] += weight * (float)chain_bytes[i];
            out[i] = blend_bytes(out[i], chain_bytes[i], weight);
        }
        chain += 1 + (uint32_t)chain->values[1];
    }
    for (size_t i = 0; i < BYTES && rule != SL_MIX_BLENDS; i++) {
        const uint8_t sum = cut_to_byte(sums[i]);
        out[i] = rule == SL_MIX_SUM ? sum : blend_bytes(own[i], sum, (float)mix->values[2]);
    }
}

static void check_draws(sluice_augment *recipe)
{
    STATIC_PARAMS(params);
    static uint8_t expected[BYTES];
    static uint8_t made[BYTES];
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_draw_key key = {.seed = 5, .sample = i};
        fill_picture(i);
        assert_int_equal(sl_draw(recipe, &key, WIDTH, HEIGHT, &params, NULL), SLUICE_OK);
        assert_ptr_equal(params.operations[0].kind, &sl_operation_mix);
        mix_by_hand(&params, expected);
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            program_bytes(&params, (sl_simd)level, picture, WIDTH, HEIGHT, made);
            assert_memory_equal(made, expected, BYTES);
        }
    }
    sluice_augment_destroy(recipe);
}

static sluice_augment *sized_recipe(void)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "resize", (const double[]){HEIGHT, WIDTH}, 2),
                     SLUICE_OK);
    return recipe;
}

TEST(mixes_are_their_chains_added_up)
{
    sluice_augment *recipe = sized_recipe();
    assert_int_equal(sluice_augment_add(recipe, "aug_mix", NULL, 0), SLUICE_OK);
    check_draws(recipe);
    static const char *const texts[] = {"augmix-m5-w4-d2", "augmix-m6-w3-b1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        recipe = sized_recipe();
        assert_int_equal(sluice_augment_timm(recipe, texts[i]), SLUICE_OK);
        check_draws(recipe);
    }
}

TEST(kernels_are_the_reference)
{
    sl_random random = sl_random_for(8, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t bytes = 1 + sl_random_below(&random, MOST);
        sl_aug_mixing mixing = {.rule = (sl_mix_rule)(round % 3),
                                .original = (float)sl_random_range(&random, 0, 1),
                                .blend = (float)sl_random_range(&random, 0, 1),
                                .width = 1 + sl_random_below(&random, SL_POLICY_WIDTH_MAX)};
        uint8_t *inputs[SL_POLICY_WIDTH_MAX + 1];
        for (uint32_t k = 0; k <= mixing.width; k++) {
            inputs[k] = malloc(bytes);
            assert_non_null(inputs[k]);
            for (size_t i = 0; i < bytes; i++) {
                inputs[k][i] = (uint8_t)sl_random_below(&random, 256);
            }
        }
        for (uint32_t k = 0; k < mixing.width; k++) {
            mixing.weights[k] = (float)sl_random_range(&random, 0, 1);
        }
        uint8_t expected[MOST];
        sl_aug_mix_scalar(&mixing, inputs[0], (const uint8_t *const *)(inputs + 1), bytes,
                          expected);
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            uint8_t *made = malloc(bytes);
            assert_non_null(made);
            sl_mix_for((sl_simd)level)(&mixing, inputs[0], (const uint8_t *const *)(inputs + 1),
                                       bytes, made);
            assert_memory_equal(made, expected, bytes);
            free(made);
        }
        for (uint32_t k = 0; k <= mixing.width; k++) {
            free(inputs[k]);
        }
    }
}
