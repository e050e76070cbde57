/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion_kernel.h"

#include "dtype.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#ifdef SLUICE_CONVERSION_IMAGE /* the fatbin's path; SLUICE_CONVERSION_IMAGE_PTX is the PTX's */
__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        "sl_conversion_image_begin:\n"
        ".incbin \"" SLUICE_CONVERSION_IMAGE "\"\n"
        "sl_conversion_ptx_begin:\n"
        ".incbin \"" SLUICE_CONVERSION_IMAGE_PTX "\"\n"
        ".byte 0\n"
        ".popsection");
extern const unsigned char sl_conversion_image_begin[] __attribute__((visibility("hidden")));
extern const char sl_conversion_ptx_begin[] __attribute__((visibility("hidden")));

const void *sl_conversion_image(void)
{
    return sl_conversion_image_begin;
}

const char *sl_conversion_ptx(void)
{
    return sl_conversion_ptx_begin;
}
#else
const void *sl_conversion_image(void)
{
    return NULL;
}

const char *sl_conversion_ptx(void)
{
    return NULL;
}
#endif

_Static_assert(sizeof(sl_conversion_mixing) == 16, "kernels load it as four words");

size_t sl_conversion_row_bytes(const sl_conversion *conversion)
{
    return (size_t)conversion->width * conversion->height * 3 * sl_dtype_bytes(conversion->dtype);
}

uint32_t sl_conversion_kernel(sluice_dtype dtype, sluice_layout layout)
{
    assert(dtype >= SLUICE_U8 && dtype <= SLUICE_BF16);
    return 2 * (uint32_t)dtype + (layout == SLUICE_NCHW);
}

uint32_t sl_conversion_kernel_for(const sl_conversion *conversion, const sl_conversion_rows *rows)
{
    return sl_conversion_kernel(conversion->dtype, conversion->layout) +
           (rows->mixing != NULL ? SL_CONVERSION_MIXING : 0);
}

const char *sl_conversion_kernel_name(uint32_t kernel)
{
    static const char *const names[SL_CONVERSION_KERNELS] = {
        [2 * SLUICE_U8] = "sl_conversion_u8_nhwc",
        [2 * SLUICE_U8 + 1] = "sl_conversion_u8_nchw",
        [2 * SLUICE_F32] = "sl_conversion_f32_nhwc",
        [2 * SLUICE_F32 + 1] = "sl_conversion_f32_nchw",
        [2 * SLUICE_F16] = "sl_conversion_f16_nhwc",
        [2 * SLUICE_F16 + 1] = "sl_conversion_f16_nchw",
        [2 * SLUICE_BF16] = "sl_conversion_bf16_nhwc",
        [2 * SLUICE_BF16 + 1] = "sl_conversion_bf16_nchw",
        [SL_CONVERSION_MIXING + 2 * SLUICE_U8] = "sl_conversion_mixing_u8_nhwc",
        [SL_CONVERSION_MIXING + 2 * SLUICE_U8 + 1] = "sl_conversion_mixing_u8_nchw",
        [SL_CONVERSION_MIXING + 2 * SLUICE_F32] = "sl_conversion_mixing_f32_nhwc",
        [SL_CONVERSION_MIXING + 2 * SLUICE_F32 + 1] = "sl_conversion_mixing_f32_nchw",
        [SL_CONVERSION_MIXING + 2 * SLUICE_F16] = "sl_conversion_mixing_f16_nhwc",
        [SL_CONVERSION_MIXING + 2 * SLUICE_F16 + 1] = "sl_conversion_mixing_f16_nchw",
        [SL_CONVERSION_MIXING + 2 * SLUICE_BF16] = "sl_conversion_mixing_bf16_nhwc",
        [SL_CONVERSION_MIXING + 2 * SLUICE_BF16 + 1] = "sl_conversion_mixing_bf16_nchw",
    };
    assert(kernel < SL_CONVERSION_KERNELS);
    return names[kernel];
}

/* Elements of a picture, or pixels. */
static uint64_t conversion_kernel_units_of(const sl_conversion *conversion)
{
    const uint64_t pixels = (uint64_t)conversion->width * conversion->height;
    return conversion->layout == SLUICE_NCHW ? pixels : 3 * pixels;
}

/* The widest that fill a picture evenly, if mirrored, too, they can be made of whole words. */
static uint32_t group_of(const sl_conversion *conversion)
{
    const uint64_t units = conversion_kernel_units_of(conversion);
    const uint32_t wide = SL_CONVERSION_BYTES / (uint32_t)sl_dtype_bytes(conversion->dtype);
    if (units % wide == 0 && conversion->width % 4 == 0) {
        return wide;
    }
    return units % SL_CONVERSION_GROUP == 0 ? SL_CONVERSION_GROUP : 1;
}

bool sl_conversion_takes(const sl_conversion *conversion)
{
    const uint64_t pixels = (uint64_t)conversion->width * conversion->height;
    return pixels > 0 && pixels <= INT32_MAX / 3;
}

void sl_conversion_launch_make(sl_conversion_launch *launch, const sl_conversion *conversion,
                               const sl_conversion_rows *rows)
{
    const uint32_t grid_y_max = 65535; /* of every compute capability */
    assert(sl_conversion_takes(conversion) && rows->rows > 0);
    const uint32_t group = group_of(conversion);
    const uint64_t each = group > 1 ? group : SL_CONVERSION_GROUP;
    const uint64_t threads = (conversion_kernel_units_of(conversion) + each - 1) / each;
    *launch = (sl_conversion_launch){
        .grid = {(uint32_t)((threads + SL_CONVERSION_THREADS - 1) / SL_CONVERSION_THREADS),
                 rows->rows < grid_y_max ? rows->rows : grid_y_max,
                 1 + (rows->rows - 1) / grid_y_max},
        .block = {SL_CONVERSION_THREADS, 1, 1},
        .parameters = {.from = (uintptr_t)rows->from,
                       .flags = (uintptr_t)rows->flags,
                       .to = (uintptr_t)rows->to,
                       .rows = rows->rows,
                       .width = conversion->width,
                       .height = conversion->height,
                       .group = group,
                       .mixing = (uintptr_t)rows->mixing},
    };
    memcpy(launch->parameters.scale, conversion->scale, sizeof(conversion->scale));
    memcpy(launch->parameters.bias, conversion->bias, sizeof(conversion->bias));
}
