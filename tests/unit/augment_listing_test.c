/* SPDX-License-Identifier: Apache-2.0 */
/* The public recipe functions: the listed steps, added by name and by function, and the errors. */
#include "recipe.h"
#include "test.h"

#include <math.h>
#include <string.h>

static sluice_augment *make_recipe(void)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    return recipe;
}

static int setup(void **state)
{
    *state = make_recipe();
    return 0;
}

static int teardown(void **state)
{
    sluice_augment_destroy(*state);
    return 0;
}

TEST_WITH(arguments_out_of_range, setup, teardown)
{
    sluice_augment *r = *state;
    const float mean[3] = {0.5F, 0.5F, 0.5F};
    const float bad[3] = {0.5F, 0.0F, 0.5F};
    assert_int_equal(sluice_augment_create(NULL), SLUICE_INVALID);
    sluice_augment_destroy(NULL);
    const double rrc[][4] = {{0, 1, 1, 1},     {-1, 1, 1, 1},   {0.5, 0.4, 1, 1},
                             {0.5, 1.1, 1, 1}, {NAN, 1, 1, 1},  {1, NAN, 1, 1},
                             {0.5, 1, 0, 1},   {0.5, 1, 2, 1},  {0.5, 1, 1, INFINITY},
                             {0.5, 1, NAN, 1}, {0.5, 1, 1, NAN}};
    for (size_t i = 0; i < sizeof(rrc) / sizeof(rrc[0]); i++) {
        assert_int_equal(
            sluice_augment_random_resized_crop(r, 8, 8, rrc[i][0], rrc[i][1], rrc[i][2], rrc[i][3]),
            SLUICE_INVALID);
    }
    assert_int_equal(sluice_augment_random_resized_crop(r, 0, 8, 0.5, 1, 1, 1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_resized_crop(r, 8, 16385, 0.5, 1, 1, 1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_resize_center_crop(r, 7, 8, 7), SLUICE_INVALID);
    assert_int_equal(sluice_augment_resize_center_crop(r, 16385, 8, 7), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_crop(r, 8, 8, UINT32_MAX), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_flip(r, -0.1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_flip(r, 1.1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_flip(r, NAN), SLUICE_INVALID);
    assert_int_equal(sluice_augment_color_jitter(r, -1, 0, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_color_jitter(r, 0, NAN, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_color_jitter(r, 0, 0, INFINITY), SLUICE_INVALID);
    assert_int_equal(sluice_augment_normalize(r, mean, bad, 3), SLUICE_INVALID);
    assert_int_equal(sluice_augment_normalize(r, mean, mean, 1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_normalize(r, NULL, mean, 3), SLUICE_INVALID);
    assert_int_equal(sluice_augment_normalize(NULL, mean, mean, 3), SLUICE_INVALID);
    assert_int_equal(sluice_augment_random_flip(NULL, 0.5), SLUICE_INVALID);
    const struct sluice_augment empty = {0};
    r->error = empty.error;
    assert_memory_equal(r, &empty, sizeof(empty)); /* nothing has changed */
}

static void expect_error(const sluice_augment *recipe, sluice_status status, const char *call,
                         const char *argument)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_augment_get_error(recipe, &error), status);
    assert_int_equal(sluice_augment_get_error(recipe, NULL), status);
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.text, call));
    assert_non_null(strstr(error.text, argument));
}

/* Each error names the call and the argument; the first error is kept, even if others follow. */
TEST(the_first_refusal_is_remembered)
{
    const float mean[3] = {0.5F, 0.5F, 0.5F};
    const float bad[3] = {0.5F, 0.0F, 0.5F};
    static const char *const expected[][2] = {
        {"sluice_augment_random_resized_crop", "scale_min"},
        {"sluice_augment_random_resized_crop", "ratio_max"},
        {"sluice_augment_random_resized_crop", "width"},
        {"sluice_augment_resize_center_crop", "shorter_side"},
        {"sluice_augment_random_crop", "padding"},
        {"sluice_augment_random_flip", "probability"},
        {"sluice_augment_color_jitter", "contrast"},
        {"sluice_augment_normalize", "channels"},
        {"sluice_augment_normalize", "stddev"},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        sluice_augment *r = make_recipe();
        expect_error(r, SLUICE_OK, "", "");
        const sluice_status statuses[] = {
            sluice_augment_random_resized_crop(i == 0 ? r : NULL, 8, 8, 0, 1, 1, 1),
            sluice_augment_random_resized_crop(i == 1 ? r : NULL, 8, 8, 0.5, 1, 2, 1),
            sluice_augment_random_resized_crop(i == 2 ? r : NULL, 0, 8, 0.5, 1, 1, 1),
            sluice_augment_resize_center_crop(i == 3 ? r : NULL, 7, 8, 8),
            sluice_augment_random_crop(i == 4 ? r : NULL, 8, 8, UINT32_MAX),
            sluice_augment_random_flip(i == 5 ? r : NULL, 2),
            sluice_augment_color_jitter(i == 6 ? r : NULL, 0, -1, 0),
            sluice_augment_normalize(i == 7 ? r : NULL, mean, mean, 1),
            sluice_augment_normalize(i == 8 ? r : NULL, mean, bad, 3),
        };
        assert_int_equal(statuses[i], SLUICE_INVALID);
        expect_error(r, SLUICE_INVALID, expected[i][0], expected[i][1]);
        assert_int_equal(sluice_augment_random_crop(r, 8, 8, 0), SLUICE_OK);
        assert_int_equal(sluice_augment_end(r), SLUICE_STATE);
        expect_error(r, SLUICE_INVALID, expected[i][0], expected[i][1]);
        sluice_augment_destroy(r);
    }
    assert_int_equal(sluice_augment_get_error(NULL, NULL), SLUICE_INVALID);
}

/* Adds a step, or a group containing a step, or a choice with a step for each weight. */
static sluice_status add_listed(sluice_augment *recipe, const sluice_augment_step *step,
                                const double *numbers, uint32_t count)
{
    if (step->is_group == 0) {
        return sluice_augment_add(recipe, step->name, numbers, count);
    }
    const sluice_status status = sluice_augment_begin(recipe, step->name, numbers, count);
    if (status == SLUICE_OK) {
        const bool is_choice = strcmp(step->name, "random_choice") == 0;
        for (uint32_t i = 0; i == 0 || (is_choice && i < count); i++) {
            const char *const inside = i % 2 == 0 ? "random_flip" : "random_vertical_flip";
            assert_int_equal(sluice_augment_add(recipe, inside, NULL, 0), SLUICE_OK);
        }
        assert_int_equal(sluice_augment_end(recipe), SLUICE_OK);
    }
    return status;
}

/* Expects the argument's own name in the error for values it cannot have. */
static void refuse_numbers(const sluice_augment_step *step, const sluice_augment_argument *a,
                           uint32_t place, const double *numbers, uint32_t count)
{
    const double bad[] = {NAN,
                          -INFINITY,
                          isinf(a->most) ? NAN : INFINITY,
                          isinf(a->most) ? NAN : nextafter(a->most, INFINITY),
                          a->above_least != 0 ? a->least : nextafter(a->least, -INFINITY),
                          a->is_whole != 0 ? 0.5 : NAN,
                          a->is_whole != 0 ? a->most + 1 : NAN};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        double wrong[SL_STEP_ARGUMENTS_MAX];
        memcpy(wrong, numbers, sizeof(wrong));
        wrong[place] = bad[k];
        sluice_augment *other = make_recipe();
        assert_int_equal(add_listed(other, step, wrong, count), SLUICE_INVALID);
        expect_error(other, SLUICE_INVALID, step->name, a->name);
        assert_int_equal(other->count, 0);
        assert_int_equal(other->depth, 0);
        sluice_augment_destroy(other);
    }
}

/* Every listed step can be added, with lists up to their maximum length, at the ends of its ranges
 * but not beyond. */
TEST(every_step_is_listed)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    uint32_t number = 0;
    for (; sluice_augment_get_step(number, &step) == SLUICE_OK; number++) {
        double numbers[SL_STEP_ARGUMENTS_MAX] = {0};
        sluice_augment_argument a = SLUICE_AUGMENT_ARGUMENT_INIT;
        sluice_augment *r = make_recipe();
        assert_true(strlen(step.text) > 0 && strlen(step.stage) > 0);
        assert_int_equal(step.is_group, strcmp(step.stage, "group") == 0);
        for (uint32_t i = 0; i < step.arguments; i++) {
            assert_int_equal(sluice_augment_get_argument(number, i, &a), SLUICE_OK);
            assert_true(a.least < a.most && strlen(a.name) > 0);
            assert_true(isnan(a.preset) || (a.preset >= a.least && a.preset <= a.most));
            assert_true(a.list_most == 0 || i + 1 == step.arguments);
            assert_true(a.preset_count <= a.list_most);
            assert_int_equal(a.preset_count > 0, a.presets != NULL);
            for (uint32_t p = 0; p < a.preset_count; p++) {
                // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what the call filled in
                assert_true(a.presets[p] >= a.least && a.presets[p] <= a.most);
            }
            for (uint32_t w = 0; a.words != NULL && w <= (uint32_t)a.most; w++) {
                assert_true(strlen(a.words[w]) > 0);
            }
            /* arguments that must exceed another, or be 0 */
            const bool is_above =
                strcmp(a.name, "max_size") == 0 || strcmp(a.name, "cutmix_min") == 0;
            numbers[i] = is_above ? 0 : a.most;
        }
        const uint32_t count = step.arguments + (a.list_most > 0 ? a.list_most - 1 : 0);
        assert_int_equal(sluice_augment_get_argument(number, step.arguments, &a), SLUICE_INVALID);
        for (uint32_t i = step.arguments; i < count; i++) { /* of a list, which comes last */
            numbers[i] = a.most;
        }
        assert_int_equal(add_listed(r, &step, numbers, count), SLUICE_OK);
        assert_int_equal(step.gives_size, r->width != 0); /* for images of any size */
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t last = step.arguments - 1;
            assert_int_equal(sluice_augment_get_argument(number, i < last ? i : last, &a),
                             SLUICE_OK);
            refuse_numbers(&step, &a, i, numbers, count);
        }
        assert_int_equal(add_listed(r, &step, numbers, count + 1), SLUICE_INVALID);
        assert_int_equal(step.is_group != 0 ? sluice_augment_add(r, step.name, numbers, count)
                                            : sluice_augment_begin(r, step.name, numbers, count),
                         SLUICE_INVALID);
        sluice_augment_destroy(r);
    }
    assert_int_equal(number, sl_step_kind_count);
    assert_int_equal(sluice_augment_get_step(0, NULL), SLUICE_INVALID);
}

/* Adding by name gives the same recipe as by function. In order of addition, normalize last; with
 * presets. */
TEST(steps_by_name)
{
    const float mean[3] = {0.1F, 0.2F, 0.3F};
    const float deviation[3] = {0.4F, 0.5F, 0.6F};
    const double normal[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    sluice_augment *a = make_recipe();
    sluice_augment *b = make_recipe();
    assert_int_equal(sluice_augment_normalize(a, mean, deviation, 3), SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(a, 0.5), SLUICE_OK);
    assert_int_equal(sluice_augment_color_jitter(a, 0, 0, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_random_resized_crop(a, 8, 9, 0.08, 1, 3.0 / 4, 4.0 / 3),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_add(b, "random_flip", NULL, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_add(b, "color_jitter", NULL, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_add(b, "random_resized_crop", (const double[]){8, 9}, 2),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_add(b, "normalize", normal, 6), SLUICE_OK);
    assert_memory_equal(a, b, sizeof(*a));
    assert_int_equal(sluice_augment_add(b, "normalise", normal, 6), SLUICE_INVALID);
    expect_error(b, SLUICE_INVALID, "sluice_augment_add", "unknown step");
    assert_int_equal(sluice_augment_add(b, NULL, NULL, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_add(NULL, "random_flip", NULL, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_add(b, "random_flip", NULL, 1), SLUICE_INVALID);
    assert_int_equal(sluice_augment_add(a, "random_crop", NULL, 0), SLUICE_INVALID);
    expect_error(a, SLUICE_INVALID, "random_crop", "width must be given");
    assert_int_equal(sluice_augment_add(a, "random_crop", normal, 3), SLUICE_INVALID);
    sluice_augment_destroy(a);
    sluice_augment_destroy(b);
}

/* ---- strings of timm ---- */

TEST(numbers_of_timm_are_what_the_string_adds)
{
    static const char *const texts[] = {"rand-m9-mstd0.5-inc1", "augmix-m5-w4-d2", "original",
                                        "v0r", "3a"};
    const uint32_t count = sl_step_argument_count(sl_step_find("timm_augment"));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double numbers[SL_STEP_ARGUMENTS_MAX];
        sluice_augment *recipe = make_recipe();
        assert_int_equal(sluice_augment_timm(recipe, texts[i]), SLUICE_OK);
        assert_int_equal(sluice_augment_timm_numbers(texts[i], numbers, NULL), SLUICE_OK);
        assert_memory_equal(numbers, recipe->steps[recipe->count - 1].arguments,
                            count * sizeof(*numbers));
        sluice_augment_destroy(recipe);
    }
}

TEST(strings_of_timm_that_mean_nothing)
{
    double numbers[SL_STEP_ARGUMENTS_MAX];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = make_recipe();
    assert_int_equal(sluice_augment_timm_numbers("rand-q9", numbers, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "q9"));
    assert_int_equal(sluice_augment_timm_numbers(NULL, numbers, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_augment_timm_numbers("3a", NULL, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_augment_timm(recipe, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_augment_get_error(recipe, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "policy is NULL"));
    sluice_augment_destroy(recipe);
}

/* ---- sentences ---- */

static void refuse(const char *name, const double *arguments, uint32_t count, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = make_recipe();
    assert_int_equal(sluice_augment_add(recipe, name, arguments, count), SLUICE_INVALID);
    assert_int_equal(sluice_augment_get_error(recipe, &error), SLUICE_INVALID);
    if (strstr(error.text, words) == NULL) {
        print_message("%s\n", error.text);
    }
    assert_non_null(strstr(error.text, words));
    sluice_augment_destroy(recipe);
}

TEST(refusals_say_what_is_possible)
{
    refuse("random_aply", NULL, 0, "\"random_aply\"");
    refuse("random_flip", (const double[]){1, 2}, 2, "too many arguments: 2, at most 1");
    refuse("random_flip", NULL, 1, "arguments is NULL for a count of 1");
    refuse("random_flip", (const double[]){(double)NAN}, 1, "from 0 to 1");
    refuse("random_rotation", (const double[]){0, 0, 3}, 3, "nearest, bilinear or bicubic");
    refuse("timm_augment", (const double[]){0, 0, 2, 9, 10, -1}, 6, "deviation must be at least 0");
    refuse("color_jitter_ranges", (const double[]){1, 1, 1.2, 1.1}, 4, "contrast_min");
}
