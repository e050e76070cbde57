/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_kernel: the device code of conversions, and how it is called.
 *
 * Purpose: if a CUDA toolkit is found at build time, conversion.cu is compiled to a fatbin and to
 * PTX, which are embedded, compressed with zstd. There is a kernel for each dtype and layout; this
 * header says which one to use, on which grid, with which parameters, for the code that launches
 * the kernels (device_cuda) or replaces them (tests). Drivers older than the toolkit may refuse the
 * fatbin, whose format is as new as the toolkit. They compile the PTX, which is in an old version
 * of the language.
 *
 * Threads: pure; the images are constant.
 */
#ifndef SL_CONVERSION_KERNEL_H
#define SL_CONVERSION_KERNEL_H

#include "conversion.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SL_CONVERSION_MIXING = 8, /* 4 dtypes x 2 layouts; the kernels from here on mix rows */
    SL_CONVERSION_KERNELS = 16,
    SL_CONVERSION_THREADS = 256, /* per block */
    SL_CONVERSION_BYTES = 16,    /* of results per thread and plane, if that fills them evenly */
    SL_CONVERSION_GROUP = 4      /* otherwise: elements, with NCHW pixels */
};

/* The only parameter of each kernel, passed by value. Addresses are device addresses. */
typedef struct sl_conversion_parameters {
    unsigned long long from, flags, to;
    uint32_t rows, width, height;
    uint32_t group; /* elements (NHWC) or pixels per thread: 16, 8, 4; 1: 4 that are not adjacent */
    float scale[3], bias[3];
    unsigned long long mixing; /* for kernels that mix rows */
} sl_conversion_parameters;

typedef struct sl_conversion_launch {
    uint32_t grid[3], block[3];
    sl_conversion_parameters parameters;
} sl_conversion_launch;

/* Returns whether the library was built with a CUDA toolkit. Otherwise there is nothing to
 * unpack. */
bool sl_conversion_has_images(void);
/* Unpacks the fatbin, for cuModuleLoadData. The caller frees it with sl_free; NULL on failure. */
sluice_status sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);
/* Unpacks the PTX, with a 0 at its end, for cuModuleLoadDataEx; otherwise as above. */
sluice_status sl_conversion_unpack_ptx(char **ptx, sluice_error *error);
/* Number and name of the kernel for a dtype and layout; the one that mixes rows has a number higher
 * by SL_CONVERSION_MIXING. */
uint32_t sl_conversion_kernel(sluice_dtype dtype, sluice_layout layout);
const char *sl_conversion_kernel_name(uint32_t kernel);
/* Returns whether an image is small enough for the kernels' 32-bit arithmetic. */
bool sl_conversion_takes(const sl_conversion *conversion);
/* Returns the kernel for these rows. */
uint32_t sl_conversion_kernel_for(const sl_conversion *conversion, const sl_conversion_rows *rows);
/* Requires rows > 0, and addresses aligned to 16 bytes, except for the flags. */
void sl_conversion_launch_make(sl_conversion_launch *launch, const sl_conversion *conversion,
                               const sl_conversion_rows *rows);

#endif
