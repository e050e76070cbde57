/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda: a CUDA driver for tests, made of threads.
 *
 * Purpose: a shared library that replaces libcuda.so.1 (environment variable SLUICE_CUDA_DRIVER),
 * so that the real CUDA device code runs without a GPU. Each stream is a thread that does its work
 * in order, after random delays. Device memory is separate from the host's: its addresses cannot be
 * read, and `memory` returns the bytes behind them. Kernels are the PTX that the library loads, run
 * and checked by an executor (ptx.h). Every call is checked. Misuses that a real driver would
 * answer with silently wrong data, a busy-waiting CPU or a broken graph are counted.
 * Order: accesses to device memory are compared in the order of their submission. One that begins
 * before an earlier conflicting access is done is a misuse, and is skipped.
 * Threads: any. Calls in a forked child are only counted.
 * A test gets the control from fake_cuda_open (fake_cuda_client.h).
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

typedef enum fake_cuda_check {
    FAKE_CUDA_UNPINNED,    /* copy from memory that is not registered */
    FAKE_CUDA_NO_TARGET,   /* copy or kernel on memory that is not device memory */
    FAKE_CUDA_CHANGED,     /* source changed between the call and the copy */
    FAKE_CUDA_OVERWRITE,   /* write before earlier work has read */
    FAKE_CUDA_TOO_EARLY,   /* read before earlier work has written */
    FAKE_CUDA_DISORDER,    /* write before earlier work has written */
    FAKE_CUDA_UNRECORDED,  /* wait for an event never recorded */
    FAKE_CUDA_SPINNING,    /* host wait for an event without BLOCKING_SYNC */
    FAKE_CUDA_DEAD,        /* use of something destroyed or never created; destroyed twice */
    FAKE_CUDA_PULLED,      /* memory freed or unregistered while work uses it */
    FAKE_CUDA_NO_CONTEXT,  /* no current context, or one that is not retained */
    FAKE_CUDA_NOT_RELAXED, /* the thread's capture mode is not relaxed */
    FAKE_CUDA_CAPTURED,    /* work for a stream under capture */
    FAKE_CUDA_JOINED,      /* a stream that waits for the default stream */
    FAKE_CUDA_BAD_LAUNCH,  /* kernel launched with invalid dimensions or parameters */
    FAKE_CUDA_KERNEL,      /* kernel that cannot be parsed or fails a check of ptx.h */
    FAKE_CUDA_POLLED,      /* event polled by asking for its time */
    FAKE_CUDA_CHECKS
} fake_cuda_check;

/* Where a stream claims to have been created. */
typedef enum fake_cuda_home {
    FAKE_CUDA_PRIMARY,
    FAKE_CUDA_GREEN,         /* in a green context of the device */
    FAKE_CUDA_OTHER_CONTEXT, /* in another context of the program, on the device */
    FAKE_CUDA_OTHER_DEVICE,  /* on cuda:1 */
    FAKE_CUDA_NO_HOME        /* in a destroyed green context: each call returns 709 */
} fake_cuda_home;

typedef struct fake_cuda_options {
    uint64_t seed;
    uint32_t delay_us;     /* longest delay before a stream's work; most work has none */
    uint64_t copy_rate;    /* bytes/s; 0: unlimited */
    uint64_t memory;       /* bytes of device memory; 0: 1 GiB */
    int memory_device;     /* device number reported for device memory allocated from now on */
    bool memory_managed;   /* memory allocated from now on is reported as managed */
    bool memory_unmapped;  /* ... as reserved only */
    bool no_concurrency;   /* the device cannot share managed memory with the host */
    bool pageable;         /* copies from unregistered memory are allowed */
    bool no_register;      /* device attribute: memory cannot be registered */
    bool ignore_releases;  /* deliberately broken: the library's streams wait for no event */
    bool ignore_ready;     /* deliberately broken: the test's streams wait for no event */
    bool events_lie;       /* deliberately broken: query and synchronize report done at once */
    bool copies_lie;       /* deliberately broken: copies omit the first byte */
    unsigned init_code;    /* result of cuInit */
    bool instance;         /* the device is a MIG instance */
    bool on_node_0;        /* near the host's NUMA node 0; otherwise near none */
    bool no_devices;       /* cuDeviceGetCount returns 0 */
    int devices;           /* 0: 1; only the first is usable, the others are only counted */
    bool one_queue;        /* all streams share one queue, as with CUDA_DEVICE_MAX_CONNECTIONS=1 */
    bool deinitialized;    /* every call returns 4, as at process exit */
    int version;           /* 0: 13000 */
    unsigned code_refusal; /* error for modules of binary code; 0: they are accepted */
    bool lazy_refusal;     /* the error comes when a function is requested, not at loading */
    unsigned text_refusal; /* error for PTX; the compiler's log has two lines */
} fake_cuda_options;

/* A kernel of the test's that reads up to two ranges of device memory. */
typedef struct fake_cuda_reader {
    const void *from[2];
    size_t bytes[2];
    void (*run)(void *ctx);
    void *ctx;
} fake_cuda_reader;

/* A requested failure: the `nth` call (1: the next) of `symbol` (NULL: any) returns `code`.
 * `sticky`: the device is lost from then on. Calls that release something (destroy, free, pop)
 * still do it. nth 0: none. */
typedef struct fake_cuda_fault {
    const char *symbol;
    uint64_t nth;
    unsigned code;
    bool sticky;
} fake_cuda_fault;

typedef struct fake_cuda_control {
    void (*set)(const fake_cuda_options *options);
    /* Waits for all streams, frees and forgets everything, and restores the default options. */
    void (*reset)(void);

    void (*fail_call)(const fake_cuda_fault *fault);
    /* Returns the call that failed on request; NULL: none. */
    const char *(*failed_call)(void);
    /* Loses the device: every call returns `code`, and no queued work is done. */
    void (*lose)(unsigned code);

    /* true: no stream begins more work. For one stream, the latest call counts. */
    void (*hold)(bool hold);
    void (*hold_stream)(struct CUstream_st *stream, bool hold);
    /* Creates a stream of the test's; NULL is the default stream. `blocking`: synchronizes with the
     * default stream. */
    struct CUstream_st *(*stream_new)(bool blocking);
    void (*set_home)(struct CUstream_st *stream, fake_cuda_home home);
    /* Destroys the stream, as its owner would by cuStreamDestroy. */
    void (*stream_end)(struct CUstream_st *stream);
    void (*synchronize)(struct CUstream_st *stream);
    void (*capture)(struct CUstream_st *stream, bool capture);
    /* true: as during a stream capture in global mode, unsafe calls fail in threads whose own mode
     * is not relaxed. Returns true if no call has failed since the last setting. */
    bool (*forbid_unsafe)(bool forbid);
    /* Holds the context, as the first launch of a kernel may: no other call makes progress
     * meanwhile. */
    void (*hold_context)(uint32_t us);
    void (*launch)(struct CUstream_st *stream, const fake_cuda_reader *reader);
    /* Returns the bytes behind a device address; NULL: not in device memory. All of that memory
     * counts as written from then on. */
    void *(*memory)(const void *address);

    uint64_t (*violations)(void);
    uint64_t (*violations_of)(fake_cuda_check check);
    /* Returns "call: misuse", or "" if there was none. Fixed once set, until reset. */
    const char *(*first_violation)(void);
    /* Describes objects that are still open; 0 and "" if there are none. */
    uint64_t (*leaks)(char *text, size_t bytes);
    uint64_t (*calls)(const char *symbol); /* NULL: any */
    uint64_t (*copies)(void);              /* begun by streams */
    uint64_t (*kernels)(void);             /* run for the library */
    uint64_t (*forked_calls)(void);        /* in this forked child */
    /* Counts for the calling thread. */
    uint64_t (*host_waits)(void); /* cuEventSynchronize and cuStreamSynchronize */
    uint32_t (*context_depth)(void);
    uint32_t (*capture_mode)(void);
} fake_cuda_control;

/* The only exported symbol besides the driver's. */
const fake_cuda_control *fake_cuda_get_control(void);

#endif
