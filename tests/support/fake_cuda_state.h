/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda_state: the internals of fake_cuda, for fake_cuda*.c only.
 *
 * fake_cuda.c: device, errors. fake_cuda_context.c: contexts. fake_cuda_memory.c: host and device
 * memory, copies. fake_cuda_event.c: streams and events. fake_cuda_work.c: the streams' work.
 * fake_cuda_kernel.c: modules and launches. fake_cuda_control.c: the test's side.
 * Lock: fake_cuda.mutex guards everything. A stream without work waits for its own `more`; all
 * other threads wait for `changed`, which is broadcast when work is done. Changes that concern all
 * threads (a released stream, a lost device, anything the test sets) call fake_cuda_wake_locked.
 * Most calls change nothing of this kind, and waking every stream each time made tests several
 * times slower.
 * Functions named _locked need the lock. Objects stay allocated until reset, so that use after
 * destruction is detected, not undefined behaviour.
 */
#ifndef FAKE_CUDA_STATE_H
#define FAKE_CUDA_STATE_H

#include "conversion_kernel.h"
#include "cuda_driver.h"
#include "fake_cuda.h"
#include "ptx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define FAKE_CUDA_QUEUE  256U
#define FAKE_CUDA_THINGS 65536U
#define FAKE_CUDA_RANGES 4U
#define FAKE_CUDA_PARSED 8U
#define FAKE_CUDA_EXPORT __attribute__((visibility("default")))

/* Other calls, which tests make as programs do. */
#define FAKE_CUDA_EXTRA(X)                                               \
    X(context_create, cuCtxCreate_v2,                                    \
      (sl_cu_context * context, unsigned flags, sl_cu_device device))    \
    X(copy_to_host, cuMemcpyDtoHAsync_v2,                                \
      (void *to, sl_cu_address from, size_t bytes, sl_cu_stream stream)) \
    X(host_function, cuLaunchHostFunc, (sl_cu_stream stream, void (*run)(void *ctx), void *ctx))

/* The calls, named after the table's fields. */
typedef enum fake_cuda_call {
#define FAKE_CUDA_CALL(field, symbol, parameters) CALL_##field,
    SL_CUDA_REQUIRED(FAKE_CUDA_CALL) SL_CUDA_OPTIONAL(FAKE_CUDA_CALL)
        FAKE_CUDA_EXTRA(FAKE_CUDA_CALL)
#undef FAKE_CUDA_CALL
            CALLS
} fake_cuda_call;

/* The library's table declares the driver's functions; another test compares it with the toolkit's
 * header. */
#define FAKE_CUDA_DECLARE(field, symbol, parameters) \
    FAKE_CUDA_EXPORT sl_cu_result symbol parameters;
SL_CUDA_REQUIRED(FAKE_CUDA_DECLARE)
SL_CUDA_OPTIONAL(FAKE_CUDA_DECLARE)
FAKE_CUDA_EXTRA(FAKE_CUDA_DECLARE)
#undef FAKE_CUDA_DECLARE

typedef enum fake_cuda_kind {
    KIND_EVENT,
    KIND_STREAM,
    KIND_MEMORY,
    KIND_PINNED, /* registered host memory */
    KIND_HOST,   /* host memory from the driver */
    KIND_MODULE,
    KIND_FUNCTION,
    KINDS
} fake_cuda_kind;

/* Beginning of every object, whose address is its handle, except for memory. */
typedef struct fake_cuda_thing {
    fake_cuda_kind kind;
    bool open;
    bool own;               /* the library's, not the test's */
    uintptr_t key;          /* the library's handle for it */
    size_t bytes;           /* memory */
    void *backing;          /* memory */
    uint8_t *written;       /* memory: for each byte, whether a copy or a kernel has written it */
    bool handed_out;        /* memory: given to the test, which may write to it */
    int device;             /* memory: number of its device */
    bool managed, unmapped; /* memory */
} fake_cuda_thing;

struct CUevent_st {
    fake_cuda_thing thing;
    unsigned flags;
    uint64_t recorded, done; /* records called; records that their stream has reached */
    uint64_t done_ns;        /* time of the last one done */
};

struct CUmod_st {
    fake_cuda_thing thing;
    bool code; /* not PTX */
    const ptx_module *ptx;
};

struct CUfunc_st {
    fake_cuda_thing thing;
    struct CUmod_st *module;
    const ptx_kernel *kernel;
    sluice_dtype dtype;
    bool mixes;
};

typedef struct fake_cuda_range {
    uintptr_t begin, end; /* device addresses; both 0: no range */
    bool write;
} fake_cuda_range;

typedef enum fake_cuda_work_kind {
    WORK_COPY,
    WORK_RECORD,
    WORK_WAIT,
    WORK_KERNEL,
    WORK_READER
} fake_cuda_work_kind;

typedef struct fake_cuda_work {
    fake_cuda_work_kind kind;
    uint64_t number; /* order of submission, over all streams */
    fake_cuda_range ranges[FAKE_CUDA_RANGES];
    /* COPY */
    const void *from;
    void *bounce; /* the driver's copy of pageable memory; NULL: none */
    size_t bytes;
    uint64_t hash;
    /* RECORD, WAIT */
    struct CUevent_st *event;
    uint64_t record;
    /* KERNEL */
    const ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    sluice_dtype dtype;
    bool mixes;
    sl_conversion_parameters parameters;
    /* READER: copies to the host first if `to` is not NULL */
    void *to;
    void (*run)(void *ctx);
    void *ctx;
} fake_cuda_work;

struct CUstream_st {
    fake_cuda_thing thing;
    bool blocking; /* synchronizes with the default stream */
    fake_cuda_home home;
    bool hold, capturing, gone;
    pthread_cond_t more; /* signals more work, or the stream's end */
    uint64_t random;
    fake_cuda_work queue[FAKE_CUDA_QUEUE];
    uint64_t given, done;
};

typedef struct fake_cuda {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    fake_cuda_options options;
    bool initialized;
    _Atomic pid_t pid; /* process of the first call */
    _Atomic uint64_t forked_calls;

    fake_cuda_fault fault;
    const char *failed; /* the call that failed */
    unsigned lost;      /* result of every call; 0: not lost */
    bool unsafe_forbidden, unsafe_called;
    unsigned busy; /* copies and kernels in progress */

    uint64_t violations, violations_of[FAKE_CUDA_CHECKS];
    char first[400];
    uint64_t calls[CALLS], copies, kernels, numbers;
    uint64_t retained, pushed;
    uint64_t memory_used;
    fake_cuda_thing *things[FAKE_CUDA_THINGS];
    size_t thing_count;
    struct CUstream_st *default_stream;
    uint32_t workers; /* threads */
    struct {
        uint64_t hash;
        ptx_module *module; /* kept until the process ends */
    } parsed[FAKE_CUDA_PARSED];
} fake_cuda;

extern fake_cuda fake_cuda_the;

/* Requirements of a legal call. */
typedef enum fake_cuda_needs { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT } fake_cuda_needs;

/* Takes the lock. Returns SUCCESS, or the call's result without the lock. */
sl_cu_result fake_cuda_enter(fake_cuda_call call, fake_cuda_needs needs);
/* Does the same for a call that releases something: always takes the lock; the caller returns the
 * result after its work. In a forked child, returns NOT_INITIALIZED without the lock. */
sl_cu_result fake_cuda_enter_close(fake_cuda_call call, fake_cuda_needs needs);
sl_cu_result fake_cuda_leave(sl_cu_result code);
const char *fake_cuda_call_name(fake_cuda_call call);
bool fake_cuda_is_fork(void);
/* True if the calling thread's context is the device's and alive. */
bool fake_cuda_can_work_locked(void);

/* Counts a misuse if `condition` is false. Returns the condition. */
bool fake_cuda_expect_locked(bool condition, fake_cuda_check check, fake_cuda_call call);
/* Counts a misuse that a stream found while working, outside a call. */
bool fake_cuda_expect_work_locked(bool condition, fake_cuda_check check);
/* Counts a kernel that cannot be parsed or fails the executor's checks, with the failure's text. */
void fake_cuda_blame_kernel_locked(const char *text);

/* Allocates a zeroed, open object of `size` bytes; its key is its address. */
void *fake_cuda_make_locked(fake_cuda_kind kind, size_t size);
/* Finds an object by handle; NULL, and a misuse, if there is none or it is closed. */
void *fake_cuda_find_locked(fake_cuda_kind kind, const void *key, fake_cuda_call call);
/* Finds the open memory that contains all of [address, address + bytes); NULL: none. */
fake_cuda_thing *fake_cuda_holding_locked(fake_cuda_kind kind, const void *address, size_t bytes);
/* Returns the host location of the device's bytes. */
void *fake_cuda_backing_locked(uintptr_t address);
/* Returns a mark for each byte that was written; NULL: no marks are kept, or the test may write
 * the bytes. */
uint8_t *fake_cuda_written_locked(uintptr_t address);

struct CUstream_st *fake_cuda_stream_locked(struct CUstream_st *stream, fake_cuda_call call);
/* Value of every context except the primary one. */
extern int fake_cuda_other_context, fake_cuda_primary_context;
struct CUstream_st *fake_cuda_stream_make_locked(bool own, bool blocking);
/* Numbers the work and appends it; waits while the queue is full. */
void fake_cuda_give_locked(struct CUstream_st *stream, const fake_cuda_work *work);
/* True if unfinished work uses [begin, end) of device memory or of a copy's source. */
bool fake_cuda_in_use_locked(uintptr_t begin, uintptr_t end);
uint64_t fake_cuda_hash(const void *memory, size_t bytes);
uint64_t fake_cuda_now_ns(void);

/* Makes every waiting thread check again. */
void fake_cuda_wake_locked(void);

/* The calling thread's counters. */
extern _Thread_local uint64_t fake_cuda_host_waits;
extern _Thread_local uint32_t fake_cuda_depth;
extern _Thread_local unsigned fake_cuda_mode;

#endif
