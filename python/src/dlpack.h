/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack: the structs that DLPack 1.x passes between libraries, as its specification has them
 * (https://dmlc.github.io/dlpack/latest/c_api.html). Only what a producer of dense tensors needs.
 */
#ifndef SLUICE_PY_DLPACK_H
#define SLUICE_PY_DLPACK_H

#include <stdint.h>

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 0 };
enum { DLPACK_CPU = 1, DLPACK_CUDA = 2 };
enum { DLPACK_IS_COPIED = 2 }; /* a bit of `flags` */

typedef struct dlpack_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements */
    uint64_t byte_offset;
} dlpack_tensor;

/* Before 1.0; a capsule called "dltensor". */
typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

/* From 1.0 on; "dltensor_versioned". */
typedef struct dlpack_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dlpack_versioned *self);
    uint64_t flags;
    dlpack_tensor tensor;
} dlpack_versioned;

#endif
