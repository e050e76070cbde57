/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion_kernel.h"

#include "dtype.h"
#include "error.h"
#include "frame.h"
#include "memory.h"
#include "view.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* An embedded image: a zstd frame without its content's size. */
typedef struct packed_image {
    uint64_t bytes; /* unpacked size */
    sl_bytes frame;
} packed_image;

#ifdef SLUICE_CONVERSION_IMAGE /* path of the fatbin; SLUICE_CONVERSION_IMAGE_PTX is the PTX's */
#    define EMBED(name, path)                     \
        ".balign 8\n" name "_bytes:\n"            \
        ".include \"" path ".size\"\n" name ":\n" \
        ".incbin \"" path ".zst\"\n" name "_end:\n"

__asm__(".pushsection .rodata\n" EMBED("sl_conversion_fatbin", SLUICE_CONVERSION_IMAGE)
            EMBED("sl_conversion_ptx", SLUICE_CONVERSION_IMAGE_PTX) ".popsection");

#    define HIDDEN __attribute__((visibility("hidden")))
extern const uint64_t sl_conversion_fatbin_bytes HIDDEN, sl_conversion_ptx_bytes HIDDEN;
extern const uint8_t sl_conversion_fatbin[] HIDDEN, sl_conversion_fatbin_end[] HIDDEN;
extern const uint8_t sl_conversion_ptx[] HIDDEN, sl_conversion_ptx_end[] HIDDEN;

static packed_image fatbin_image(void)
{
    return (packed_image){
        .bytes = sl_conversion_fatbin_bytes,
        .frame = {sl_conversion_fatbin, (size_t)(sl_conversion_fatbin_end - sl_conversion_fatbin)}};
}

static packed_image ptx_image(void)
{
    return (packed_image){
        .bytes = sl_conversion_ptx_bytes,
        .frame = {sl_conversion_ptx, (size_t)(sl_conversion_ptx_end - sl_conversion_ptx)}};
}
#else
static packed_image fatbin_image(void)
{
    return (packed_image){.bytes = 0};
}

static packed_image ptx_image(void)
{
    return (packed_image){.bytes = 0};
}
#endif

/* Unpacks the image; a 0 follows `*contents`. */
static sluice_status unpack(packed_image image, char **contents, sluice_error *error)
{
    *contents = NULL;
    if (image.bytes == 0) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "device",
                            "this library was built without its CUDA kernels");
    }
    char *unpacked = sl_malloc(image.bytes + 1);
    if (unpacked == NULL) {
        return sl_no_memory(error, "device", "for the CUDA kernels");
    }
    const sluice_status status =
        sl_frame_unpack_to(NULL, image.frame, unpacked, image.bytes, error);
    if (status != SLUICE_OK) {
        sl_free(unpacked);
        return status;
    }
    unpacked[image.bytes] = '\0';
    *contents = unpacked;
    return SLUICE_OK;
}

bool sl_conversion_has_images(void)
{
    return fatbin_image().bytes > 0;
}

sluice_status sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error)
{
    char *contents;
    const sluice_status status = unpack(fatbin_image(), &contents, error);
    *fatbin = contents;
    return status;
}

sluice_status sl_conversion_unpack_ptx(char **ptx, sluice_error *error)
{
    return unpack(ptx_image(), ptx, error);
}

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

/* Returns the number of elements or pixels of an image. */
static uint64_t conversion_kernel_units_of(const sl_conversion *conversion)
{
    const uint64_t pixels = (uint64_t)conversion->width * conversion->height;
    return conversion->layout == SLUICE_NCHW ? pixels : 3 * pixels;
}

/* Returns the largest group that fills an image evenly, if mirrored images can be made of whole
 * words, too. */
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
