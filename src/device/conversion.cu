/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion kernels, one for each dtype and layout (conversion_kernel.h), and as many that
 * also mix rows. A batch of bytes is read once and its results are written once. Memory is the
 * limit, so a thread stores 16 bytes at once if it can, and loads their source before anything
 * else.
 */
#include "conversion_kernel.h"

#define CONVERT_INLINE              static __device__ __forceinline__
#define CONVERT_FMA(v, scale, bias) __fmaf_rn(v, scale, bias)
#define CONVERT_MULTIPLY(a, b)      __fmul_rn(a, b)
#define CONVERT_ADD(a, b)           __fadd_rn(a, b)
#define CONVERT_FLOAT(bits)         __uint_as_float(bits)
#define CONVERT_HALF(x)             half_bits(x)
#define CONVERT_BFLOAT(x)           bfloat_bits(x)
#define CONVERT_BITS(x)             __float_as_uint(x)
#define CONVERT_PERMUTE(a, b, s)    __byte_perm(a, b, s)
#define CONVERT_LOAD(at)            load(at)
#define CONVERT_APART               asm volatile("")
#define CONVERT_ROLLED              _Pragma("unroll 1")
#define CONVERT_UNROLLED            _Pragma("unroll")
typedef uint2 convert_words2;
typedef uint4 convert_words4;

static __device__ __forceinline__ uint32_t half_bits(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

static __device__ __forceinline__ uint32_t convert_bfloat(uint32_t bits);

/* The instruction rounds numbers like convert_bfloat, including subnormal ones and those past
 * the largest, and the assembler merges two. It turns NaN into 0x7FFF, unlike the host;
 * constants that lead to NaN are converted there (loader/open_staging.c). */
static __device__ __forceinline__ uint32_t bfloat_bits(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return convert_bfloat(__float_as_uint(value));
#endif
}

/* Loads that the compiler does not move. The memory is not written to meanwhile. */
static __device__ __forceinline__ uint8_t load(const uint8_t *at)
{
    uint32_t v;
    asm volatile("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(at)));
    return (uint8_t)v;
}

static __device__ __forceinline__ uint32_t load(const uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(at)));
    return v;
}

static __device__ __forceinline__ uint2 load(const uint2 *at)
{
    uint2 v;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(__cvta_generic_to_global(at)));
    return v;
}

static __device__ __forceinline__ uint4 load(const uint4 *at)
{
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(at)));
    return v;
}

#include "mixing_body.h"

/* A multiprocessor must hold as many threads as possible: each waits for one load, and only many
 * of them keep memory busy. Without a bound, the compiler may use registers that it does not
 * need. The lowest architecture has none: its code is also the PTX for all others, where a bound
 * for its fewer threads made the assembler use more registers than by itself. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#    define BOUNDS __launch_bounds__(SL_CONVERSION_THREADS)
#elif defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
#    define BOUNDS __launch_bounds__(SL_CONVERSION_THREADS, 6)
#else
#    define BOUNDS __launch_bounds__(SL_CONVERSION_THREADS, 8)
#endif

/* Blocks cover the groups of an image in x, and the images in y and z. There is no loop: values
 * that do not depend on the image would be kept in registers for a next turn, which never comes. */
#define KERNEL(name, dtype, layout)                                               \
    extern "C" __global__ void BOUNDS name(const sl_conversion_parameters p)      \
    {                                                                             \
        const uint32_t thread = blockIdx.x * SL_CONVERSION_THREADS + threadIdx.x; \
        const uint32_t row = blockIdx.z * gridDim.y + blockIdx.y;                 \
        if (row < p.rows) {                                                       \
            convert_row(&p, dtype, layout, row, thread);                          \
        }                                                                         \
    }

/* Two images in twice the registers, by half of the threads, which have twice as many loads in
 * flight. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#    define MIXING_BOUNDS __launch_bounds__(SL_CONVERSION_THREADS)
#else
#    define MIXING_BOUNDS __launch_bounds__(SL_CONVERSION_THREADS, 4)
#endif

#define MIXING_KERNEL(name, dtype, layout)                                          \
    extern "C" __global__ void MIXING_BOUNDS name(const sl_conversion_parameters p) \
    {                                                                               \
        const uint32_t thread = blockIdx.x * SL_CONVERSION_THREADS + threadIdx.x;   \
        const uint32_t row = blockIdx.z * gridDim.y + blockIdx.y;                   \
        if (row < p.rows) {                                                         \
            mix_row(&p, dtype, layout, row, thread);                                \
        }                                                                           \
    }

KERNEL(sl_conversion_u8_nhwc, SLUICE_U8, SLUICE_NHWC)
KERNEL(sl_conversion_u8_nchw, SLUICE_U8, SLUICE_NCHW)
KERNEL(sl_conversion_f32_nhwc, SLUICE_F32, SLUICE_NHWC)
KERNEL(sl_conversion_f32_nchw, SLUICE_F32, SLUICE_NCHW)
KERNEL(sl_conversion_f16_nhwc, SLUICE_F16, SLUICE_NHWC)
KERNEL(sl_conversion_f16_nchw, SLUICE_F16, SLUICE_NCHW)
KERNEL(sl_conversion_bf16_nhwc, SLUICE_BF16, SLUICE_NHWC)
KERNEL(sl_conversion_bf16_nchw, SLUICE_BF16, SLUICE_NCHW)

MIXING_KERNEL(sl_conversion_mixing_u8_nhwc, SLUICE_U8, SLUICE_NHWC)
MIXING_KERNEL(sl_conversion_mixing_u8_nchw, SLUICE_U8, SLUICE_NCHW)
MIXING_KERNEL(sl_conversion_mixing_f32_nhwc, SLUICE_F32, SLUICE_NHWC)
MIXING_KERNEL(sl_conversion_mixing_f32_nchw, SLUICE_F32, SLUICE_NCHW)
MIXING_KERNEL(sl_conversion_mixing_f16_nhwc, SLUICE_F16, SLUICE_NHWC)
MIXING_KERNEL(sl_conversion_mixing_f16_nchw, SLUICE_F16, SLUICE_NCHW)
MIXING_KERNEL(sl_conversion_mixing_bf16_nhwc, SLUICE_BF16, SLUICE_NHWC)
MIXING_KERNEL(sl_conversion_mixing_bf16_nchw, SLUICE_BF16, SLUICE_NCHW)
