/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment: entry points of sluice/augment.h, which add steps of the table (augment/recipe/steps.h)
 * to the recipe.
 */
#include "api.h"
#include "error.h"
#include "memory.h"
#include "recipe.h"

#include <stdio.h>
#include <string.h>

sluice_status sluice_augment_create(sluice_augment **recipe)
{
    if (recipe == NULL) {
        return SLUICE_INVALID;
    }
    *recipe = sl_calloc(1, sizeof(**recipe));
    return *recipe != NULL ? SLUICE_OK : SLUICE_NOMEM;
}

void sluice_augment_destroy(sluice_augment *recipe)
{
    if (recipe != NULL) {
        sl_recipe_release(recipe);
    }
    sl_free(recipe);
}

sluice_status sluice_augment_get_error(const sluice_augment *recipe, sluice_error *error)
{
    if (recipe == NULL || !sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (recipe->error.status != SLUICE_OK) {
        sl_error_copy_out(error, &recipe->error);
    }
    return (sluice_status)recipe->error.status;
}

sluice_status sluice_augment_get_step(uint32_t number, sluice_augment_step *step)
{
    if (number >= sl_step_kind_count || step == NULL || !sl_api_is_tagged(step)) {
        return SLUICE_INVALID;
    }
    const sl_step_kind *kind = sl_step_kinds[number];
    const sluice_augment_step full = {.struct_size = sizeof(full),
                                      .arguments = sl_step_argument_count(kind),
                                      .name = kind->name,
                                      .stage = sl_step_stage_name(kind->stage),
                                      .text = kind->text,
                                      .is_group = kind->group != SL_GROUP_NO,
                                      .gives_size = sl_step_gives_size(kind)};
    return sl_api_write_struct(step, &full, sizeof(full));
}

sluice_status sluice_augment_get_argument(uint32_t number, uint32_t argument,
                                          sluice_augment_argument *result)
{
    if (number >= sl_step_kind_count || result == NULL || !sl_api_is_tagged(result) ||
        argument >= sl_step_argument_count(sl_step_kinds[number])) {
        return SLUICE_INVALID;
    }
    const sl_argument *from = &sl_step_kinds[number]->arguments[argument];
    const sluice_augment_argument full = {.struct_size = sizeof(full),
                                          .is_whole = from->type == SL_NUMBER_WHOLE ||
                                                      from->type == SL_NUMBER_WORD,
                                          .name = from->name,
                                          .least = from->least,
                                          .most = from->most,
                                          .preset = from->preset,
                                          .above_least = from->above,
                                          .words = from->words,
                                          .list_most = from->list_most,
                                          .preset_count = from->preset_count,
                                          .presets = from->presets};
    return sl_api_write_struct(result, &full, sizeof(full));
}

static sluice_status refuse_name(sluice_augment *recipe, const char *call, const char *what,
                                 const char *name)
{
    char text[128];
    (void)snprintf(text, sizeof(text), "unknown %s \"%.60s\"", what, name != NULL ? name : "");
    return sl_recipe_refuse(recipe, SLUICE_INVALID, call, text);
}

/* Rejects the step of that name, which needs a function, not numbers. */
static sluice_status refuse_native(sluice_augment *recipe)
{
    return sl_recipe_refuse(
        recipe, SLUICE_INVALID, "sluice_augment_add",
        "\"native\" needs a function of the program: add it with sluice_augment_native");
}

static sluice_status refuse_count(sluice_augment *recipe, const sl_step_kind *kind,
                                  const double *arguments, uint32_t count)
{
    char text[128];
    (void)snprintf(text, sizeof(text),
                   arguments == NULL ? "arguments is NULL for a count of %u (the step takes %u)"
                                     : "too many arguments: %u, at most %u",
                   count, sl_step_number_count(kind));
    return sl_recipe_refuse(recipe, SLUICE_INVALID, kind->name, text);
}

sluice_status sluice_augment_add(sluice_augment *recipe, const char *name, const double *arguments,
                                 uint32_t count)
{
    const sl_step_kind *kind = name != NULL ? sl_step_find(name) : NULL;
    if (recipe == NULL || kind == NULL) {
        return name != NULL && strcmp(name, "native") == 0
                   ? refuse_native(recipe)
                   : refuse_name(recipe, "sluice_augment_add", "step", name);
    }
    if (count > sl_step_number_count(kind) || (count > 0 && arguments == NULL)) {
        return refuse_count(recipe, kind, arguments, count);
    }
    return sl_recipe_add(recipe, name, kind, arguments, count);
}

sluice_status sluice_augment_begin(sluice_augment *recipe, const char *name,
                                   const double *arguments, uint32_t count)
{
    const sl_step_kind *kind = name != NULL ? sl_step_find(name) : NULL;
    if (recipe == NULL || kind == NULL) {
        return refuse_name(recipe, "sluice_augment_begin", "group", name);
    }
    if (count > sl_step_number_count(kind) || (count > 0 && arguments == NULL)) {
        return refuse_count(recipe, kind, arguments, count);
    }
    return sl_recipe_begin(recipe, name, kind, arguments, count);
}

sluice_status sluice_augment_end(sluice_augment *recipe)
{
    return recipe != NULL ? sl_recipe_end(recipe) : SLUICE_INVALID;
}

sluice_status sluice_augment_timm(sluice_augment *recipe, const char *policy)
{
    double arguments[SL_STEP_ARGUMENTS_MAX];
    sluice_error error = SLUICE_ERROR_INIT;
    if (recipe == NULL || policy == NULL) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, "sluice_augment_timm", "policy is NULL");
    }
    if (sl_timm_arguments(policy, arguments, &error) != SLUICE_OK) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, "sluice_augment_timm", error.text);
    }
    return sl_recipe_add(recipe, "sluice_augment_timm", sl_step_find("timm_augment"), arguments,
                         SL_STEP_ARGUMENTS_MAX);
}

sluice_status sluice_augment_timm_numbers(const char *policy, double *numbers, sluice_error *error)
{
    double arguments[SL_STEP_ARGUMENTS_MAX];
    sluice_error reason;
    if (policy == NULL || numbers == NULL || (error != NULL && !sl_api_can_tell(error))) {
        return SLUICE_INVALID;
    }
    sl_error_clear(&reason);
    if (sl_timm_arguments(policy, arguments, &reason) != SLUICE_OK) {
        return sl_api_fail(error, &reason);
    }
    memcpy(numbers, arguments,
           sl_step_argument_count(sl_step_find("timm_augment")) * sizeof(*numbers));
    return SLUICE_OK;
}

/* Adds step `name` with its first `count` arguments. */
static sluice_status augment_add(sluice_augment *recipe, const char *name, const double *arguments,
                                 uint32_t count)
{
    char call[64];
    const sl_step_kind *kind = sl_step_find(name);
    if (recipe == NULL) {
        return SLUICE_INVALID;
    }
    (void)snprintf(call, sizeof(call), "sluice_augment_%s", name);
    return sl_recipe_add(recipe, call, kind, arguments, count);
}

// NOLINTNEXTLINE(readability-function-size): seven parameters, as in the public header
sluice_status sluice_augment_random_resized_crop(sluice_augment *recipe, uint32_t width,
                                                 uint32_t height, double scale_min,
                                                 double scale_max, double ratio_min,
                                                 double ratio_max)
{
    const double arguments[] = {width, height, scale_min, scale_max, ratio_min, ratio_max};
    return augment_add(recipe, "random_resized_crop", arguments, 6);
}

sluice_status sluice_augment_resize_center_crop(sluice_augment *recipe, uint32_t shorter_side,
                                                uint32_t width, uint32_t height)
{
    return augment_add(recipe, "resize_center_crop", (const double[]){shorter_side, width, height},
                       3);
}

sluice_status sluice_augment_random_crop(sluice_augment *recipe, uint32_t width, uint32_t height,
                                         uint32_t padding)
{
    return augment_add(recipe, "random_crop", (const double[]){width, height, padding}, 3);
}

sluice_status sluice_augment_random_flip(sluice_augment *recipe, double probability)
{
    return augment_add(recipe, "random_flip", &probability, 1);
}

sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                          double contrast, double saturation)
{
    return augment_add(recipe, "color_jitter", (const double[]){brightness, contrast, saturation},
                       3);
}

sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                       const float *stddev, uint32_t channels)
{
    double arguments[6];
    if (recipe == NULL || mean == NULL || stddev == NULL || channels != 3) {
        return sl_recipe_refuse(recipe, SLUICE_INVALID, "sluice_augment_normalize",
                                "mean and stddev are required, and channels must be 3");
    }
    for (size_t c = 0; c < 3; c++) {
        arguments[c] = (double)mean[c];
        arguments[3 + c] = (double)stddev[c];
    }
    return augment_add(recipe, "normalize", arguments, 6);
}

/* Returns why the name of a native step is invalid; NULL: it is valid. */
static const char *fault_of_name(const char *name)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        const unsigned char c = (unsigned char)name[length];
        if (c < ' ' || c == 0x7f) {
            return "the name contains a control character";
        }
        if (length == SL_NATIVE_NAME_BYTES - 1) {
            return "the name is longer than 63 bytes";
        }
    }
    return length > 0 ? NULL : "the name is empty";
}

/* Makes a native function with one owner, which then owns the user data. NULL: no memory. */
static sl_native *make_native(sluice_native_function function, void *user_data,
                              void (*free_user_data)(void *user_data), const char *name)
{
    sl_native given = {
        .function = function, .user_data = user_data, .free_user_data = free_user_data};
    memcpy(given.name, name, strlen(name) + 1);
    return sl_native_new(&given);
}

sluice_status sluice_augment_native(sluice_augment *recipe, sluice_native_function function,
                                    void *user_data, void (*free_user_data)(void *user_data),
                                    const char *name)
{
    const char *call = "sluice_augment_native";
    const char *called = name != NULL ? name : "native";
    const char *fault = function == NULL ? "function is NULL" : fault_of_name(called);
    sl_native *native = NULL;
    sluice_status status = SLUICE_INVALID;
    if (recipe != NULL && fault == NULL) {
        native = make_native(function, user_data, free_user_data, called);
        status = native != NULL ? SLUICE_OK : SLUICE_NOMEM;
        fault = "out of memory";
    }
    if (native != NULL) {
        return sl_recipe_add_native(recipe, call, native);
    }
    if (free_user_data != NULL) {
        free_user_data(user_data);
    }
    return sl_recipe_refuse(recipe, status, call, fault);
}
