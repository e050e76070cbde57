/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring_setup: makes a ring and tries it before it is relied on. Called by the thread that owns
 * the ring; failure gives a reason, and reads use threads instead.
 */
#include "uring_setup.h"

#include "clock.h"
#include "error.h"
#include "minmax.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The kernel's interface, by number: the header may be older than the kernel. */
#define SETUP_CQSIZE        (1U << 3)
#define SETUP_SUBMIT_ALL    (1U << 7)  /* 5.18 */
#define SETUP_COOP_TASKRUN  (1U << 8)  /* 5.19 */
#define SETUP_SINGLE_ISSUER (1U << 12) /* 6.0 */
#define SETUP_DEFER_TASKRUN (1U << 13) /* 6.1 */
#define FEATURE_NODROP      (1U << 1)  /* no completion is lost */
#define FEATURE_EXT_ARG     (1U << 8)  /* waits with a timeout */

#define WORKERS_MAX     4U /* kernel threads for blocking reads, of each kind */
#define REGISTER_LEAST  SL_SLAB_ALIGN
#define BUFFERS_MAX     64U
#define SELF_TEST_BYTES 64U
#define SELF_TEST_S     2 /* for a completion to arrive, and for "try again" to end */
#define NS_PER_S        UINT64_C(1000000000)
#define PAUSE_NS        UINT64_C(1000000) /* before another try */

bool sl_ring_kernel_fit(const char *release)
{
    unsigned long version[3] = {0, 0, 0};
    for (size_t i = 0; i < 3; i++) {
        char *end = NULL;
        version[i] = strtoul(release, &end, 10);
        if (end == release || *end != '.') {
            break;
        }
        release = end + 1;
    }
    if (version[0] == 5 && version[1] == 15) {
        return version[2] >= 90;
    }
    return version[0] > 6 || (version[0] == 6 && version[1] >= 1);
}

/* Returns the sysctl kernel.io_uring_disabled; 0 if it does not exist. */
static char disabled_by_sysctl(void)
{
    char value = '0';
    int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, &value, 1) != 1) {
            value = '0';
        }
        close(fd);
    }
    return value;
}

static const char *hint_for(int sys_errno)
{
    switch (sys_errno) {
    case EPERM:
    case EACCES:
        return disabled_by_sysctl() != '0' ? "sysctl kernel.io_uring_disabled is set"
                                           : "a seccomp profile of the container?";
    case ENOSYS:
        return "the kernel lacks io_uring, or a seccomp profile blocks it";
    case ENOMEM:
        return "is RLIMIT_MEMLOCK (ulimit -l) too small?";
    case EMFILE:
    case ENFILE:
        return "no descriptor is free: raise RLIMIT_NOFILE (ulimit -n)";
    case EAGAIN:
    case EINTR:
        return "the call failed at each of many tries";
    case ETIME:
        return "no completion came in time";
    default:
        return "unexpected";
    }
}

static sluice_status refused(sluice_error *error, const char *call, int sys_errno)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, "io", sys_errno, NULL, -1,
                         "%s failed with %s: %s", call, strerrorname_np(sys_errno),
                         hint_for(sys_errno));
}

static int set_up(struct io_uring *ring, uint32_t entries, struct io_uring_params *params)
{
    static const uint32_t ladder[] = {
        SETUP_SUBMIT_ALL | SETUP_COOP_TASKRUN | SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN,
        SETUP_SUBMIT_ALL | SETUP_COOP_TASKRUN | SETUP_SINGLE_ISSUER,
        SETUP_SUBMIT_ALL | SETUP_COOP_TASKRUN,
        SETUP_SUBMIT_ALL,
        0,
    };
    int result = -EINVAL;
    for (size_t i = 0; result == -EINVAL && i < sizeof(ladder) / sizeof(ladder[0]); i++) {
        memset(params, 0, sizeof(*params));
        params->flags = ladder[i] | SETUP_CQSIZE;
        params->cq_entries = 2 * entries;
        result = io_uring_queue_init_params(entries, ring, params);
    }
    return result;
}

/* Tries one NOP and one read of `fd`: 0 if both completed, or the errno of the failing call. A
 * filter may answer "try again" forever. */
static int try_ring(struct io_uring *ring, int fd, uint8_t *buffer)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    io_uring_prep_nop(sqe);
    io_uring_sqe_set_data64(sqe, 0);
    sqe = io_uring_get_sqe(ring);
    io_uring_prep_read(sqe, fd, buffer, SELF_TEST_BYTES, 0);
    io_uring_sqe_set_data64(sqe, SELF_TEST_BYTES);
    const uint64_t deadline = sl_now_ns() + SELF_TEST_S * NS_PER_S;
    for (uint32_t done = 0; done < 2;) {
        struct io_uring_cqe *cqe = NULL;
        struct __kernel_timespec patience = {.tv_sec = SELF_TEST_S};
        int result = io_uring_submit_and_wait_timeout(ring, &cqe, 1, &patience, NULL);
        if ((result == -EINTR || result == -EAGAIN) && sl_now_ns() < deadline) {
            sl_sleep_until_ns(sl_now_ns() + PAUSE_NS);
            continue;
        }
        if (result < 0 || cqe == NULL) {
            return result < 0 ? -result : EIO;
        }
        int expected = (int)io_uring_cqe_get_data64(cqe);
        result = cqe->res;
        io_uring_cqe_seen(ring, cqe);
        if (result != expected) {
            return result < 0 ? -result : EIO;
        }
        done++;
    }
    return 0;
}

static int self_test(struct io_uring *ring)
{
    uint8_t wrote[SELF_TEST_BYTES];
    uint8_t got[SELF_TEST_BYTES] = {0};
    for (size_t i = 0; i < sizeof(wrote); i++) {
        wrote[i] = (uint8_t)(i + 1);
    }
    int fd = memfd_create("sluice-self-test", MFD_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int failed = EIO;
    if (write(fd, wrote, sizeof(wrote)) == (ssize_t)sizeof(wrote)) {
        failed = try_ring(ring, fd, got);
    }
    close(fd);
    if (failed == 0 && memcmp(wrote, got, sizeof(got)) != 0) {
        failed = EIO;
    }
    return failed;
}

sluice_status sl_ring_open(struct io_uring *ring, uint32_t entries, sluice_error *error)
{
    struct utsname name;
    if (uname(&name) != 0 || !sl_ring_kernel_fit(name.release)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "io",
                            "io_uring of kernel %.32s is too old: 5.15.90 or 6.1 is needed",
                            name.release);
    }
    struct io_uring_params params;
    int result = set_up(ring, entries, &params);
    if (result < 0) {
        return refused(error, "io_uring_setup", -result);
    }
    if ((params.features & FEATURE_NODROP) == 0 || (params.features & FEATURE_EXT_ARG) == 0) {
        io_uring_queue_exit(ring);
        return sl_error_set(error, SLUICE_UNSUPPORTED, "io",
                            "io_uring lacks features (it has 0x%x)", params.features);
    }
    int failed = self_test(ring);
    if (failed != 0) {
        io_uring_queue_exit(ring);
        return refused(error, "io_uring_enter", failed);
    }
    /* Each of these only saves time: the ring works without them, too. */
    unsigned workers[2] = {WORKERS_MAX, WORKERS_MAX};
    (void)io_uring_ring_dontfork(ring);
    (void)io_uring_register_ring_fd(ring);
    (void)io_uring_register_iowq_max_workers(ring, workers);
    return SLUICE_OK;
}

size_t sl_ring_register(struct io_uring *ring, const sl_slab *slab)
{
    struct iovec pieces[BUFFERS_MAX];
    size_t bytes = slab->bytes;
    if (bytes > SL_RING_BUFFER_BYTES * BUFFERS_MAX) {
        bytes = SL_RING_BUFFER_BYTES * BUFFERS_MAX;
    }
    while (bytes >= REGISTER_LEAST) {
        unsigned count = 0;
        for (size_t at = 0; at < bytes; at += SL_RING_BUFFER_BYTES) {
            size_t left = bytes - at;
            pieces[count].iov_base = slab->base + at;
            pieces[count].iov_len = sl_min_u64(left, SL_RING_BUFFER_BYTES);
            count++;
        }
        int result = io_uring_register_buffers(ring, pieces, count);
        if (result == 0) {
            return bytes;
        }
        if (result != -ENOMEM) {
            return 0;
        }
        /* RLIMIT_MEMLOCK: as much as it allows */
        bytes = bytes / 2 / SL_SLAB_ALIGN * SL_SLAB_ALIGN;
    }
    return 0;
}
