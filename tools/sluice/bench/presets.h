/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets: batch and step time of known models on known accelerators, from the configurations of
 * the DLIO benchmark (workloads of MLPerf Storage). They only set the pace at which data is
 * requested: the data here are photos, and no result with them is an MLPerf result.
 */
#ifndef TOOL_PRESETS_H
#define TOOL_PRESETS_H

#include <stdint.h>

struct preset {
    const char *name;
    uint32_t batch;
    double step_s;
    double au_passed; /* utilisation that the benchmark requires */
};

/* Words of --accelerator, NULL-terminated, in the order of preset_get. */
extern const char *const preset_words[];
const struct preset *preset_get(int index);

/* Returns the preset on a machine that can feed only `scale` (0 < scale <= 1) of such an
 * accelerator: steps of the same batch, 1/scale as long. */
double preset_step_s(const struct preset *preset, double scale);

#endif
