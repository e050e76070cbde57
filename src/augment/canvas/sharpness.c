/* SPDX-License-Identifier: Apache-2.0 */
#include "sharpness.h"

#include "error.h"
#include "stencil_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Beyond this every pixel that differs from its mean is 0 or 255; products stay below 2^31. */
#define FACTOR_MOST 1048576.0F

static float limited(float factor)
{
    if (factor > FACTOR_MOST) {
        return FACTOR_MOST;
    }
    return factor < -FACTOR_MOST ? -FACTOR_MOST : factor;
}

sluice_status sl_sharpness(sl_simd simd, const sl_image *in, float factor, uint8_t *out,
                           sl_scratch *scratch, sluice_error *error)
{
    assert(in->channels == 3 && in->pixels != out && !isnan(factor));
    if (in->width < 3 || in->height < 3) {
        sl_image_copy(in, out);
        return SLUICE_OK;
    }
    const sl_stencil_kernels *kernels = sl_stencil_kernels_for(simd);
    const size_t mark = sl_scratch_mark(scratch);
    const size_t bytes = (size_t)in->width * 3;
    int16_t *sums = sl_scratch_take(scratch, bytes * sizeof(*sums));
    if (sums == NULL) {
        return sl_no_memory(error, "augment", "to sharpen an image");
    }
    factor = limited(factor);
    memcpy(out, in->pixels, bytes);
    for (uint32_t y = 1; y + 1 < in->height; y++) {
        const uint8_t *row = in->pixels + y * in->stride_bytes;
        uint8_t *to = out + y * bytes;
        const sl_stencil_rows rows = {row - in->stride_bytes, row, row + in->stride_bytes};
        kernels->sharpen(&rows, bytes - 6, factor, sums, to);
        memcpy(to, row, 3);
        memcpy(to + bytes - 3, row + bytes - 3, 3);
    }
    const uint32_t last = in->height - 1;
    memcpy(out + last * bytes, in->pixels + last * in->stride_bytes, bytes);
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}
