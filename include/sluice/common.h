/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/common.h: status codes, error reports, dtypes and tensors.
 *
 * Every function that can fail returns a sluice_status. 0 is success, positive values are expected
 * conditions (end of an epoch, nothing ready yet) and negative values are errors, so
 * `if (status < 0)` is always right.
 *
 * Transparent structs start with `struct_size`, which the caller sets to sizeof(the struct) (the
 * *_INIT macros and *_init functions do it). The library reads and writes no more than that, so
 * that a program built against an older header goes on working. A field's 0 means its default. A
 * struct to be filled whose size is not set is refused with INVALID, before anything is done.
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

/* Of a picture, in pixels. */
typedef struct sluice_size {
    uint32_t width, height;
} sluice_size;

typedef enum sluice_status {
    SLUICE_OK = 0,
    SLUICE_END = 1,          /* the epoch has no more batches */
    SLUICE_AGAIN = 2,        /* nothing ready within the time given */
    SLUICE_INVALID = -1,     /* an argument or option is out of range; nothing was done */
    SLUICE_STATE = -2,       /* not allowed now (before start_epoch, in a forked child, ...) */
    SLUICE_NOMEM = -3,       /* memory refused by the system or by the byte budget */
    SLUICE_IO = -4,          /* the operating system refused to open, read or write a file */
    SLUICE_CORRUPT = -5,     /* bytes that break their format or do not match their checksum */
    SLUICE_UNSUPPORTED = -6, /* valid, but nothing here can handle it */
    SLUICE_DEVICE = -7,      /* the accelerator or its driver failed */
    SLUICE_CANCELED = -8,    /* canceled on request: loader canceled or closed, or should_stop */
    SLUICE_INTERNAL = -9     /* a bug in sluice: please report it */
} sluice_status;

/* The status' name in lower case ("corrupt"); never NULL. */
SLUICE_API const char *sluice_status_name(sluice_status status);

/* Of a text, at most. */
#define SLUICE_ERROR_OPTIONS_MAX 4

/*
 * What went wrong, where. Filled by functions that take a `sluice_error *` when they return a
 * negative status; untouched otherwise. Passing NULL is fine; with one whose struct_size is not set
 * a function does nothing but return INVALID.
 */
typedef struct sluice_error {
    uint32_t struct_size;
    int32_t status;      /* a sluice_status */
    int32_t sys_errno;   /* errno of the system call that failed, or 0 */
    int32_t device_code; /* the device driver's own code, or 0 */
    int64_t sample;      /* index of the sample in its dataset, or -1 */
    int64_t offset;      /* byte in `file` at which it was noticed, or -1 */
    char stage[16];      /* "dataset", "io", "decode", "augment", "staging", "pack", "api", ... */
    char file[512]; /* the file concerned, byte by byte, or "" (cut at the front when longer) */
    char text[512]; /* one sentence in English, without the file name; never empty on error;
                       names that it quotes are safe to print, as below */
    /* Where `text` names options of this library, as C calls them: byte and length of each. For
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
 * Writes "stage: file, offset N, sample N: text (errno text)", with only the parts that are known,
 * NUL-terminated and cut to `bytes`. Returns the length it would have without the cut. Safe to
 * print on a terminal, regardless of the names of files and classes: control characters and bytes
 * that are not UTF-8 are written \xNN.
 */
SLUICE_API size_t sluice_error_format(const sluice_error *error, char *buffer, size_t bytes);

/*
 * Has `text` call the options that it names by the names that users of a program or of another
 * language know. `spell` is asked for each by its name in C ("max_sample_bytes", "the option
 * fields"), and gives another, valid until it is asked again, or NULL: it stays. A text that grows
 * beyond its space is cut. An error of an older header, and one that was respelled, names none.
 */
SLUICE_API void sluice_error_respell(sluice_error *error,
                                     const char *(*spell)(void *user, const char *option),
                                     void *user);

typedef enum sluice_dtype {
    SLUICE_U8 = 0,
    SLUICE_F32 = 1,
    SLUICE_F16 = 2,  /* IEEE 754 binary16 */
    SLUICE_BF16 = 3, /* the upper half of a binary32 */
    SLUICE_I64 = 4,
    SLUICE_I32 = 5,
    SLUICE_I16 = 6,
    SLUICE_I8 = 7,
    SLUICE_U16 = 8,
    SLUICE_U32 = 9,
    SLUICE_U64 = 10,
    SLUICE_F64 = 11,
    SLUICE_BOOL = 12 /* a byte, 0 or 1; a sample that a loader finds another one in is a bad one */
} sluice_dtype;

/* Bytes of one element; 0 for a value that is not a dtype. */
SLUICE_API size_t sluice_dtype_bytes(sluice_dtype dtype);

/* "u8", "f32", "bf16", "bool", ...; "unknown" for a value that is not a dtype. Never NULL. */
SLUICE_API const char *sluice_dtype_name(sluice_dtype dtype);

/* The dtype as DLPack's DLDataType: its code (a DLDataTypeCode) and bits; lanes are 1. INVALID for
 * a value that is not a dtype. */
SLUICE_API sluice_status sluice_dtype_dlpack(sluice_dtype dtype, uint8_t *code, uint8_t *bits);

typedef enum sluice_layout {
    SLUICE_NHWC = 0, /* rows x height x width x channels: interleaved, as files have it */
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
 * A dense, C-contiguous array. It borrows its memory from the batch that it was taken from. Device,
 * shape and strides are those of a DLPack tensor; sluice_dtype_dlpack returns its type.
 */
typedef struct sluice_tensor {
    uint32_t struct_size;
    int32_t dtype; /* a sluice_dtype */
    uint32_t dims;
    int32_t device_type;   /* a sluice_device_type */
    int32_t device_number; /* of several of the type; 0 for CPU */
    uint32_t reserved;     /* 0 */
    void *data;            /* of host or device, 64-byte aligned (`outputs`: as they are; a slice:
                              as its first row is) */
    uint64_t size_bytes;   /* product of shape x element size */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX];
    int64_t strides[SLUICE_TENSOR_DIMS_MAX]; /* in elements, from one to the next in a dimension */
} sluice_tensor;

#define SLUICE_TENSOR_INIT                                  \
    {                                                       \
        sizeof(sluice_tensor), 0, 0, 0, 0, 0, NULL, 0, {0}, \
        {                                                   \
            0                                               \
        }                                                   \
    }

/*
 * A view of the entries [first, first + count) of the first dimension, which in a batch are rows:
 * micro-batches without a copy. `*slice` has the same memory, from another address on, and the same
 * strides; it is valid as long as `tensor`, and may be the same struct. `count` may be 0.
 *
 * Columns of one row each (pictures, numbers, tensors, NAME.lengths) are sliced alike. Of a ragged
 * column slice NAME.offsets with count + 1 entries and leave NAME whole: offsets are numbers of
 * elements from its beginning, so row i of the micro-batch is [offsets[i], offsets[i + 1]) of it,
 * and offsets[0] is not 0.
 *
 * INVALID: an argument is NULL or its struct_size not set, the tensor has no dimensions, or the
 * range is not within the first one. Blocks for nothing; does not look at the memory.
 */
SLUICE_API sluice_status sluice_tensor_slice(const sluice_tensor *tensor, int64_t first,
                                             int64_t count, sluice_tensor *slice);

/* The library's version at run time, "0.1.0". Compare with the SLUICE_VERSION_* of the header. */
SLUICE_API const char *sluice_version(void);

/*
 * Features of this machine, for `sluice info --system`. `text` fields are never empty: they have
 * the result, or the reason why there is none.
 */
typedef struct sluice_system {
    uint32_t struct_size;
    uint32_t cpus;           /* processors that this process may run on */
    uint32_t io_uring;       /* 1 when the loader would use io_uring for packed shards */
    uint32_t cuda;           /* 1 when a CUDA device can be used */
    uint64_t memory_bytes;   /* what the process may use: the machine's or the cgroup's */
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

/* Fills `system` (struct_size set by the caller). Probes io_uring and opens the CUDA driver, if
 * there is one; blocks for milliseconds, with a driver for up to seconds. */
SLUICE_API sluice_status sluice_system_get_info(sluice_system *system);

/* Bytes of memory that this process may take on top of what it has: the machine's, or less where
 * its cgroup or RLIMIT_AS is near. Reads some files of /proc; UINT64_MAX: not known. */
SLUICE_API uint64_t sluice_memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
