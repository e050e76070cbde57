/* SPDX-License-Identifier: Apache-2.0 */
#include "presets.h"

#include <assert.h>
#include <stddef.h>

static const struct preset presets[] = {
    {"resnet50-h100", 400, 0.224, 0.90}, {"resnet50-a100", 400, 0.435, 0.90},
    {"unet3d-h100", 7, 0.323, 0.90},     {"unet3d-a100", 7, 0.636, 0.90},
    {"unet3d-b200", 7, 0.162, 0.90},     {"retinanet-b200", 24, 0.04755, 0.85},
    {"cosmoflow-h100", 1, 0.0035, 0.70},
};

const char *const preset_words[] = {
    "resnet50-h100", "resnet50-a100",  "unet3d-h100",    "unet3d-a100",
    "unet3d-b200",   "retinanet-b200", "cosmoflow-h100", NULL};

_Static_assert(sizeof presets / sizeof *presets + 1 == sizeof preset_words / sizeof *preset_words,
               "a word for each");

const struct preset *preset_get(int index)
{
    assert(index >= 0 && (size_t)index < sizeof presets / sizeof *presets);
    return &presets[index];
}

double preset_step_s(const struct preset *preset, double scale)
{
    return preset->step_s / scale;
}
