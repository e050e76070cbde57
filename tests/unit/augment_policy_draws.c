/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_policy_draws: prints draws of policies for augment_policy_model.py, which checks them.
 * Each line of standard input is a question, KIND WIDTH HEIGHT DRAWS ARGUMENT...; the answer is one
 * line per draw, then a dot. A draw is a list of choices "Op,value,interpolation". A draw of a mix
 * begins with "rule original blend" and has "| weight" before each chain.
 * KIND "table" prints the first DRAWS pairs of AutoAugment table ARGUMENT instead: "Op,tenths of
 * probability,level".
 */
#include "policies.h"
#include "policy_tables.h"
#include "policy_timm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 4 };

typedef struct question {
    const char *kind, *text;
    uint32_t width, height, draws;
    double arguments[ARGUMENTS];
} question;

static void print_choices(const sl_policy_choice *choices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        printf("%s%s,%.17g,%u", i == 0 ? "" : " ", policy_op_name(choices[i].op), choices[i].value,
               choices[i].interpolation);
    }
}

static void print_mix(const sl_policy_mix *mix)
{
    printf("%d %.9g %.9g", (int)mix->rule, (double)mix->original, (double)mix->blend);
    for (uint32_t i = 0; i < mix->width; i++) {
        printf(" | %.9g ", (double)mix->chains[i].weight);
        print_choices(mix->chains[i].choices, mix->chains[i].count);
    }
}

static void refused(const char *refusal)
{
    if (refusal != NULL) {
        fprintf(stderr, "refused: %s\n", refusal);
        exit(EXIT_FAILURE);
    }
}

static sl_timm_policy parsed(const char *text)
{
    sl_timm_policy policy;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_timm_parse(&policy, text, &error) != SLUICE_OK) {
        refused(error.text);
    }
    return policy;
}

static uint32_t draw_choices(const question *q, sl_random *random, sl_policy_choice *choices)
{
    const double *a = q->arguments;
    if (strcmp(q->kind, "rand") == 0) {
        sl_rand_augment config = RAND_AUGMENT_PRESET;
        config.num_ops = (uint32_t)a[0];
        config.magnitude = (uint32_t)a[1];
        config.num_magnitude_bins = (uint32_t)a[2];
        return sl_rand_augment_draw(&config, q->width, q->height, random, choices);
    }
    if (strcmp(q->kind, "trivial") == 0) {
        sl_trivial_augment config = TRIVIAL_AUGMENT_PRESET;
        config.num_magnitude_bins = (uint32_t)a[0];
        return sl_trivial_augment_draw(&config, q->width, q->height, random, choices);
    }
    if (strcmp(q->kind, "auto") == 0) {
        sl_auto_augment config = AUTO_AUGMENT_PRESET;
        config.policy = (uint32_t)a[0];
        return sl_auto_augment_draw(&config, q->width, q->height, random, choices);
    }
    const sl_timm_policy policy = parsed(q->text);
    return sl_timm_draw(&policy, q->width, q->height, random, choices);
}

static void draw_mix(const question *q, sl_random *random, sl_policy_mix *mix)
{
    const double *a = q->arguments;
    if (strcmp(q->kind, "timm-mix") == 0) {
        const sl_timm_policy policy = parsed(q->text);
        sl_timm_mix_draw(&policy, q->width, q->height, random, mix);
        return;
    }
    sl_aug_mix config = AUG_MIX_PRESET;
    config.severity = (uint32_t)a[0];
    config.mixture_width = (uint32_t)a[1];
    config.chain_depth = (int32_t)a[2];
    config.all_ops = a[3] != 0;
    sl_aug_mix_draw(&config, q->width, q->height, random, mix);
}

static void print_pair(const question *q, uint32_t number)
{
    static const sl_auto_pair *const tables[] = {sl_auto_imagenet, sl_auto_cifar10, sl_auto_svhn,
                                                 sl_auto_v0};
    const sl_auto_part *parts = tables[(uint32_t)q->arguments[0]][number];
    for (uint32_t i = 0; i < SL_POLICY_PARTS; i++) {
        printf("%s%s,%u,%u", i == 0 ? "" : " ", policy_op_name(parts[i].op), parts[i].tenths,
               parts[i].level);
    }
}

static void answer(const question *q)
{
    for (uint32_t i = 0; i < q->draws; i++) {
        sl_random random = sl_random_for(7, 0, i, 3);
        if (strcmp(q->kind, "table") == 0) {
            print_pair(q, i);
            putchar('\n');
            continue;
        }
        if (strstr(q->kind, "mix") != NULL) {
            static sl_policy_mix mix;
            draw_mix(q, &random, &mix);
            print_mix(&mix);
        } else {
            sl_policy_choice choices[SL_POLICY_CHOICES_MAX];
            print_choices(choices, draw_choices(q, &random, choices));
        }
        putchar('\n');
    }
    printf(".\n");
    (void)fflush(stdout);
}

/* False if the line is incomplete. */
static bool read_question(char *line, question *q)
{
    char *rest = NULL;
    const char *kind = strtok_r(line, " \n", &rest);
    double numbers[3 + ARGUMENTS] = {0};
    uint32_t count = 0;
    for (const char *word = strtok_r(NULL, " \n", &rest); word != NULL && count < 3 + ARGUMENTS;
         word = strtok_r(NULL, " \n", &rest)) {
        q->text = word; /* the last word, if it matters */
        numbers[count++] = strtod(word, NULL);
    }
    q->kind = kind;
    q->width = (uint32_t)numbers[0];
    q->height = (uint32_t)numbers[1];
    q->draws = (uint32_t)numbers[2];
    memcpy(q->arguments, numbers + 3, sizeof(q->arguments));
    return kind != NULL && count > 3;
}

int main(void)
{
    char line[512];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        question q = {0};
        if (!read_question(line, &q)) {
            return EXIT_FAILURE;
        }
        answer(&q);
    }
    return EXIT_SUCCESS;
}
