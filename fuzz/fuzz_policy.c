/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_policy: timm's policy strings. If accepted, a policy is in range and can be drawn from;
 * otherwise there is an error message. Input: the string. */
#include "fuzz.h"

#include "policy_timm.h"

#include <math.h>
#include <string.h>

static void check_drawn(const sl_policy_choice *choices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fuzz_expect(choices[i].op < SL_OPS, "an operation is one");
        fuzz_expect(isfinite(choices[i].value), "a value is a number");
        fuzz_expect(choices[i].interpolation < SL_POLICY_RANDOM, "interpolation is drawn");
    }
}

static void draw(const sl_timm_policy *policy)
{
    sl_random random = sl_random_for(1, 2, 3, 4);
    if (policy->kind == SL_TIMM_AUG_MIX) {
        static sl_policy_mix mix;
        sl_timm_mix_draw(policy, 224, 1, &random, &mix);
        fuzz_expect(mix.width >= 1 && mix.width <= SL_POLICY_WIDTH_MAX, "chains have space");
        for (uint32_t i = 0; i < mix.width; i++) {
            const sl_policy_chain *chain = &mix.chains[i];
            fuzz_expect(chain->weight >= 0 && chain->weight <= 1, "a weight is one");
            fuzz_expect(chain->count <= SL_POLICY_DEPTH_MAX, "choices have space");
            check_drawn(chain->choices, chain->count);
        }
        return;
    }
    sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
    const uint32_t count = sl_timm_draw(policy, 224, 1, &random, choices);
    fuzz_expect(count <= SL_POLICY_CHOICES_MAX, "choices have space");
    check_drawn(choices, count);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    /* a copy of exact size, so that an overread is detected */
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "a megabyte of memory");
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    sl_timm_policy policy;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_timm_parse(&policy, text, &error) == SLUICE_OK) {
        fuzz_expect(sl_timm_refusal(&policy) == NULL, "an accepted policy is in range");
        draw(&policy);
    } else {
        fuzz_expect(error.text[0] != '\0', "a refusal has a sentence");
    }
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char *const seeds[] = {"rand-m9-n3-mstd0.5-inc1",
                                        "rand-m15-mmax20-p0.25",
                                        "rand-mstd101-w0",
                                        "rand-t3aw-n14",
                                        "rand-tweights-n15-p1",
                                        "augmix-m5-w4-d2-a0.5-b1",
                                        "augmix-mstd0",
                                        "original-mstd0.5",
                                        "originalr",
                                        "v0",
                                        "v0r-mstd1000",
                                        "3a-mstd2"};
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    memcpy(buffer, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
