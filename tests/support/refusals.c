/* SPDX-License-Identifier: Apache-2.0 */
#include "refusals.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CALLS_MAX = 1 << 17, STACK_MAX = 24, CHOSEN_SLOTS = 1 << 16, OTHERS = 512 };

typedef enum call_kind {
    CALL_MALLOC,
    CALL_CALLOC,
    CALL_REALLOC,
    CALL_MMAP,
    CALL_OPEN,
    CALL_OPENAT,
    CALL_READ,
    CALL_PREAD,
    CALL_FSTAT,
    CALL_STAT,
    CALL_FSTATAT,
    CALL_OPENDIR,
    CALL_FDOPENDIR,
    CALL_READDIR,
    CALL_FLOCK,
    CALL_EVENTFD,
    CALL_THREAD,
    CALL_MADVISE,
    CALL_FOPEN,
    CALL_RING,
    CALL_SUBMIT,
    CALL_REGISTER,
    CALL_PWRITE,
    CALL_FSYNC,
    CALL_RENAME,
    CALL_RENAMEAT,
    CALL_UNLINK,
    CALL_UNLINKAT,
    CALL_MKDIR,
    CALL_MKDIRAT,
    CALL_FTRUNCATE,
    CALL_KINDS
} call_kind;

static const struct {
    const char *name;
    int sys_errno;
    bool interruptible;
} kinds[CALL_KINDS] = {
    [CALL_MALLOC] = {"malloc", ENOMEM, false},
    [CALL_CALLOC] = {"calloc", ENOMEM, false},
    [CALL_REALLOC] = {"realloc", ENOMEM, false},
    [CALL_MMAP] = {"mmap", ENOMEM, false},
    [CALL_OPEN] = {"open", EMFILE, true},
    [CALL_OPENAT] = {"openat", EMFILE, true},
    [CALL_READ] = {"read", EIO, true},
    [CALL_PREAD] = {"pread", EIO, true},
    [CALL_FSTAT] = {"fstat", EIO, false},
    [CALL_STAT] = {"stat", EIO, false},
    [CALL_FSTATAT] = {"fstatat", EIO, false},
    [CALL_OPENDIR] = {"opendir", EMFILE, true},
    [CALL_FDOPENDIR] = {"fdopendir", ENOMEM, false},
    [CALL_READDIR] = {"readdir", EIO, false},
    [CALL_FLOCK] = {"flock", ENOLCK, true},
    [CALL_EVENTFD] = {"eventfd", EMFILE, false},
    [CALL_THREAD] = {"pthread_create", EAGAIN, false},
    [CALL_MADVISE] = {"madvise", ENOMEM, false},
    [CALL_FOPEN] = {"fopen", EMFILE, true},
    [CALL_RING] = {"io_uring_queue_init_params", ENOMEM, false},
    [CALL_SUBMIT] = {"io_uring_enter", EAGAIN, true},
    [CALL_REGISTER] = {"io_uring_register_buffers", ENOMEM, false},
    [CALL_PWRITE] = {"pwrite", ENOSPC, true},
    [CALL_FSYNC] = {"fsync", EIO, false},
    [CALL_RENAME] = {"rename", ENOSPC, false},
    [CALL_RENAMEAT] = {"renameat", ENOSPC, false},
    [CALL_UNLINK] = {"unlink", EIO, false},
    [CALL_UNLINKAT] = {"unlinkat", EIO, false},
    [CALL_MKDIR] = {"mkdir", ENOSPC, false},
    [CALL_MKDIRAT] = {"mkdirat", ENOSPC, false},
    [CALL_FTRUNCATE] = {"ftruncate", ENOSPC, false},
};

/* Relaxed everywhere: calls of several threads may be counted in any order. */
static _Atomic int state; /* 0 off, 1 recording, 2 armed */
static _Atomic uint32_t calls;
static _Atomic int refused_kind;
static refusal armed_mode;
static uint32_t armed_call;
static void *refused_stack[STACK_MAX];
static _Atomic int refused_depth;
static struct {
    uint64_t stack;
    uint8_t kind;
} recorded[CALLS_MAX];
static uint32_t recorded_count;

const char *refusal_name(refusal mode)
{
    static const char *const names[] = {"once", "from then on", "interrupted"};
    return names[mode];
}

static uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ (value >> 29);
}

/* Returns a number for the caller's stack and the kind of call. */
static uint64_t stack_number(call_kind kind)
{
    void *frames[STACK_MAX];
    const int depth = backtrace(frames, STACK_MAX);
    uint64_t number = (uint64_t)kind + 1;
    for (int i = 0; i < depth; i++) {
        number = mixed(number + (uint64_t)(uintptr_t)frames[i]);
    }
    return number;
}

static bool is_met(call_kind kind, uint32_t call)
{
    const int met = atomic_load_explicit(&refused_kind, memory_order_relaxed);
    if (call == armed_call) {
        return armed_mode != REFUSAL_INTERRUPTED || kinds[kind].interruptible;
    }
    return armed_mode == REFUSAL_STAYS && met == (int)kind;
}

/* Returns the errno with which the call must fail; 0: make the call. */
static int refuse(call_kind kind)
{
    const int now = atomic_load_explicit(&state, memory_order_relaxed);
    if (now == 0) {
        return 0;
    }
    const uint32_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (now == 1) {
        if (call < CALLS_MAX) {
            recorded[call].stack = stack_number(kind);
            recorded[call].kind = (uint8_t)kind;
        }
        return 0;
    }
    if (!is_met(kind, call)) {
        return 0;
    }
    if (call == armed_call) {
        atomic_store_explicit(&refused_depth, backtrace(refused_stack, STACK_MAX),
                              memory_order_relaxed);
        atomic_store_explicit(&refused_kind, (int)kind, memory_order_relaxed);
    }
    return armed_mode == REFUSAL_INTERRUPTED ? EINTR : kinds[kind].sys_errno;
}

static void begin(int next)
{
    void *frames[2];
    (void)backtrace(frames, 2); /* the first call loads a library */
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    atomic_store_explicit(&refused_kind, -1, memory_order_relaxed);
    atomic_store_explicit(&refused_depth, 0, memory_order_relaxed);
    atomic_store_explicit(&state, next, memory_order_relaxed);
}

void refusals_record(void)
{
    begin(1);
}

uint32_t refusals_count(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

uint32_t refusals_recorded(void)
{
    refusals_disarm();
    recorded_count = refusals_count();
    recorded_count = recorded_count < CALLS_MAX ? recorded_count : CALLS_MAX;
    return recorded_count;
}

/* True if no run in this mode, for any dataset, has chosen this stack before. */
static bool is_new(refusal mode, uint64_t stack)
{
    static uint64_t seen[CHOSEN_SLOTS];
    const uint64_t wanted = mixed(stack + (uint64_t)mode) | 1;
    for (uint64_t slot = wanted >> 8, tries = 0; tries < CHOSEN_SLOTS; slot++, tries++) {
        uint64_t *at = &seen[slot % CHOSEN_SLOTS];
        if (*at == wanted) {
            return false;
        }
        if (*at == 0) {
            *at = wanted;
            return true;
        }
    }
    return true;
}

bool refusals_chosen(refusal mode, uint32_t call, uint64_t seed, bool every)
{
    const uint64_t stack = recorded[call].stack;
    if (mode == REFUSAL_INTERRUPTED && !kinds[recorded[call].kind].interruptible) {
        return false;
    }
    if (every || mixed(seed + call * UINT64_C(7919)) % OTHERS == 0) {
        return true;
    }
    /* a lasting refusal differs from a single one only for code that retries */
    const uint64_t of = (uint64_t)TEST_AMOUNT(1, 4) * (mode == REFUSAL_STAYS ? 3 : 1);
    return mixed(stack + seed) % of == 0 && is_new(mode, stack);
}

void refusals_arm(refusal mode, uint32_t call)
{
    armed_mode = mode;
    armed_call = call;
    begin(2);
}

void refusals_disarm(void)
{
    atomic_store_explicit(&state, 0, memory_order_relaxed);
}

bool refusals_met(void)
{
    return atomic_load_explicit(&refused_kind, memory_order_relaxed) >= 0;
}

const char *refusals_what(void)
{
    const int kind = atomic_load_explicit(&refused_kind, memory_order_relaxed);
    return kind >= 0 ? kinds[kind].name : "nothing";
}

void refusals_print_stack(void)
{
    backtrace_symbols_fd(refused_stack, atomic_load_explicit(&refused_depth, memory_order_relaxed),
                         STDERR_FILENO);
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

/* A call, with its parameters and arguments in brackets, and its result when refused. */
#define WRAPPED(result, name, parameters, arguments, kind, refused) \
    result __real_##name parameters;                                \
    result __wrap_##name parameters;                                \
    result __wrap_##name parameters                                 \
    {                                                               \
        const int failure = refuse(kind);                           \
        if (failure != 0) {                                         \
            errno = failure;                                        \
            return refused;                                         \
        }                                                           \
        return __real_##name arguments;                             \
    }

WRAPPED(void *, malloc, (size_t bytes), (bytes), CALL_MALLOC, NULL)
WRAPPED(void *, calloc, (size_t count, size_t bytes), (count, bytes), CALL_CALLOC, NULL)
WRAPPED(void *, realloc, (void *memory, size_t bytes), (memory, bytes), CALL_REALLOC, NULL)
WRAPPED(void *, mmap,
        (void *address, size_t bytes, int protection, int flags, int fd, off_t offset),
        (address, bytes, protection, flags, fd, offset), CALL_MMAP, MAP_FAILED)
WRAPPED(ssize_t, read, (int fd, void *data, size_t bytes), (fd, data, bytes), CALL_READ, -1)
WRAPPED(ssize_t, pread, (int fd, void *data, size_t bytes, off_t offset), (fd, data, bytes, offset),
        CALL_PREAD, -1)
WRAPPED(int, fstat, (int fd, struct stat *status), (fd, status), CALL_FSTAT, -1)
WRAPPED(int, stat, (const char *path, struct stat *status), (path, status), CALL_STAT, -1)
WRAPPED(int, fstatat, (int fd, const char *path, struct stat *status, int flags),
        (fd, path, status, flags), CALL_FSTATAT, -1)
WRAPPED(DIR *, opendir, (const char *path), (path), CALL_OPENDIR, NULL)
WRAPPED(DIR *, fdopendir, (int fd), (fd), CALL_FDOPENDIR, NULL)
WRAPPED(struct dirent *, readdir, (DIR * folder), (folder), CALL_READDIR, NULL)
WRAPPED(int, flock, (int fd, int operation), (fd, operation), CALL_FLOCK, -1)
WRAPPED(int, eventfd, (unsigned count, int flags), (count, flags), CALL_EVENTFD, -1)
WRAPPED(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *),
         void *argument),
        (thread, attributes, run, argument), CALL_THREAD, failure)
WRAPPED(int, madvise, (void *address, size_t bytes, int advice), (address, bytes, advice),
        CALL_MADVISE, -1)
WRAPPED(FILE *, fopen, (const char *path, const char *mode), (path, mode), CALL_FOPEN, NULL)
WRAPPED(ssize_t, pwrite, (int fd, const void *data, size_t bytes, off_t offset),
        (fd, data, bytes, offset), CALL_PWRITE, -1)
WRAPPED(int, fsync, (int fd), (fd), CALL_FSYNC, -1)
WRAPPED(int, rename, (const char *from, const char *to), (from, to), CALL_RENAME, -1)
WRAPPED(int, renameat, (int from_fd, const char *from, int to_fd, const char *to),
        (from_fd, from, to_fd, to), CALL_RENAMEAT, -1)
WRAPPED(int, unlink, (const char *path), (path), CALL_UNLINK, -1)
WRAPPED(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), CALL_UNLINKAT, -1)
WRAPPED(int, mkdir, (const char *path, mode_t mode), (path, mode), CALL_MKDIR, -1)
WRAPPED(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), CALL_MKDIRAT, -1)
WRAPPED(int, ftruncate, (int fd, off_t bytes), (fd, bytes), CALL_FTRUNCATE, -1)
WRAPPED(int, io_uring_queue_init_params,
        (unsigned entries, struct io_uring *ring, struct io_uring_params *params),
        (entries, ring, params), CALL_RING, -failure)
WRAPPED(int, io_uring_submit_and_wait, (struct io_uring * ring, unsigned count), (ring, count),
        CALL_SUBMIT, -failure)
WRAPPED(int, io_uring_submit_and_get_events, (struct io_uring * ring), (ring), CALL_SUBMIT,
        -failure)
WRAPPED(int, io_uring_register_buffers,
        (struct io_uring * ring, const struct iovec *buffers, unsigned count),
        (ring, buffers, count), CALL_REGISTER, -failure)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left);

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int failure = refuse(CALL_OPEN);
    errno = failure != 0 ? failure : errno;
    return failure != 0 ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int fd, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const int failure = refuse(CALL_OPENAT);
    errno = failure != 0 ? failure : errno;
    return failure != 0 ? -1 : __real_openat(fd, path, flags, mode);
}

/* Does not sleep: delayed work is done at once. */
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left)
{
    (void)clock;
    (void)flags;
    (void)until;
    (void)left;
    return 0;
}

DIR *__real_opendir(const char *path);
struct dirent *__real_readdir(DIR *folder);
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

uint32_t refusals_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = __real_opendir("/proc/self/fd");
    while (folder != NULL && __real_readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}
