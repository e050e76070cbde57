/* SPDX-License-Identifier: Apache-2.0 */
#include "programs.h"

#include "apply.h"
#include "geometry.h"

#include <stdlib.h>
#include <string.h>

static void programs_must(bool done)
{
    if (!done) {
        abort();
    }
}

void program_bytes(const sl_params *params, sl_simd simd, const uint8_t *pixels, uint32_t width,
                   uint32_t height, uint8_t *out)
{
    const sl_image view = {.pixels = pixels,
                           .width = width,
                           .height = height,
                           .channels = 3,
                           .stride_bytes = (size_t)width * 3,
                           .picture_width = width,
                           .picture_height = height,
                           .denominator = 1};
    const sl_converter converter = {.dtype = SLUICE_U8,
                                    .layout = SLUICE_NHWC,
                                    .width = params->width,
                                    .height = params->height,
                                    .tools = {.simd = simd}};
    sl_scratch scratch;
    programs_must(sl_scratch_open(&scratch, (size_t)256 << 20, 1 << 20, NULL) == SLUICE_OK);
    const sl_apply_work work = {.scratch = &scratch};
    programs_must(sl_augment_apply(&converter, &view, params, &work, out, NULL) == SLUICE_OK);
    sl_scratch_close(&scratch);
}

void program_operate(const sl_operation_kind *kind, double value, uint8_t *pixels, uint32_t width,
                     uint32_t height)
{
    const size_t bytes = (size_t)width * height * 3;
    sl_params *params = malloc(sizeof(*params));
    void *memory = malloc(sl_params_bytes(1));
    uint8_t *out = malloc(bytes);
    sl_drawing drawing;
    programs_must(params != NULL && memory != NULL && out != NULL);
    sl_params_place(params, 1, memory);
    sl_drawing_begin(&drawing, params, width, height, false, NULL);
    sl_operation *operation = sl_draw_operation(&drawing, kind);
    programs_must(operation != NULL);
    operation->values[0] = value;
    sl_drawing_end(&drawing);
    program_bytes(params, sl_simd_best(), pixels, width, height, out);
    memcpy(pixels, out, bytes);
    free(out);
    free(memory);
    free(params);
}
