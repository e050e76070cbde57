/* SPDX-License-Identifier: Apache-2.0 */
/* steps_convert: changes of values when a canvas is converted to the batch's dtype. Pure. */
#include "step_row.h"

#define MEAN(name)      name, SL_NUMBER_FLOAT, false, -FLT_MAX, FLT_MAX, SL_ARG_GIVEN
#define DEVIATION(name) name, SL_NUMBER_FLOAT, true, 0, FLT_MAX, SL_ARG_GIVEN

static void normalize_pixels(const double *arguments, size_t channel, float *scale, float *bias)
{
    const float mean = (float)arguments[channel];
    const float deviation = (float)arguments[3 + channel];
    *scale = 1.0F / (255.0F * deviation);
    *bias = -mean / deviation;
}

SL_STEP(normalize) = {
    .name = "normalize",
    .text = "(value / 255 - mean) / stddev for each channel; floating dtypes only",
    .stage = SL_STAGE_NORMALIZE,
    .arguments = {{MEAN("mean_r")},
                  {MEAN("mean_g")},
                  {MEAN("mean_b")},
                  {DEVIATION("stddev_r")},
                  {DEVIATION("stddev_g")},
                  {DEVIATION("stddev_b")}},
    .convert = normalize_pixels};
