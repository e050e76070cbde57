/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horizontal: a filter laid out for passes along rows (resample_kernels.h). Pure; memory from the
 * caller's scratch.
 */
#include "filter.h"
#include "resample_kernels.h"

#include <string.h>

void sl_filter_move(sl_filter *filter, int32_t origin)
{
    for (uint32_t i = 0; i < filter->outputs; i++) {
        filter->starts[i] -= origin;
    }
}

bool sl_horizontal_make(sl_horizontal *across, const sl_filter *filter, bool flip,
                        sl_scratch *scratch)
{
    const uint32_t outputs = filter->outputs;
    const uint32_t padded = (outputs + SL_LANES - 1) / SL_LANES * SL_LANES;
    const uint32_t pairs = (filter->taps + 1) / 2;
    *across = (sl_horizontal){.outputs = outputs, .padded = padded, .pairs = pairs};
    across->starts = sl_scratch_take(scratch, padded * sizeof(*across->starts));
    across->weights =
        sl_scratch_take(scratch, (size_t)padded * pairs * 2 * sizeof(*across->weights));
    if (across->starts == NULL || across->weights == NULL) {
        return false;
    }
    memset(across->weights, 0, (size_t)padded * pairs * 2 * sizeof(*across->weights));
    for (uint32_t i = 0; i < outputs; i++) {
        across->starts[i] = filter->starts[flip ? outputs - 1 - i : i];
    }
    for (uint32_t k = 0; k < filter->taps; k++) {
        const int16_t *from = filter->weights + (size_t)k * outputs;
        int16_t *to = across->weights + (size_t)(k / 2) * padded * 2 + k % 2;
        for (uint32_t i = 0; i < outputs; i++) {
            to[(size_t)i * 2] = from[flip ? outputs - 1 - i : i];
        }
    }
    for (uint32_t i = outputs; i < padded; i++) {
        across->starts[i] = across->starts[outputs - 1];
    }
    return true;
}
