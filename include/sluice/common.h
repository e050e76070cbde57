/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/common.h: status codes, error reports, dtypes and tensors.
 *
 * Every function that can fail returns a sluice_status. 0 is success, positive values are expected
 * conditions (end of an epoch, nothing ready yet) and negative values are errors, so
 * `if (status < 0)` is always right.
 *
 * Transparent structs start with `struct_size`, which the caller sets to sizeof(the struct); the
 * *_INIT macros and *_init functions do it. The library reads and writes no more than that, so a
 * program built against an older header keeps working. A member's 0 means its default. If an output
 * struct's size is not set, the function returns INVALID and does nothing else.
 */
#ifndef SLUICE_COMMON_H
#define SLUICE_COMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#    error "sluice needs Linux"
#else
#    define SLUICE_API        __attribute__((visibility("default")))
#    define SLUICE_MUST_CHECK __attribute__((warn_unused_result)) /* ignoring it loses data */
#endif

#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0

/* The size of an image, in pixels. */
typedef struct sluice_size {
    uint32_t width, height;
} sluice_size;

typedef enum sluice_status {
    SLUICE_OK = 0,
    SLUICE_END = 1,          /* the epoch has no more batches */
    SLUICE_AGAIN = 2,        /* nothing was ready within the timeout */
    SLUICE_INVALID = -1,     /* an argument or option is out of range; nothing was done */
    SLUICE_STATE = -2,       /* not allowed now (before start_epoch, in a forked child, ...) */
    SLUICE_NOMEM = -3,       /* out of memory, or of the memory budget */
    SLUICE_IO = -4,          /* the operating system cannot open, read or write a file */
    SLUICE_CORRUPT = -5,     /* bytes that break their format or do not match their checksum */
    SLUICE_UNSUPPORTED = -6, /* valid, but not supported here */
    SLUICE_DEVICE = -7,      /* the accelerator or its driver failed */
    SLUICE_CANCELED = -8,    /* canceled on request: loader canceled or closed, or should_stop */
    SLUICE_INTERNAL = -9     /* a bug in sluice: please report it */
} sluice_status;

/* Returns the status's name in lower case ("corrupt"); never NULL. */
SLUICE_API const char *sluice_status_name(sluice_status status);

/* Largest number of options that an error text names. */
#define SLUICE_ERROR_OPTIONS_MAX 4

/*
 * What went wrong, and where. Functions that take a `sluice_error *` fill it when they return a
 * negative status, and otherwise leave it unchanged. NULL is fine. If its struct_size is not set, a
 * function only returns INVALID.
 */
typedef struct sluice_error {
    uint32_t struct_size;
    int32_t status;      /* a sluice_status */
    int32_t sys_errno;   /* errno of the failed system call, or 0 */
    int32_t device_code; /* the device driver's own code, or 0 */
    int64_t sample;      /* index of the sample in its dataset, or -1 */
    int64_t offset;      /* byte in `file` where the error was detected, or -1 */
    char stage[16];      /* "dataset", "io", "decode", "augment", "staging", "pack", "api", ... */
    char file[512]; /* the file's name, its bytes unchanged, or "" (cut at the front if longer) */
    char text[512]; /* one sentence in English, without the file name; never empty on error; names
                       in it are safe to print, as below */
    /* Places in `text` of option names, as C spells them: byte and length of each. For
     * sluice_error_respell. */
    uint32_t option_count;
    uint32_t reserved; /* 0 */
    uint16_t option_at[SLUICE_ERROR_OPTIONS_MAX];
    uint16_t option_bytes[SLUICE_ERROR_OPTIONS_MAX];
} sluice_error;

#define SLUICE_ERROR_INIT                                             \
    {                                                                 \
        sizeof(sluice_error), 0, 0, 0, -1, -1, "", "", "", 0, 0, {0}, \
        {                                                             \
            0                                                         \
        }                                                             \
    }

/*
 * Formats an error as "stage: file, offset N, sample N: text (errno text)", with only the known
 * parts, NUL-terminated and cut to `bytes`. Returns the length without the cut. Safe to print on a
 * terminal, whatever the names of files and classes: control characters and bytes that are not
 * UTF-8 are written as \xNN.
 */
SLUICE_API size_t sluice_error_format(const sluice_error *error, char *buffer, size_t bytes);

/*
 * Respells the options in `text` for users of a program or another language. Calls `spell` with
 * each option's name in C ("max_sample_bytes", "the option fields"); it returns another name, valid
 * until its next call, or NULL to keep it. Text that grows beyond its space is cut. An error of an
 * older header, and one already respelled, names no options.
 */
SLUICE_API void sluice_error_respell(sluice_error *error,
                                     const char *(*spell)(void *user, const char *option),
                                     void *user);

typedef enum sluice_dtype {
    SLUICE_U8 = 0,
    SLUICE_F32 = 1,
    SLUICE_F16 = 2,  /* IEEE 754 binary16 */
    SLUICE_BF16 = 3, /* upper half of a binary32 */
    SLUICE_I64 = 4,
    SLUICE_I32 = 5,
    SLUICE_I16 = 6,
    SLUICE_I8 = 7,
    SLUICE_U16 = 8,
    SLUICE_U32 = 9,
    SLUICE_U64 = 10,
    SLUICE_F64 = 11,
    SLUICE_BOOL = 12 /* a byte, 0 or 1; any other value makes a bad sample */
} sluice_dtype;

/* Returns the bytes of one element; 0 for a value that is not a dtype. */
SLUICE_API size_t sluice_dtype_bytes(sluice_dtype dtype);

/* Returns "u8", "f32", "bf16", "bool", ...; "unknown" for a value that is not a dtype. Never NULL.
 */
SLUICE_API const char *sluice_dtype_name(sluice_dtype dtype);

/* Reports the dtype as DLPack's DLDataType: its code (a DLDataTypeCode) and bits; lanes are 1.
 * INVALID for a value that is not a dtype. */
SLUICE_API sluice_status sluice_dtype_dlpack(sluice_dtype dtype, uint8_t *code, uint8_t *bits);

typedef enum sluice_layout {
    SLUICE_NHWC = 0, /* rows x height x width x channels: interleaved, as in files */
    SLUICE_NCHW = 1  /* rows x channels x height x width: PyTorch's default */
} sluice_layout;

#define SLUICE_TENSOR_DIMS_MAX 8

/* Values are DLPack's DLDeviceType. */
typedef enum sluice_device_type {
    SLUICE_DEVICE_TYPE_CPU = 1,
    SLUICE_DEVICE_TYPE_CUDA = 2,
    SLUICE_DEVICE_TYPE_CUDA_HOST = 3 /* pinned host memory */
} sluice_device_type;

/*
 * A dense, C-contiguous array. Its memory belongs to the batch it was taken from. Device, shape and
 * strides are those of a DLPack tensor; sluice_dtype_dlpack returns its type.
 */
typedef struct sluice_tensor {
    uint32_t struct_size;
    int32_t dtype; /* a sluice_dtype */
    uint32_t dims;
    int32_t device_type;   /* a sluice_device_type */
    int32_t device_number; /* number of the device among its type; 0 for CPU */
    uint32_t reserved;     /* 0 */
    void *data;            /* host or device memory, 64-byte aligned (except `outputs`, and slices:
                              aligned as their first row) */
    uint64_t size_bytes;   /* product of shape x element size */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX];
    int64_t
        strides[SLUICE_TENSOR_DIMS_MAX]; /* elements from one entry of a dimension to the next */
} sluice_tensor;

#define SLUICE_TENSOR_INIT                                  \
    {                                                       \
        sizeof(sluice_tensor), 0, 0, 0, 0, 0, NULL, 0, {0}, \
        {                                                   \
            0                                               \
        }                                                   \
    }

/*
 * Makes a view of the entries [first, first + count) of the first dimension, which in a batch are
 * rows: micro-batches without a copy. `*slice` shares the memory, from another address on, and the
 * strides; it is valid as long as `tensor`, and may be the same struct. `count` may be 0.
 *
 * Slice columns with one entry per row (images, numbers, tensors, NAME.lengths) in the same way.
 * For a ragged column, slice NAME.offsets with count + 1 entries and leave NAME whole: offsets
 * count elements from its beginning, so row i of the micro-batch is [offsets[i], offsets[i + 1]) of
 * it, and offsets[0] need not be 0.
 *
 * INVALID: an argument is NULL or its struct_size not set, the tensor has no dimensions, or the
 * range exceeds the first one. Never blocks; does not access the memory.
 */
SLUICE_API sluice_status sluice_tensor_slice(const sluice_tensor *tensor, int64_t first,
                                             int64_t count, sluice_tensor *slice);

/* Returns the library's version at run time, "0.1.0"; SLUICE_VERSION_* are the header's. */
SLUICE_API const char *sluice_version(void);

/*
 * Features of this machine, for `sluice info --system`. `text` members are never empty: they have
 * the result, or the reason why a feature is not available.
 */
typedef struct sluice_system {
    uint32_t struct_size;
    uint32_t cpus;           /* CPUs this process may use */
    uint32_t io_uring;       /* 1: a loader would use io_uring for packed shards */
    uint32_t cuda;           /* 1: a CUDA device is available */
    uint64_t memory_bytes;   /* memory the process may use: the machine's or the cgroup's */
    uint64_t memlock_bytes;  /* RLIMIT_MEMLOCK; UINT64_MAX: unlimited */
    uint64_t open_files;     /* RLIMIT_NOFILE */
    char io_uring_text[128]; /* "kernel 6.1, liburing 2.3" or "refused: Operation not permitted" */
    char huge_pages_text[128]; /* "transparent, madvise" ... */
    char cpu_text[128];        /* "avx2 avx512f ..." */
    char cuda_text[128];
} sluice_system;

#define SLUICE_SYSTEM_INIT                                      \
    {                                                           \
        sizeof(sluice_system), 0, 0, 0, 0, 0, 0, "", "", "", "" \
    }

/* Reports this machine's features. Probes io_uring and opens the CUDA driver if installed; blocks
 * for milliseconds, with a driver for up to seconds. */
SLUICE_API sluice_status sluice_system_get_info(sluice_system *system);

/* Returns the bytes of memory that this process can still allocate: the machine's, or less if its
 * cgroup or RLIMIT_AS is close. Reads some files of /proc. UINT64_MAX: unknown. */
SLUICE_API uint64_t sluice_memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
