/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking reads of objects whose storage fails briefly or permanently, or goes stale. */
#include "objects.h"
#include "photo_folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[100];

/* The next calls return `error`, this many times; and the number of calls since. */
static struct {
    int error, times, calls;
} reads, opens;
static uint64_t slept_ns;
static int opened_as[1024]; /* for each descriptor, the number of its opening */
static int stale_until;     /* openings up to this number are stale */

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset);
int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left);

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset)
{
    reads.calls++;
    if (opened_as[fd] <= stale_until) {
        errno = ESTALE;
        return -1;
    }
    if (reads.times > 0) {
        reads.times--;
        errno = reads.error;
        return -1;
    }
    return __real_pread(fd, to, bytes, offset);
}

int __wrap_open(const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    opens.calls++;
    if (opens.times > 0 && strcmp(name, path) == 0) {
        opens.times--;
        errno = opens.error;
        return -1;
    }
    const int fd = __real_open(name, flags, mode);
    if (fd >= 0 && fd < 1024) {
        static int number;
        opened_as[fd] = ++number;
    }
    return fd;
}

/* Does not wait. */
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left)
{
    struct timespec now;
    (void)flags;
    (void)left;
    (void)clock_gettime(clock, &now);
    const int64_t ns = (until->tv_sec - now.tv_sec) * 1000000000 + until->tv_nsec - now.tv_nsec;
    slept_ns += ns > 0 ? (uint64_t)ns : 0;
    return 0;
}

/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static sluice_status name_of(void *ctx, uint32_t object, char *name, size_t bytes)
{
    (void)ctx;
    (void)object;
    return snprintf(name, bytes, "%s", path) > 0 ? SLUICE_OK : SLUICE_INVALID;
}

static uint64_t size_of(void *ctx, uint32_t object)
{
    (void)ctx;
    (void)object;
    return 11;
}

static sl_objects *open_objects(void)
{
    const sl_object_names names = {.count = 1, .path = name_of, .bytes = size_of};
    sl_objects *objects = NULL;
    assert_int_equal(sl_objects_open(&objects, &names, NULL), SLUICE_OK);
    memset(&reads, 0, sizeof(reads));
    memset(&opens, 0, sizeof(opens));
    slept_ns = 0;
    stale_until = 0;
    return objects;
}

static int set_up(void **state)
{
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, "hello world", 11);
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(folder);
    return 0;
}

/* Reads in one of two ways. */
static sluice_status read_it(sl_objects *objects, bool whole, sluice_error *error)
{
    char text[12] = "";
    size_t size = 11;
    const sluice_status status =
        whole ? sl_objects_read_whole(objects, 0, text, sizeof(text), &size, error)
              : sl_objects_read(objects, 0, 0, text, 11, error);
    assert_true(status != SLUICE_OK || (size == 11 && strcmp(text, "hello world") == 0));
    assert_int_equal(sl_objects_pins(objects), 0);
    return status;
}

TEST_WITH(what_passes_is_not_noticed, set_up, tear_down)
{
    const int errors[] = {EIO, ESTALE, EAGAIN, ETIMEDOUT, EREMOTEIO, ENOMEM, EINTR};
    for (size_t i = 0; i < 4 * sizeof(errors) / sizeof(errors[0]); i++) {
        const bool whole = i % 2 == 1;
        const bool opening = i / 2 % 2 == 1;
        sl_objects *objects = open_objects();
        (opening ? &opens : &reads)[0].error = errors[i / 4];
        (opening ? &opens : &reads)[0].times = 3;
        assert_int_equal(read_it(objects, whole, NULL), SLUICE_OK);
        assert_int_equal(opening ? opens.times : reads.times, 0);
        sl_objects_close(objects);
    }
}

TEST_WITH(what_stays_is_an_error, set_up, tear_down)
{
    for (int whole = 0; whole < 2; whole++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sl_objects *objects = open_objects();
        reads.error = EIO;
        reads.times = 1000000;
        assert_int_equal(read_it(objects, whole != 0, &error), SLUICE_IO);
        assert_int_equal(error.sys_errno, EIO);
        assert_string_equal(error.file, path);
        assert_int_equal(reads.calls, 4);
        assert_true(slept_ns > 1100 * UINT64_C(1000000) && slept_ns < 1200 * UINT64_C(1000000));
        /* After some failures the waiting stops, with one more attempt each. */
        for (int i = 0; i < 7; i++) {
            assert_int_equal(read_it(objects, whole != 0, NULL), SLUICE_IO);
        }
        reads.calls = 0;
        slept_ns = 0;
        assert_int_equal(read_it(objects, whole != 0, NULL), SLUICE_IO);
        assert_int_equal(reads.calls, 2);
        assert_int_equal(slept_ns, 0);
        reads.times = 1;
        assert_int_equal(read_it(objects, whole != 0, NULL), SLUICE_OK);
        reads.times = 3;
        assert_int_equal(read_it(objects, whole != 0, NULL), SLUICE_OK); /* waits again */
        reads.error = EBADF; /* a further attempt would not help */
        reads.times = 1;
        assert_int_equal(read_it(objects, whole != 0, &error), SLUICE_IO);
        assert_int_equal(error.sys_errno, EBADF);
        sl_objects_close(objects);
    }
}

static int last_opened(sl_objects *objects)
{
    sl_pin pin;
    const sl_pin_how how = {.wait_ns = SL_OBJECTS_WAIT_NS};
    assert_int_equal(sl_objects_pin(objects, 0, how, &pin, NULL), SLUICE_OK);
    sl_objects_unpin(objects, &pin);
    return opened_as[pin.fd];
}

TEST_WITH(a_stale_handle_is_opened_again, set_up, tear_down)
{
    char other[110];
    sluice_error error = SLUICE_ERROR_INIT;
    sl_objects *objects = open_objects();
    stale_until = last_opened(objects);
    assert_int_equal(read_it(objects, false, NULL), SLUICE_OK);
    assert_true(last_opened(objects) > stale_until);
    /* If another file has replaced the stale one, the error reports that. */
    stale_until = last_opened(objects);
    (void)snprintf(other, sizeof(other), "%s.new", path);
    write_file(other, "other bytes", 11);
    /* Kernels before 6.13 may give two files created in one tick the same times. */
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(read_it(objects, false, &error), SLUICE_IO);
    assert_non_null(strstr(error.text, "changed since it was opened"));
    sl_objects_close(objects);
}
