/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packs that are killed or run out of disk space at every system call that changes a file:
 * visible files are complete, and the next run gives the same bytes as an undisturbed one. */
#include "pack_setup.h"
#include "shard_bytes.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The accident that happens when `calls_left` reaches 0. All calls come from one thread. */
static enum { NOTHING, DIE, DISK_FULL } accident;
static uint64_t calls_left;
static const char *spoiled; /* a byte of this file changes right after its rename */

/* A directory whose syncs are counted, and fail with `watched_errno` unless it is 0. */
static struct stat watched;
static int watched_errno;
static uint64_t watched_syncs;

/* True if the call is to fail with ENOSPC. */
static bool now_it_happens(void)
{
    if (accident == NOTHING || --calls_left > 0) {
        return false;
    }
    if (accident == DIE) {
        (void)kill(getpid(), SIGKILL);
        (void)pause();
    }
    calls_left = 1; /* a full disk stays full */
    errno = ENOSPC;
    return true;
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __real_openat(int fd, const char *name, int flags, ...);
int __wrap_openat(int fd, const char *name, int flags, ...);

/* Half of the bytes reach the file before the accident. */
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    if (accident != NOTHING && calls_left == 1) {
        (void)__real_pwrite(fd, data, bytes / 2, offset);
    }
    return now_it_happens() ? -1 : __real_pwrite(fd, data, bytes, offset);
}

/* Not synced: only a power failure would notice, and the test would wait for the disk. */
int __wrap_fsync(int fd)
{
    struct stat status;
    if (now_it_happens()) {
        return -1;
    }
    if (watched.st_ino == 0 || fstat(fd, &status) != 0 || status.st_ino != watched.st_ino ||
        status.st_dev != watched.st_dev) {
        return 0;
    }
    watched_syncs++;
    errno = watched_errno;
    return watched_errno == 0 ? 0 : -1;
}

int __wrap_fdatasync(int fd)
{
    (void)fd;
    return now_it_happens() ? -1 : 0;
}

static void spoil(int fd, const char *name)
{
    uint8_t byte = 0;
    int file = __real_openat(fd, name, O_RDWR | O_CLOEXEC, 0);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, 6000), 1);
    byte ^= 1;
    assert_int_equal(__real_pwrite(file, &byte, 1, 6000), 1);
    (void)close(file);
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (now_it_happens()) {
        return -1;
    }
    int result = __real_renameat(from_fd, from, to_fd, to);
    if (result == 0 && spoiled != NULL && strcmp(to, spoiled) == 0) {
        spoil(to_fd, to);
    }
    return result;
}

/* Removing a file needs no disk space. */
int __wrap_unlinkat(int fd, const char *name, int flags)
{
    if (accident == DIE) {
        (void)now_it_happens();
    }
    return __real_unlinkat(fd, name, flags);
}

int __wrap_openat(int fd, const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (flags & O_CREAT && now_it_happens()) {
        return -1;
    }
    return __real_openat(fd, name, flags, mode);
}

/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

typedef struct fixture {
    pack_setup setup;
    char work[256];  /* folder for the packs */
    char whole[300]; /* an undisturbed pack */
    char path[300];  /* the pack under test */
} fixture;

static void fixture_make(fixture *f)
{
    sluice_pack_result result;
    const sluice_pack_options options = pack_options();
    pack_setup_make(&f->setup, 3, 8, true);
    temporary_directory(f->work, sizeof(f->work));
    (void)snprintf(f->whole, sizeof(f->whole), "%s/whole", f->work);
    (void)snprintf(f->path, sizeof(f->path), "%s/pack", f->work);
    assert_int_equal(pack_run(&f->setup, f->whole, &options, &result, NULL), SLUICE_OK);
    assert_true(result.shards >= 3);
    assert_int_equal(result.samples, 24);
    assert_int_equal(result.rejected, f->setup.bad);
    assert_int_equal(count_names(f->whole, NULL), result.shards + 2);
}

static void fixture_remove(fixture *f)
{
    accident = NOTHING;
    remove_tree(f->work);
    pack_setup_remove(&f->setup);
}

/* Packs again undisturbed and compares with the whole pack. */
static void go_on(const fixture *f, uint64_t point)
{
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_pack_options options = pack_options();
    accident = NOTHING;
    sluice_status status = pack_run(&f->setup, f->path, &options, &result, &error);
    if (status != SLUICE_OK || !folders_equal(f->path, f->whole)) {
        fail_msg("after an accident at call %llu: %s %s", (unsigned long long)point, error.file,
                 error.text);
    }
    assert_int_equal(result.samples, 24);
    assert_int_equal(result.rejected, f->setup.bad);
    remove_tree(f->path);
}

/* Runs a pack in a child that dies at call `point`. Returns false if it survived. */
static bool pack_and_die(const fixture *f, uint64_t point)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const sluice_pack_options options = pack_options();
        accident = DIE;
        calls_left = point;
        _exit(pack_run(&f->setup, f->path, &options, NULL, NULL) == SLUICE_OK ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result) || WEXITSTATUS(result) == 0);
    return WIFSIGNALED(result);
}

TEST(killed_at_every_call)
{
    fixture f;
    fixture_make(&f);
    uint64_t point = 1;
    while (pack_and_die(&f, point)) {
        assert_true(folder_is_part_of(f.path, f.whole));
        go_on(&f, point);
        point += TEST_AMOUNTS(1, 5, 11);
    }
    print_message("killed at %llu calls\n", (unsigned long long)point - 1);
    assert_true(point > 40);
    go_on(&f, point);
    fixture_remove(&f);
}

/* Killed repeatedly while it resumes, each time a little later. */
TEST(killed_many_times_on_the_way)
{
    fixture f;
    fixture_make(&f);
    uint64_t kills = 0;
    for (uint64_t point = 12; pack_and_die(&f, point); point += TEST_AMOUNTS(1, 2, 3)) {
        assert_true(folder_is_part_of(f.path, f.whole));
        assert_true(++kills < 200);
    }
    assert_true(kills > 3);
    go_on(&f, 0);
    fixture_remove(&f);
}

/* At any moment, also between calls, with several workers. */
TEST(killed_at_any_moment)
{
    fixture f;
    fixture_make(&f);
    uint64_t kills = 0;
    for (useconds_t delay = 0; delay < 40000; delay += TEST_AMOUNT(2000, 8000)) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            sluice_pack_options options = pack_options();
            options.workers = 3;
            _exit(pack_run(&f.setup, f.path, &options, NULL, NULL) == SLUICE_OK ? 0 : 1);
        }
        int result;
        (void)usleep(delay);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &result, 0), child);
        kills += WIFSIGNALED(result);
        assert_true(WIFSIGNALED(result) || WEXITSTATUS(result) == 0);
        assert_true(folder_is_part_of(f.path, f.whole));
        go_on(&f, delay);
    }
    print_message("killed in the middle %llu times\n", (unsigned long long)kills);
    fixture_remove(&f);
}

TEST(disk_full_at_every_call)
{
    fixture f;
    fixture_make(&f);
    const sluice_pack_options options = pack_options();
    for (uint64_t point = 1;; point += TEST_AMOUNTS(1, 5, 11)) {
        sluice_error error = SLUICE_ERROR_INIT;
        accident = DISK_FULL;
        calls_left = point;
        sluice_status status = pack_run(&f.setup, f.path, &options, NULL, &error);
        accident = NOTHING;
        if (status == SLUICE_OK) {
            assert_true(point > 30);
            break;
        }
        assert_int_equal(status, SLUICE_IO);
        assert_int_equal(error.sys_errno, ENOSPC);
        assert_true(error.file[0] != '\0');
        assert_true(access(f.path, F_OK) != 0 || count_names(f.path, is_temporary) == 0);
        assert_true(folder_is_part_of(f.path, f.whole));
        go_on(&f, point);
    }
    fixture_remove(&f);
}

/* Otherwise a power failure could remove all of it. */
TEST(the_name_of_a_new_folder_lasts)
{
    fixture f;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_pack_options options = pack_options();
    fixture_make(&f);
    assert_int_equal(stat(f.work, &watched), 0);
    watched_errno = EIO;
    watched_syncs = 0;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, EIO);
    assert_non_null(strstr(error.file, f.path));
    assert_int_not_equal(access(f.path, F_OK), 0); /* the next pack must sync it again */
    watched_errno = EINVAL;                        /* directories cannot be synced */
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_OK);
    remove_tree(f.path);
    watched_errno = 0;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_OK);
    assert_int_equal(watched_syncs, 3);
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_OK);
    assert_int_equal(watched_syncs, 3); /* it existed */
    watched = (struct stat){0};
    fixture_remove(&f);
}

/* The system's own limit on file sizes. */
TEST(a_file_size_limit_is_an_error)
{
    fixture f;
    fixture_make(&f);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {PACK_SHARD_BYTES / 2, RLIM_INFINITY};
        const sluice_pack_options options = pack_options();
        sluice_error error = SLUICE_ERROR_INIT;
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        sluice_status status = pack_run(&f.setup, f.path, &options, NULL, &error);
        _exit(status == SLUICE_IO && error.sys_errno == EFBIG && error.offset >= 0 ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    assert_int_equal(count_names(f.path, is_shard), 0);
    assert_int_equal(count_names(f.path, is_temporary), 0);
    go_on(&f, 0);
    fixture_remove(&f);
}

enum { TMPFS_GOOD = 0, TMPFS_BAD = 1, TMPFS_REFUSED = 2 };

/* In a private mount namespace, so that nobody else sees the small disk. */
static int pack_to_small_disk(const fixture *f)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdir(f->path, 0777) != 0 || mount("tmpfs", f->path, "tmpfs", 0, "size=48k") != 0) {
        return TMPFS_REFUSED;
    }
    const sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    char pack[320];
    (void)snprintf(pack, sizeof(pack), "%s/x", f->path);
    if (pack_run(&f->setup, pack, &options, NULL, &error) != SLUICE_IO ||
        error.sys_errno != ENOSPC || count_names(pack, is_temporary) != 0 ||
        count_names(pack, is_shard) == 0 || !folder_is_part_of(pack, f->whole)) {
        return TMPFS_BAD;
    }
    if (mount("tmpfs", f->path, "tmpfs", MS_REMOUNT, "size=4m") != 0) {
        return TMPFS_REFUSED;
    }
    sluice_pack_result result;
    return pack_run(&f->setup, pack, &options, &result, &error) == SLUICE_OK &&
                   result.resumed_samples > 0 && folders_equal(pack, f->whole)
               ? TMPFS_GOOD
               : TMPFS_BAD;
}

TEST(a_full_disk_is_an_error_and_more_room_mends_it)
{
    fixture f;
    fixture_make(&f);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(pack_to_small_disk(&f));
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    fixture_remove(&f);
    if (WEXITSTATUS(result) == TMPFS_REFUSED) {
        print_message("skipped: may not mount a tmpfs here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(result), TMPFS_GOOD);
}

TEST(what_was_written_is_read_back)
{
    fixture f;
    fixture_make(&f);
    sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    spoiled = "shard-000001.sluice";
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.file, spoiled));
    char manifest[320];
    (void)snprintf(manifest, sizeof(manifest), "%s/manifest.sluice", f.path);
    assert_int_not_equal(access(manifest, F_OK), 0);
    options.skip_verify = 1;
    assert_int_equal(pack_run(&f.setup, f.path, &options, NULL, &error), SLUICE_OK);
    assert_int_equal(access(manifest, F_OK), 0);
    spoiled = NULL;
    fixture_remove(&f);
}

/* Stops when all shards are complete and the manifest is about to appear. */
static void die_before_the_end(const fixture *f)
{
    char manifest[340];
    (void)snprintf(manifest, sizeof(manifest), "%s/.manifest.sluice.tmp", f->path);
    for (uint64_t point = 20; access(manifest, F_OK) != 0; point++) {
        if (access(f->path, F_OK) == 0) {
            remove_tree(f->path);
        }
        assert_true(pack_and_die(f, point));
    }
}

static void replace_file(const char *folder, const char *name, const char *source_folder)
{
    file_bytes file;
    file_load(&file, source_folder, name);
    (void)snprintf(file.path, sizeof(file.path), "%s/%s", folder, name);
    file_store(&file, file.size);
    file_free(&file);
}

/* A shard that is lost, damaged or from another pack is rebuilt, and so are the shards after it. */
TEST(lost_and_wrong_shards_are_made_again)
{
    fixture f;
    file_bytes file;
    char other[320];
    fixture_make(&f);
    sluice_pack_options options = pack_options();
    options.seed++;
    (void)snprintf(other, sizeof(other), "%s/other", f.work);
    assert_int_equal(pack_run(&f.setup, other, &options, NULL, NULL), SLUICE_OK);

    die_before_the_end(&f);
    file_load(&file, f.path, "shard-000001.sluice");
    assert_int_equal(unlink(file.path), 0);
    go_on(&f, 1);

    die_before_the_end(&f);
    file_store_byte(&file, 100, file.data[100] ^ 1);
    go_on(&f, 2);

    die_before_the_end(&f);
    replace_file(f.path, "shard-000000.sluice", other);
    go_on(&f, 3);
    file_free(&file);
    fixture_remove(&f);
}

/* Counts down, then stays 0. */
static int32_t count_down(void *user)
{
    uint32_t *left = user;
    if (*left > 0) {
        --*left;
    }
    return *left == 0;
}

/* Stopped after each number of calls, during packing and while the output is read back. */
TEST(stopped_at_every_question)
{
    fixture f;
    fixture_make(&f);
    sluice_status status = SLUICE_CANCELED;
    uint32_t stops = 0;
    while (status != SLUICE_OK) {
        uint32_t left = stops + 1;
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_pack_options options = pack_options();
        options.should_stop = count_down;
        options.user = &left;
        status = pack_run(&f.setup, f.path, &options, NULL, &error);
        if (status != SLUICE_OK) {
            assert_int_equal(status, SLUICE_CANCELED);
            assert_int_equal(error.status, SLUICE_CANCELED);
            assert_true(folder_is_part_of(f.path, f.whole));
            go_on(&f, ++stops);
        } else {
            assert_true(folders_equal(f.path, f.whole));
        }
    }
    print_message("stopped %u times\n", stops);
    assert_true(stops > 24);
    fixture_remove(&f);
}
