/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion_kernel: the device code of conversions, and how it is called.
 *
 * Purpose: conversion.cu is compiled to a fatbin and to PTX, which are embedded, packed with zstd,
 * where a CUDA toolkit was there at build time. It has a kernel for each dtype and layout; this
 * says which, on which grid, with which parameters, for the code that launches them (device_cuda)
 * or stands in for them (tests). Drivers that are older than the toolkit may refuse the fatbin: its
 * code has a format of the toolkit's time. The PTX is in an old version of the language, which they
 * compile themselves. Threads: pure; the images are constant.
 */
#ifndef SL_CONVERSION_KERNEL_H
#define SL_CONVERSION_KERNEL_H

#include "conversion.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SL_CONVERSION_MIXING = 8, /* 4 dtypes x 2 layouts, and from here on those that mix rows */
    SL_CONVERSION_KERNELS = 16,
    SL_CONVERSION_THREADS = 256, /* of a block */
    SL_CONVERSION_BYTES = 16,    /* of results that a thread makes in a plane, where they fill it */
    SL_CONVERSION_GROUP = 4      /* else: elements, with NCHW pixels */
};

/* What each kernel gets, by value, as its only parameter. Device addresses. */
typedef struct sl_conversion_parameters {
    unsigned long long from, flags, to;
    uint32_t rows, width, height;
    uint32_t
        group; /* elements (NHWC) or pixels that a thread makes: 16, 8, 4; 1: 4 that are apart */
    float scale[3], bias[3];
    unsigned long long mixing; /* for those that mix rows */
} sl_conversion_parameters;

typedef struct sl_conversion_launch {
    uint32_t grid[3], block[3];
    sl_conversion_parameters parameters;
} sl_conversion_launch;

/* Whether the library was built with a CUDA toolkit. Without, there is nothing to unpack. */
bool sl_conversion_has_images(void);
/* The fatbin, for cuModuleLoadData. The caller frees it with sl_free, on failure it is NULL. */
sluice_status sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);
/* The PTX, with a 0 at its end, for cuModuleLoadDataEx; as above. */
sluice_status sl_conversion_unpack_ptx(char **ptx, sluice_error *error);
/* Number and name of the kernel for a dtype and layout; SL_CONVERSION_MIXING further on is that
 * which mixes rows. */
uint32_t sl_conversion_kernel(sluice_dtype dtype, sluice_layout layout);
const char *sl_conversion_kernel_name(uint32_t kernel);
/* Whether a picture is small enough for the kernels' 32-bit arithmetic. */
bool sl_conversion_takes(const sl_conversion *conversion);
/* Of these rows. */
uint32_t sl_conversion_kernel_for(const sl_conversion *conversion, const sl_conversion_rows *rows);
/* rows > 0, addresses 16-byte-aligned except for the flags. */
void sl_conversion_launch_make(sl_conversion_launch *launch, const sl_conversion *conversion,
                               const sl_conversion_rows *rows);

#endif
