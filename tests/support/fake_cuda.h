/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda: a CUDA driver for tests, made of threads.
 *
 * Purpose: a shared library that takes the place of libcuda.so.1 (environment variable
 * SLUICE_CUDA_DRIVER), so that the real CUDA device runs where there is none. Each stream is a
 * thread that does its work in order, late by a random delay. Device memory is apart from the
 * host's: its addresses cannot be read, `memory` tells where the bytes are. Kernels are the
 * PTX that the library loads, run and checked by an executor (ptx.h). Every call is checked, and
 * what a real driver would answer with silent wrong data, a spinning processor or a broken graph is
 * counted. Order: accesses to device memory are compared in the order in which they were given. One
 * that begins while an earlier one that conflicts with it is not done is a misuse, and is left out.
 * Threads: any. Calls in a forked child are only counted.
 * A test gets the control by fake_cuda_open (fake_cuda_client.h).
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

typedef enum fake_cuda_check {
    FAKE_CUDA_UNPINNED,    /* copy from memory that is not registered */
    FAKE_CUDA_NO_TARGET,   /* copy or kernel on memory that is not the device's */
    FAKE_CUDA_CHANGED,     /* the source changed between the call and the copy */
    FAKE_CUDA_OVERWRITE,   /* write while earlier work still has to read */
    FAKE_CUDA_TOO_EARLY,   /* read while earlier work still has to write */
    FAKE_CUDA_DISORDER,    /* write while earlier work still has to write */
    FAKE_CUDA_UNRECORDED,  /* wait for an event never recorded */
    FAKE_CUDA_SPINNING,    /* host wait for an event without BLOCKING_SYNC */
    FAKE_CUDA_DEAD,        /* use of something destroyed, or never made; destroyed twice */
    FAKE_CUDA_PULLED,      /* memory freed or unregistered under work */
    FAKE_CUDA_NO_CONTEXT,  /* no context current, or one that nobody retains */
    FAKE_CUDA_NOT_RELAXED, /* the thread's capture mode is not relaxed */
    FAKE_CUDA_CAPTURED,    /* work for a stream that is being captured */
    FAKE_CUDA_JOINED,      /* a stream that waits for the default stream */
    FAKE_CUDA_BAD_LAUNCH,  /* a kernel launched in a way that it cannot run */
    FAKE_CUDA_KERNEL,      /* a kernel that is not understood, or fails a check of ptx.h */
    FAKE_CUDA_POLLED,      /* time asked of events to see whether they are done */
    FAKE_CUDA_CHECKS
} fake_cuda_check;

/* Where a stream is said to have been made. */
typedef enum fake_cuda_home {
    FAKE_CUDA_PRIMARY,
    FAKE_CUDA_GREEN,         /* in a green context of the device */
    FAKE_CUDA_OTHER_CONTEXT, /* in a context of the program's own, on the device */
    FAKE_CUDA_OTHER_DEVICE,  /* on cuda:1 */
    FAKE_CUDA_NO_HOME        /* in a green context that is destroyed: each call answers 709 */
} fake_cuda_home;

typedef struct fake_cuda_options {
    uint64_t seed;
    uint32_t delay_us;     /* longest delay before a piece of a stream's work; most have none */
    uint64_t copy_rate;    /* bytes/s; 0: as fast as it goes */
    uint64_t memory;       /* bytes of device memory; 0: 1 GiB */
    int memory_device;     /* device memory that is made now is said to be of this device */
    bool memory_managed;   /* device memory that is made now is said to be managed */
    bool memory_unmapped;  /* ... is said to be reserved only */
    bool no_concurrency;   /* the device cannot share managed memory with the host */
    bool pageable;         /* copies from memory that is not registered are no misuse */
    bool no_register;      /* the device's attribute says that memory cannot be registered */
    bool ignore_releases;  /* broken on purpose: the library's streams wait for no event */
    bool ignore_ready;     /* broken on purpose: the test's streams wait for no event */
    bool events_lie;       /* broken on purpose: query and synchronize say done at once */
    bool copies_lie;       /* broken on purpose: copies leave out the first byte */
    unsigned init_code;    /* what cuInit answers */
    bool instance;         /* the device is a MIG instance */
    bool on_node_0;        /* near the host's NUMA node 0; else near none */
    bool no_devices;       /* cuDeviceGetCount answers 0 */
    int devices;           /* 0: 1; those behind the first are only counted */
    bool one_queue;        /* all streams are one, as with CUDA_DEVICE_MAX_CONNECTIONS=1 */
    bool deinitialized;    /* every call answers 4, as at the end of a process */
    int version;           /* 0: 13000 */
    unsigned code_refusal; /* what modules of binary code are refused with; 0: they are taken */
    bool lazy_refusal;     /* not when they are loaded, but when a function is asked for */
    unsigned text_refusal; /* the same of PTX; the compiler's log has two lines */
} fake_cuda_options;

/* A kernel of the test's: reads up to two pieces of device memory. */
typedef struct fake_cuda_reader {
    const void *from[2];
    size_t bytes[2];
    void (*run)(void *ctx);
    void *ctx;
} fake_cuda_reader;

/* A failure on request: the `nth` call (1: the next) of `symbol` (NULL: of any) answers `code`.
 * `sticky`: the device is lost from then on. Calls that give something back (destroy, free, pop)
 * do it all the same. nth 0: none. */
typedef struct fake_cuda_fault {
    const char *symbol;
    uint64_t nth;
    unsigned code;
    bool sticky;
} fake_cuda_fault;

typedef struct fake_cuda_control {
    void (*set)(const fake_cuda_options *options);
    /* Waits for all streams, frees everything, forgets everything; options are the default. */
    void (*reset)(void);

    void (*fail_call)(const fake_cuda_fault *fault);
    /* The call that has failed on request; NULL: none. */
    const char *(*failed_call)(void);
    /* The device is lost: every call answers `code`, nothing queued is done. */
    void (*lose)(unsigned code);

    /* true: no stream begins another piece of work; the last word counts for a stream. */
    void (*hold)(bool hold);
    void (*hold_stream)(struct CUstream_st *stream, bool hold);
    /* A stream of the test's; NULL is the default stream. `blocking`: with the default stream. */
    struct CUstream_st *(*stream_new)(bool blocking);
    void (*set_home)(struct CUstream_st *stream, fake_cuda_home home);
    /* As cuStreamDestroy by its owner. */
    void (*stream_end)(struct CUstream_st *stream);
    void (*synchronize)(struct CUstream_st *stream);
    void (*capture)(struct CUstream_st *stream, bool capture);
    /* true: as while a stream is captured in global mode: calls that are unsafe then, of threads
     * whose own mode is not relaxed, are refused. Whether none was since it was last set. */
    bool (*forbid_unsafe)(bool forbid);
    /* Holds the context, as the first launch of a kernel may: no other call gets on meanwhile. */
    void (*hold_context)(uint32_t us);
    void (*launch)(struct CUstream_st *stream, const fake_cuda_reader *reader);
    /* Where the bytes at a device address are; NULL: nowhere. All of that memory counts as written
     * from then on. */
    void *(*memory)(const void *address);

    uint64_t (*violations)(void);
    uint64_t (*violations_of)(fake_cuda_check check);
    /* "call: misuse"; "" when none. Constant once there is one, until reset. */
    const char *(*first_violation)(void);
    /* Things that are open, in words; 0 and "" when none. */
    uint64_t (*leaks)(char *text, size_t bytes);
    uint64_t (*calls)(const char *symbol); /* NULL: of any */
    uint64_t (*copies)(void);              /* begun by streams */
    uint64_t (*kernels)(void);             /* done, of the library's */
    uint64_t (*forked_calls)(void);        /* in this forked child */
    /* Of the calling thread. */
    uint64_t (*host_waits)(void); /* cuEventSynchronize and cuStreamSynchronize */
    uint32_t (*context_depth)(void);
    uint32_t (*capture_mode)(void);
} fake_cuda_control;

/* The only symbol besides the driver's. */
const fake_cuda_control *fake_cuda_get_control(void);

#endif
