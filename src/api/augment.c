/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/augment.h: check arguments and write them into the recipe. */
#include "api.h"
#include "error.h"
#include "memory.h"
#include "recipe.h"

#include <math.h>
#include <string.h>

enum { OUTPUT_SIDE_MAX = 16384 };

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
    sl_free(recipe);
}

/* The first call that is refused stays: `text` follows its name. */
static sluice_status refuse(sluice_augment *recipe, sluice_status status, const char *call,
                            const char *text)
{
    if (recipe != NULL && recipe->error.status == SLUICE_OK) {
        sl_error_set(&recipe->error, status, "augment", "sluice_augment_%s: %s", call, text);
    }
    return status;
}

static sluice_status refuse_argument(sluice_augment *recipe, const char *call, const char *text)
{
    return refuse(recipe, SLUICE_INVALID, call, text);
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

/* A geometry step: its kind, output, and what calls it. */
typedef struct step {
    const char *call;
    sl_geometry geometry;
    uint32_t width, height;
} step;

/* Starts the recipe's one geometry step. */
static sluice_status set_geometry(sluice_augment *recipe, const step *wanted)
{
    if (wanted->width < 1 || wanted->width > OUTPUT_SIDE_MAX || wanted->height < 1 ||
        wanted->height > OUTPUT_SIDE_MAX) {
        return refuse_argument(recipe, wanted->call, "width and height must be from 1 to 16384");
    }
    if (recipe->geometry != SL_GEOMETRY_NONE) {
        return refuse(recipe, SLUICE_STATE, wanted->call,
                      "the recipe has a geometry step already, and can have one");
    }
    recipe->geometry = wanted->geometry;
    recipe->width = wanted->width;
    recipe->height = wanted->height;
    return SLUICE_OK;
}

/* Written so that a NaN is out of range. */
static bool in_range(double value, double low, double high)
{
    return value >= low && value <= high;
}

// NOLINTNEXTLINE(readability-function-size): seven parameters, as in the public header
sluice_status sluice_augment_random_resized_crop(sluice_augment *recipe, uint32_t width,
                                                 uint32_t height, double scale_min,
                                                 double scale_max, double ratio_min,
                                                 double ratio_max)
{
    static const char call[] = "random_resized_crop";
    if (recipe == NULL || !(scale_min > 0) || !in_range(scale_max, scale_min, 1.0)) {
        return refuse_argument(recipe, call,
                               "scale_min and scale_max must be 0 < scale_min <= scale_max <= 1");
    }
    if (!(ratio_min > 0) || !(ratio_max >= ratio_min) || isinf(ratio_max)) {
        return refuse_argument(recipe, call,
                               "ratio_min and ratio_max must be 0 < ratio_min <= ratio_max");
    }
    const sluice_status status =
        set_geometry(recipe, &(step){call, SL_GEOMETRY_RANDOM_RESIZED_CROP, width, height});
    if (status == SLUICE_OK) {
        recipe->scale_min = scale_min;
        recipe->scale_max = scale_max;
        recipe->ratio_min = ratio_min;
        recipe->ratio_max = ratio_max;
    }
    return status;
}

sluice_status sluice_augment_resize_center_crop(sluice_augment *recipe, uint32_t shorter_side,
                                                uint32_t width, uint32_t height)
{
    static const char call[] = "resize_center_crop";
    if (recipe == NULL || shorter_side < width || shorter_side < height ||
        shorter_side > OUTPUT_SIDE_MAX) {
        return refuse_argument(recipe, call,
                               "shorter_side must be at least width and height, at most 16384");
    }
    const sluice_status status =
        set_geometry(recipe, &(step){call, SL_GEOMETRY_RESIZE_CENTER_CROP, width, height});
    if (status == SLUICE_OK) {
        recipe->shorter_side = shorter_side;
    }
    return status;
}

sluice_status sluice_augment_random_crop(sluice_augment *recipe, uint32_t width, uint32_t height,
                                         uint32_t padding)
{
    static const char call[] = "random_crop";
    if (recipe == NULL || padding > OUTPUT_SIDE_MAX) {
        return refuse_argument(recipe, call, "padding must be at most 16384");
    }
    const sluice_status status =
        set_geometry(recipe, &(step){call, SL_GEOMETRY_RANDOM_CROP, width, height});
    if (status == SLUICE_OK) {
        recipe->padding = padding;
    }
    return status;
}

sluice_status sluice_augment_random_flip(sluice_augment *recipe, double probability)
{
    if (recipe == NULL || !in_range(probability, 0.0, 1.0)) {
        return refuse_argument(recipe, "random_flip", "probability must be from 0 to 1");
    }
    recipe->flip_probability = probability;
    return SLUICE_OK;
}

sluice_status sluice_augment_color_jitter(sluice_augment *recipe, double brightness,
                                          double contrast, double saturation)
{
    /* Factors above this would be no picture any more, and must fit in a float. */
    const double strength_max = 1000.0;
    if (recipe == NULL || !in_range(brightness, 0.0, strength_max) ||
        !in_range(contrast, 0.0, strength_max) || !in_range(saturation, 0.0, strength_max)) {
        return refuse_argument(recipe, "color_jitter",
                               "brightness, contrast and saturation must be from 0 to 1000");
    }
    recipe->brightness = brightness;
    recipe->contrast = contrast;
    recipe->saturation = saturation;
    return SLUICE_OK;
}

sluice_status sluice_augment_normalize(sluice_augment *recipe, const float *mean,
                                       const float *stddev, uint32_t channels)
{
    static const char call[] = "normalize";
    if (recipe == NULL || mean == NULL || stddev == NULL || channels != 3) {
        return refuse_argument(recipe, call, "mean and stddev must be given, and channels be 3");
    }
    for (uint32_t c = 0; c < channels; c++) {
        if (!isfinite(mean[c]) || !isfinite(stddev[c]) || !(stddev[c] > 0)) {
            return refuse_argument(recipe, call,
                                   "mean and stddev must be finite, and stddev above 0");
        }
    }
    memcpy(recipe->mean, mean, sizeof(recipe->mean));
    memcpy(recipe->stddev, stddev, sizeof(recipe->stddev));
    recipe->normalize = true;
    return SLUICE_OK;
}
