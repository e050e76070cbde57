/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring blocked by a seccomp profile, as in containers: the reason is reported, and the fallback
 * works. Reads and writes that fail with EINTR forever end. */
#include "backend.h"
#include "file.h"
#include "io_harness.h"
#include "read_pieces.h"
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct refusal {
    uint32_t call; /* number of the system call */
    uint32_t sys_errno;
    const char *text; /* part of the reason */
};

/* Makes `call` fail with `sys_errno` in this process from now on. */
static int refuse(const struct refusal *refusal)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal->call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal->sys_errno),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static sluice_status nothing(void *ctx, sl_fetch_item *item)
{
    (void)ctx;
    (void)item;
    return SLUICE_END;
}

static sluice_status name_object(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)ctx;
    (void)object;
    (void)snprintf(path, bytes, "nothing");
    return SLUICE_OK;
}

static sluice_status open_fetch(sluice_io_backend backend, sl_fetch_stats *stats)
{
    const sl_object_names names = {.count = 1, .path = name_object};
    const sl_fetch_source source = {.next = nothing};
    sl_objects *objects = NULL;
    if (sl_objects_open(&objects, &names, NULL) != SLUICE_OK) {
        return SLUICE_NOMEM;
    }
    const sl_fetch_config config = {.backend = backend,
                                    .objects = objects,
                                    .depth = 4,
                                    .threads = 2,
                                    .lookahead = 4,
                                    .inserts = 1,
                                    .arena_bytes = 1,
                                    .max_sample_bytes = 4096,
                                    .stall_warn_ns = 1000000000,
                                    .stall_fail_ns = 1000000000};
    sl_fetch *fetch = NULL;
    sluice_status status = sl_fetch_open(&fetch, &config, &source, NULL);
    if (status == SLUICE_OK) {
        sl_fetch_get_stats(fetch, stats);
    }
    sl_fetch_close(fetch);
    sl_objects_close(objects);
    return status;
}

enum { CANNOT_FILTER = 77 };

/* Runs in a child process. Returns the number of the failed check, or 0. */
static int refused(void *argument)
{
    const struct refusal *refusal = argument;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_fetch_stats stats = {0};
    if (sl_uring_probe(NULL) != SLUICE_OK || refuse(refusal) != 0) {
        return CANNOT_FILTER;
    }
    if (sl_uring_probe(&error) != SLUICE_UNSUPPORTED) {
        return 1;
    }
    if (error.sys_errno != (int)refusal->sys_errno || strstr(error.text, refusal->text) == NULL) {
        return 2;
    }
    if (open_fetch(SLUICE_IO_URING, &stats) != SLUICE_UNSUPPORTED) {
        return 3;
    }
    if (open_fetch(SLUICE_IO_AUTO, &stats) != SLUICE_OK || strcmp(stats.backend, "pread") != 0) {
        return 4;
    }
    return strstr(stats.reason, refusal->text) != NULL ? 0 : 5;
}

/* Optional speedups may be refused. */
static int not_needed(void *argument)
{
    sl_fetch_stats stats = {0};
    if (sl_uring_probe(NULL) != SLUICE_OK || refuse(argument) != 0) {
        return CANNOT_FILTER;
    }
    return open_fetch(SLUICE_IO_URING, &stats) == SLUICE_OK ? 0 : 1;
}

static void *open_uring(void *argument)
{
    sluice_status *status = argument;
    sl_fetch_stats stats = {0};
    *status = open_fetch(SLUICE_IO_URING, &stats);
    return NULL;
}

/* A call that returns EAGAIN forever is treated as refused after a while. Each attempt takes 2 s:
 * two run at a time. */
static int refused_in_the_end(void *argument)
{
    const struct refusal *refusal = argument;
    sl_fetch_stats stats = {0};
    sluice_status uring = SLUICE_OK;
    pthread_t thread;
    if (sl_uring_probe(NULL) != SLUICE_OK || refuse(refusal) != 0) {
        return CANNOT_FILTER;
    }
    alarm(300); /* ends a test that hangs */
    if (pthread_create(&thread, NULL, open_uring, &uring) != 0) {
        return 1;
    }
    const sluice_status any = open_fetch(SLUICE_IO_AUTO, &stats);
    if (pthread_join(thread, NULL) != 0 || uring != SLUICE_UNSUPPORTED) {
        return 2;
    }
    if (any != SLUICE_OK || strcmp(stats.backend, "pread") != 0) {
        return 3;
    }
    return strstr(stats.reason, refusal->text) != NULL ? 0 : 4;
}

/* Returns the number of the failed check, or 0. */
static int read_and_write(int fd)
{
    static uint8_t block[4096];
    const sl_file_name name = {"test", "a"};
    const sl_handle handle = {.store = &sl_store_local, .name = name, .fd = fd};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_file_read(fd, name, block, 1, 0, &error) != SLUICE_IO || error.sys_errno != EINTR) {
        return 1;
    }
    if (sl_file_write(fd, name, block, 1, 0, &error) != SLUICE_IO || error.sys_errno != EINTR) {
        return 2;
    }
    if (sl_read_up_to(&handle, block, 1, 0) != -EINTR) {
        return 3;
    }
    const sl_backend_config config = {.depth = 2, .threads = 1};
    sl_backend *backend = NULL;
    if (sl_backend_pread.open(&backend, &config, NULL) != SLUICE_OK) {
        return 4;
    }
    sl_read read = {.fd = fd, .length = 1, .buffer = block};
    sl_read *const list[] = {&read};
    sl_completion completion = {0};
    backend->ops->submit(backend, list, 1);
    while (backend->ops->reap(backend, &completion, 1, UINT64_MAX) == 0) {
    }
    (void)backend->ops->close(backend, UINT64_MAX, NULL);
    return completion.result == -EINTR ? 0 : 5;
}

static int ends_when_interrupted(void *argument)
{
    (void)argument;
    const int fd = memfd_create("interrupted", MFD_CLOEXEC);
    if (fd < 0 || refuse(&(struct refusal){SYS_pread64, EINTR, ""}) != 0 ||
        refuse(&(struct refusal){SYS_pwrite64, EINTR, ""}) != 0) {
        return CANNOT_FILTER;
    }
    alarm(300); /* ends a test that hangs */
    return read_and_write(fd);
}

static void check(int (*test)(void *), struct refusal refusal)
{
    int failed = io_in_child(test, &refusal);
    if (failed == CANNOT_FILTER) {
        print_message("no io_uring or no seccomp here\n");
        skip();
    }
    assert_int_equal(failed, 0);
}

TEST(setup_refused)
{
    check(refused, (struct refusal){SYS_io_uring_setup, EPERM, "io_uring_setup failed with EPERM"});
    check(refused, (struct refusal){SYS_io_uring_setup, ENOSYS, "failed with ENOSYS"});
    check(refused, (struct refusal){SYS_io_uring_setup, EACCES, "failed with EACCES"});
}

TEST(enter_refused)
{
    check(refused, (struct refusal){SYS_io_uring_enter, EPERM, "io_uring_enter failed with EPERM"});
}

TEST(enter_never_ready)
{
    check(refused_in_the_end,
          (struct refusal){SYS_io_uring_enter, EAGAIN, "io_uring_enter failed with EAGAIN"});
}

TEST(register_refused)
{
    check(not_needed, (struct refusal){SYS_io_uring_register, EPERM, ""});
}

TEST(interrupted_for_ever)
{
    check(ends_when_interrupted, (struct refusal){0});
}
