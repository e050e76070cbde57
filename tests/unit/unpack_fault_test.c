/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each writing call of an unpack fail once: the error says so and names the file, the
 * folder's final name only ever holds a complete result, nothing else remains, and the next unpack
 * is complete. */
#include "pack_setup.h"
#include "test.h"
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Counts down; the call that finds 1 fails. */
static int countdown;

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0) {
        return false;
    }
    errno = ENOSPC;
    return true;
}

ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __real_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    return fails() ? -1 : __real_pwrite(fd, data, bytes, offset);
}

int __wrap_fsync(int fd)
{
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_syncfs(int fd)
{
    return fails() ? -1 : __real_syncfs(fd);
}

/* Fails as on file systems that cannot exchange names. */
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    (void)from;
    (void)old;
    (void)to;
    (void)new;
    (void)flags;
    errno = EINVAL;
    return -1;
}

int __wrap_openat(int fd, const char *path, int flags, ...)
{
    if ((flags & O_CREAT) == 0) {
        return __real_openat(fd, path, flags);
    }
    return fails() ? -1 : __real_openat(fd, path, flags, 0666);
}

int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
    return fails() ? -1 : __real_mkdirat(fd, path, mode);
}

static char root[256];

static bool is_there(const char *what)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/%s", root, what);
    return access(path, F_OK) == 0;
}

TEST(each_call_fails_once)
{
    pack_setup setup;
    char path[300];
    pack_setup_make(&setup, 2, 3, false);
    (void)snprintf(path, sizeof(path), "%s/out", root);
    for (int32_t form = 0; form < 2; form++) {
        const sluice_unpack_options options = {.struct_size = sizeof(options),
                                               .form = form,
                                               .workers = 2,
                                               .shard_bytes = 24576,
                                               .shard_samples = 4};
        sluice_status status = SLUICE_IO;
        sluice_unpack_result result;
        int calls = 0;
        while (status != SLUICE_OK) {
            sluice_error error;
            memset(&error, 0, sizeof(error));
            countdown = ++calls;
            status = sl_unpack(setup.dataset, path, &options, &result, &error);
            /* except for the last call, on the folder above: by then the result is complete */
            if (status < 0 && is_there("out")) {
                assert_non_null(strstr(error.text, "folder above"));
                assert_int_equal(result.samples, 6);
                remove_tree(path);
            } else if (status < 0) {
                assert_int_equal(status, SLUICE_IO);
                assert_int_equal(error.sys_errno, ENOSPC);
                assert_non_null(strstr(error.file, "out.part"));
                assert_false(is_there("out.part"));
            }
        }
        assert_true(calls > 8);
        assert_true(countdown > 0);
        countdown = 0;
        assert_int_equal(result.samples, 6);
        assert_int_equal(count_names(path, NULL), 3); /* two archives or classes, and the mark */
        remove_tree(path);
    }
    pack_setup_remove(&setup);
}

TEST(one_is_replaced_without_an_exchange)
{
    pack_setup setup;
    char path[300];
    pack_setup_make(&setup, 2, 3, false);
    (void)snprintf(path, sizeof(path), "%s/again", root);
    for (uint32_t i = 0; i < 3; i++) {
        const sluice_unpack_options options = {.struct_size = sizeof(options),
                                               .form = (int32_t)i % 2,
                                               .workers = 1,
                                               .overwrite = 1,
                                               .shard_bytes = 1 << 20};
        sluice_unpack_result result;
        sluice_error error;
        if (sl_unpack(setup.dataset, path, &options, &result, &error) != SLUICE_OK) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(count_names(path, NULL), i % 2 == 0 ? 3 : 2);
        assert_false(is_there("again.part"));
    }
    pack_setup_remove(&setup);
}

int main(void)
{
    temporary_directory(root, sizeof(root));
    const int failed = test_run(NULL, NULL);
    remove_tree(root);
    return failed;
}
