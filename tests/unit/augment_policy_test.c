/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies: rejected arguments and their messages, the meaning of timm's strings, and draws that
 * stay within their bounds and never change. augment_policy_model.py checks values and frequencies.
 */
#include "policies.h"
#include "policy_timm.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static sl_timm_policy parsed(const char *text)
{
    sl_timm_policy policy;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_timm_parse(&policy, text, &error) != SLUICE_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return policy;
}

TEST(strings_of_timm)
{
    sl_timm_policy p = parsed("rand-m9-mstd0.5-inc1");
    assert_int_equal(p.kind, SL_TIMM_RAND);
    assert_int_equal(p.set, SL_TIMM_INCREASING);
    assert_true(p.magnitude == 9 && p.deviation == 0.5 && p.num_ops == 2 && p.probability == 0.5);
    assert_true(p.magnitude_max == 10 && p.translation == 0.45);
    assert_int_equal(p.interpolation, SL_POLICY_RANDOM);
    assert_true(p.fill[0] == 124 && p.fill[1] == 116 && p.fill[2] == 104);
    p = parsed("rand-m15-n3-mmax20-p0.25");
    assert_true(p.set == SL_TIMM_ALL && p.magnitude == 15 && p.num_ops == 3);
    assert_true(p.magnitude_max == 20 && p.probability == 0.25 && p.deviation == 0);
    p = parsed("rand");
    assert_true(p.set == SL_TIMM_ALL && p.magnitude == 10 && p.num_ops == 2);
    assert_true(isinf(parsed("rand-mstd101").deviation));
    assert_true(parsed("rand-mstd100").deviation == 100);
    assert_int_equal(parsed("rand-mstd1-w0").set, SL_TIMM_OLD_WEIGHTS);
    assert_int_equal(parsed("rand-w0-inc1").set, SL_TIMM_OLD_WEIGHTS_INCREASING);
    assert_int_equal(parsed("rand-mstd1-tweights").set, SL_TIMM_WEIGHTS);
    assert_int_equal(parsed("rand-t3a-inc1").set, SL_TIMM_3A);
    assert_int_equal(parsed("rand-t3aw").set, SL_TIMM_3A_WEIGHTS);
    p = parsed("augmix-m5-w4-d2");
    assert_true(p.kind == SL_TIMM_AUG_MIX && p.magnitude == 5 && p.width == 4 && p.depth == 2);
    assert_true(isinf(p.deviation) && p.alpha == 1 && !p.blended && p.translation == 0.3);
    p = parsed("augmix-a0.5-b1-mstd101");
    assert_true(p.magnitude == 3 && p.width == 3 && p.depth == 0);
    assert_true(p.alpha == 0.5 && p.blended && p.deviation == 101);
    assert_int_equal(parsed("v0").set, SL_TIMM_V0);
    assert_int_equal(parsed("v0r").set, SL_TIMM_V0_R);
    assert_int_equal(parsed("originalr").set, SL_TIMM_ORIGINAL_R);
    assert_int_equal(parsed("3a").set, SL_TIMM_3_AUGMENT);
    p = parsed("original-mstd0.5");
    assert_true(p.kind == SL_TIMM_AUTO && p.set == SL_TIMM_ORIGINAL && p.deviation == 0.5);
}

static void refuses(const char *text, const char *words)
{
    sl_timm_policy policy;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_timm_parse(&policy, text, &error), SLUICE_INVALID);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is refused with \"%s\", without \"%s\"", text, error.text, words);
    }
    assert_int_equal(sl_timm_parse(&policy, text, NULL), SLUICE_INVALID);
}

TEST(strings_that_are_refused)
{
    refuses("", "empty");
    refuses("-", "unknown timm policy \"\"");
    refuses("RAND-m9", "unknown timm policy \"RAND\": expected rand, augmix");
    refuses("rand ", "unknown timm policy \"rand \"");
    refuses("random", "unknown timm policy \"random\"");
    refuses("v1", "unknown timm policy \"v1\"");
    refuses("r\xc3\xa4nd-m9", "unknown timm policy \"r\xc3\xa4nd\"");
    refuses("\xff\xfe", "unknown timm policy \"\\xff\\xfe\"");
    refuses("rand-", "\"rand-\" has a dash that nothing follows");
    refuses("rand--m9", "dash that nothing");
    refuses("rand-m9-", "dash that nothing");
    refuses("rand-m", "\"m\": m takes a whole number from 0 to 100");
    refuses("rand-m9-x3", "unknown part \"x3\": rand has m, n, p");
    refuses("rand-9", "unknown part \"9\"");
    refuses("rand-M9", "unknown part \"M9\"");
    refuses("rand-m9 ", "\"m9 \": m takes");
    refuses("rand-m9.5", "\"m9.5\": m takes a whole");
    refuses("rand-m101", "\"m101\": m takes");
    refuses("rand-m99999999999999999999999999999999999999", "m takes");
    refuses("rand-m0x9", "m takes");
    refuses("rand-m1e1", "m takes");
    refuses("rand-m\xd9\xa9", "unknown part \"m\xd9\xa9\"");
    refuses("rand-m9-m9", "\"m9\" sets m a second time");
    refuses("rand-n0", "n takes a whole number from 1 to 16");
    refuses("rand-n17", "n takes");
    refuses("rand-p1.01", "p takes a number from 0 to 1");
    refuses("rand-p0.5.", "p takes");
    refuses("rand-pnan", "unknown part \"pnan\"");
    refuses("rand-mstdinf", "unknown part \"mstdinf\"");
    refuses("rand-mstd", "\"mstd\": mstd takes");
    refuses("rand-mstd.5", "unknown part \"mstd.5\"");
    refuses("rand-mstd1000001", "mstd takes");
    refuses("rand-mmax0", "mmax takes");
    refuses("rand-inc0", "\"inc0\": inc takes 1 (timm reads any number as 1)");
    refuses("rand-w1", "\"w1\": w takes 0");
    refuses("rand-w0-tweights", "w and t both choose the weights");
    refuses("rand-w0-n14", "without replacement");
    refuses("rand-tweights-n16", "without replacement");
    refuses("rand-t3aw-n15", "without replacement");
    refuses("rand-t", "\"t\": t takes weights, 3a or 3aw");
    refuses("rand-tfoo", "\"tfoo\": t takes");
    refuses("rand-d2", "unknown part \"d2\": rand has");
    refuses("augmix-n2", "unknown part \"n2\": augmix has m, w, d");
    refuses("augmix-w0", "w takes a whole number from 1 to 8");
    refuses("augmix-w9", "w takes");
    refuses("augmix-d9", "d takes");
    refuses("augmix-d-1", "\"d\": d takes");
    refuses("augmix-a0", "a takes a number from 0.001");
    refuses("augmix-b0", "b takes 1");
    refuses("original-m9", "unknown part \"m9\": this policy has mstd");
    refuses("3a-inc1", "unknown part \"inc1\": this policy");
}

TEST(long_strings)
{
    static char text[10 << 10];
    memset(text, '9', sizeof(text) - 1);
    refuses(text, "more than 200 characters");
    memcpy(text, "rand-m", 6);
    refuses(text, "more than 200 characters");
    text[SL_TIMM_TEXT_MAX] = '\0';
    refuses(text, "m takes");
    memset(text + 6, '0', SL_TIMM_TEXT_MAX - 7);
    assert_int_equal(parsed(text).magnitude, 9);
}

static void hand_made(sl_timm_policy policy, const char *words)
{
    const char *refusal = sl_timm_refusal(&policy);
    assert_true(refusal != NULL && strstr(refusal, words) != NULL);
}

TEST(policies_of_timm_made_by_hand)
{
    const sl_timm_policy good = parsed("rand");
    assert_null(sl_timm_refusal(&good));
    sl_timm_policy p = good;
    p.probability = (double)NAN;
    hand_made(p, "probability");
    p = good;
    p.deviation = (double)NAN;
    hand_made(p, "deviation");
    p = good;
    p.translation = (double)NAN;
    hand_made(p, "translation");
    p = good;
    p.magnitude = 101;
    hand_made(p, "magnitudes");
    p = good;
    p.interpolation = 4;
    hand_made(p, "interpolation");
    p = good;
    p.set = SL_TIMM_V0;
    hand_made(p, "unknown set of operations");
    p = good;
    p.kind = SL_TIMM_AUTO;
    hand_made(p, "unknown policy of sub-policies");
}

static void check_choice(const sl_policy_choice *c, uint32_t width, uint32_t height)
{
    assert_true(c->op < SL_OPS && policy_op_name(c->op)[0] != '\0');
    assert_true(c->interpolation < SL_POLICY_RANDOM);
    assert_true(isfinite(c->value));
    assert_true(c->op != SL_OP_POSTERIZE || (c->value >= 0 && c->value <= 8));
    assert_true(c->op != SL_OP_SOLARIZE || (c->value >= 0 && c->value <= 256));
    assert_true(c->op != SL_OP_TRANSLATE_X || fabs(c->value) <= 5.0 * width + 32);
    assert_true(c->op != SL_OP_TRANSLATE_Y || fabs(c->value) <= 5.0 * height + 32);
}

TEST(pictures_of_all_sizes)
{
    static const uint32_t sizes[][2] = {{1, 1}, {1, 65535}, {224, 224}, {65535, 65535}};
    const sl_rand_augment rand_config = {16, 30, 31, SL_POLICY_NEAREST, {0}};
    const sl_trivial_augment trivial = TRIVIAL_AUGMENT_PRESET;
    const sl_aug_mix mix_config = {10, 8, 8, 1e-3, true, SL_POLICY_BICUBIC, {1, 2, 3}};
    const sl_timm_policy timm = parsed("rand-m100-mmax100-n16-p1-mstd50");
    for (uint32_t i = 0; i < 4000; i++) {
        const uint32_t width = sizes[i % 4][0];
        const uint32_t height = sizes[i % 4][1];
        sl_random random = sl_random_for(1, 2, i, 3);
        sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
        assert_int_equal(sl_rand_augment_draw(&rand_config, width, height, &random, choices), 16);
        for (uint32_t k = 0; k < 16; k++) {
            check_choice(&choices[k], width, height);
        }
        assert_int_equal(sl_trivial_augment_draw(&trivial, width, height, &random, choices), 1);
        check_choice(&choices[0], width, height);
        assert_int_equal(sl_timm_draw(&timm, width, height, &random, choices), 16);
        for (uint32_t k = 0; k < 16; k++) {
            check_choice(&choices[k], width, height);
        }
        static sl_policy_mix mix;
        sl_aug_mix_draw(&mix_config, width, height, &random, &mix);
        assert_int_equal(mix.width, 8);
        for (uint32_t k = 0; k < 8; k++) {
            assert_true(mix.chains[k].weight >= 0 && mix.chains[k].weight <= 1);
            assert_int_equal(mix.chains[k].count, 8);
            check_choice(&mix.chains[k].choices[7], width, height);
            assert_int_equal(mix.chains[k].choices[7].fill[2], 3);
        }
    }
}

/* Also with fractions of 0 and 1: no weight is outside 0..1, and a fraction of 1 gives only the
 * last image. */
TEST(blends_at_their_ends)
{
    const sl_timm_policy policy = parsed("augmix-a0.001-w8-b1");
    for (uint32_t i = 0; i < 20000; i++) {
        sl_random random = sl_random_for(5, 5, i, 5);
        static sl_policy_mix mix;
        sl_timm_mix_draw(&policy, 10, 10, &random, &mix);
        for (uint32_t k = 0; k < 8; k++) {
            assert_true(mix.chains[k].weight >= 0 && mix.chains[k].weight <= 1);
        }
    }
}

static uint64_t mixed_in(uint64_t hash, const sl_policy_choice *choices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &choices[i].value, sizeof(bits));
        hash = sl_philox_u64(hash, bits, choices[i].op * 16U + choices[i].interpolation);
    }
    return sl_philox_u64(hash, count, 0);
}

/* Runs must be repeatable with later versions and on other machines. */
TEST(draws_stay)
{
    const sl_rand_augment rand_config = RAND_AUGMENT_PRESET;
    const sl_trivial_augment trivial = TRIVIAL_AUGMENT_PRESET;
    const sl_auto_augment auto_config = AUTO_AUGMENT_PRESET;
    const sl_aug_mix mix_config = AUG_MIX_PRESET;
    const sl_timm_policy timm = parsed("rand-m9-mstd0.5-inc1");
    uint64_t hashes[5] = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        sl_random random = sl_random_for(42, 1, i, 4);
        sl_policy_choice c[SL_POLICY_CHOICES_MAX];
        hashes[0] =
            mixed_in(hashes[0], c, sl_rand_augment_draw(&rand_config, 224, 224, &random, c));
        hashes[1] = mixed_in(hashes[1], c, sl_trivial_augment_draw(&trivial, 224, 224, &random, c));
        hashes[2] =
            mixed_in(hashes[2], c, sl_auto_augment_draw(&auto_config, 224, 224, &random, c));
        hashes[3] = mixed_in(hashes[3], c, sl_timm_draw(&timm, 224, 224, &random, c));
        static sl_policy_mix mix;
        sl_aug_mix_draw(&mix_config, 224, 224, &random, &mix);
        for (uint32_t k = 0; k < mix.width; k++) {
            hashes[4] = mixed_in(hashes[4], mix.chains[k].choices, mix.chains[k].count);
        }
    }
    static const uint64_t expected[5] = {0x4b8c6439e0d7d40e, 0x64288cd67f3a8690, 0x6e67ab232ec1ad2c,
                                         0x9924a5c79a4870db, 0xa8cd31ab480625e1};
    for (uint32_t k = 0; k < 5; k++) {
        if (hashes[k] != expected[k]) {
            fail_msg("policy %u: 0x%016llx", k, (unsigned long long)hashes[k]);
        }
    }
}
