/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion kernels, one for each dtype and layout (conversion_kernel.h). A batch of bytes is
 * read once and its results are written once: memory is the limit, so groups are as wide as aligned
 * stores allow and everything else is kept out of the way.
 */
#include "conversion_kernel.h"

#define CONVERT_INLINE              static __device__ __forceinline__
#define CONVERT_FMA(v, scale, bias) __fmaf_rn(v, scale, bias)
#define CONVERT_HALF(x)             half_bits(x)
#define CONVERT_BITS(x)             __float_as_uint(x)
#define CONVERT_ROLLED              _Pragma("unroll 1")
typedef uint2 convert_words2;
typedef uint4 convert_words4;

static __device__ __forceinline__ uint32_t half_bits(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

#include "conversion_body.h"

/* Of the threads that a multiprocessor holds all are needed: each waits for one load, and only many
 * of them keep memory busy. Left alone the compiler takes registers that it could do without. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
#    define BLOCKS 4
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#    define BLOCKS 6
#else
#    define BLOCKS 8
#endif

/* Blocks go over the groups of a picture in x and over pictures in y, which has fewer blocks than
 * there may be pictures. */
#define KERNEL(name, dtype, layout)                                           \
    extern "C" __global__ void __launch_bounds__(SL_CONVERSION_THREADS, BLOCKS)  \
        name(const sl_conversion_parameters p)                                   \
    {                                                                         \
        const uint32_t group = blockIdx.x * SL_CONVERSION_THREADS + threadIdx.x; \
        CONVERT_ROLLED                                                        \
        for (uint32_t row = blockIdx.y; row < p.rows; row += gridDim.y) {     \
            convert_group(&p, dtype, layout, row, group);                     \
        }                                                                     \
    }

KERNEL(sl_conversion_u8_nhwc, SLUICE_U8, SLUICE_NHWC)
KERNEL(sl_conversion_u8_nchw, SLUICE_U8, SLUICE_NCHW)
KERNEL(sl_conversion_f32_nhwc, SLUICE_F32, SLUICE_NHWC)
KERNEL(sl_conversion_f32_nchw, SLUICE_F32, SLUICE_NCHW)
KERNEL(sl_conversion_f16_nhwc, SLUICE_F16, SLUICE_NHWC)
KERNEL(sl_conversion_f16_nchw, SLUICE_F16, SLUICE_NCHW)
KERNEL(sl_conversion_bf16_nhwc, SLUICE_BF16, SLUICE_NHWC)
KERNEL(sl_conversion_bf16_nchw, SLUICE_BF16, SLUICE_NCHW)
