/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects stay open, which are rejected, and reading while another read waits. */
#include "objects.h"
#include "photo_folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

/* A server that does not answer for a while: opening this path, or closing this descriptor, waits
 * until the gate is opened, or times out. */
static pthread_mutex_t gate_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
/* guarded by gate_mutex */
static char gate_path[128];
static int gate_fd = -1;
static uint32_t gate_arrived;
static bool gate_open, gate_given_up;

static void wait_at_gate(void)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    gate_arrived++;
    (void)pthread_cond_broadcast(&gate_changed);
    while (!gate_open && !gate_given_up) {
        gate_given_up = pthread_cond_timedwait(&gate_changed, &gate_mutex, &until) == ETIMEDOUT;
    }
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    (void)pthread_mutex_lock(&gate_mutex);
    if (strcmp(path, gate_path) == 0) {
        wait_at_gate();
    }
    (void)pthread_mutex_unlock(&gate_mutex);
    return __real_open(path, flags, mode);
}

int __wrap_close(int fd)
{
    (void)pthread_mutex_lock(&gate_mutex);
    if (fd == gate_fd) {
        gate_fd = -1;
        wait_at_gate();
    }
    (void)pthread_mutex_unlock(&gate_mutex);
    return __real_close(fd);
}

/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static void gate_shut(const char *path, int fd)
{
    (void)pthread_mutex_lock(&gate_mutex);
    (void)snprintf(gate_path, sizeof(gate_path), "%s", path);
    gate_fd = fd;
    gate_arrived = 0;
    gate_open = false;
    gate_given_up = false;
    (void)pthread_mutex_unlock(&gate_mutex);
}

static void gate_await_arrival(void)
{
    (void)pthread_mutex_lock(&gate_mutex);
    while (gate_arrived == 0) {
        (void)pthread_cond_wait(&gate_changed, &gate_mutex);
    }
    (void)pthread_mutex_unlock(&gate_mutex);
}

/* Opens the gate. Returns how many had arrived; 0: they waited too long and went on. */
static uint32_t gate_let_go(void)
{
    (void)pthread_mutex_lock(&gate_mutex);
    gate_open = true;
    (void)pthread_cond_broadcast(&gate_changed);
    const uint32_t arrived = gate_given_up ? 0 : gate_arrived;
    (void)pthread_mutex_unlock(&gate_mutex);
    return arrived;
}

static const char *path_of(uint32_t number)
{
    static _Thread_local char path[128];
    (void)snprintf(path, sizeof(path), "%s/%u", folder, number);
    return path;
}

static int set_up(void **state)
{
    const char *root = getenv("TMPDIR");
    (void)snprintf(folder, sizeof(folder), "%.40s/sluice-io-XXXXXX", root != NULL ? root : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < 10; i++) {
        FILE *file = fopen(path_of(i), "wb");
        (void)fprintf(file, "this is file %u", i);
        (void)fclose(file);
    }
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(folder);
    return 0;
}

static sluice_status name_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)ctx;
    if (object == 99) {
        (void)snprintf(path, bytes, "/proc/version");
        return SLUICE_OK;
    }
    const int length = snprintf(path, bytes, "%s", object == 98 ? folder : path_of(object));
    return object != 97 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static uint64_t size_of(void *ctx, uint32_t object)
{
    (void)ctx;
    return object == 9 ? 15 : 0; /* it has 14 */
}

static sl_objects *open_objects(void)
{
    const sl_object_names names = {.count = 100, .path = name_of, .bytes = size_of};
    sl_objects *objects = NULL;
    assert_int_equal(sl_objects_open(&objects, &names, NULL), SLUICE_OK);
    return objects;
}

/* Opens as many as the limit on descriptors allows: a quarter of it. */
static sl_objects *open_few(rlim_t descriptors)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {descriptors, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    sl_objects *objects = open_objects();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return objects;
}

static const sl_pin_how plain, direct = {.direct = true};

static sl_pin pin(sl_objects *objects, uint32_t object, sl_pin_how how)
{
    sl_pin pin;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_objects_pin(objects, object, how, &pin, &error), SLUICE_OK);
    char text[32] = "";
    char expected[32];
    (void)snprintf(expected, sizeof(expected), "this is file %u", object);
    if (!pin.direct && object < 10) {
        assert_int_equal(pread(pin.fd, text, sizeof(text), 0), 14);
        assert_string_equal(text, expected);
    }
    return pin;
}

static void pin_briefly(sl_objects *objects, uint32_t object)
{
    const sl_pin held = pin(objects, object, plain);
    sl_objects_unpin(objects, &held);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

TEST(oldest_unused_is_closed)
{
    sl_objects *objects = open_few(12); /* allows three */
    const sl_pin zero = pin(objects, 0, plain);
    const sl_pin one = pin(objects, 1, plain);
    const sl_pin two = pin(objects, 2, plain);
    sl_objects_unpin(objects, &two);
    const sl_pin again = pin(objects, 0, plain);
    assert_int_equal(again.fd, zero.fd);
    const sl_pin three = pin(objects, 3, plain); /* replaces 2, the only one not in use */
    sl_pin none;
    assert_int_equal(sl_objects_pin(objects, 2, plain, &none, NULL), SLUICE_AGAIN);
    sl_objects_unpin(objects, &one);
    pin_briefly(objects, 5); /* replaces 1 */
    pin_briefly(objects, 6); /* replaces 5 */
    sl_objects_unpin(objects, &zero);
    pin_briefly(objects, 5); /* not 0, which is pinned again */
    assert_true(is_open(zero.fd));
    sl_objects_unpin(objects, &again);
    sl_objects_unpin(objects, &three);
    sl_objects_close(objects);
    assert_false(is_open(zero.fd));
}

/* A reader that never returns must not keep all others from a handle that is not stale. */
TEST(reopening_leaves_readers_their_handle)
{
    sl_objects *objects = open_objects();
    const sl_pin zero = pin(objects, 0, direct);
    const sl_pin_how known = {.direct = true, .only_open = true};
    sl_pin none;
    sl_objects_reopen(objects, &zero, true);
    assert_int_equal(sl_objects_pin(objects, 0, known, &none, NULL), SLUICE_END);
    const sl_pin now = pin(objects, 0, direct);
    assert_false(now.direct);
    assert_int_equal(fcntl(now.fd, F_GETFL) & (O_DIRECT | O_NONBLOCK), 0);
    assert_int_not_equal(now.fd, zero.fd);
    assert_true(is_open(zero.fd));
    sl_objects_unpin(objects, &zero); /* the last pin */
    assert_false(is_open(zero.fd));
    const sl_pin again = pin(objects, 0, direct);
    assert_int_equal(again.fd, now.fd);
    assert_int_equal(sl_objects_pins(objects), 2);
    sl_objects_unpin(objects, &now);
    sl_objects_unpin(objects, &again);
    sl_objects_close(objects);
}

/* Replaces the file by one of the same size and time, as rsync -t and cp -p do. */
static void replace(uint32_t number)
{
    struct stat before;
    char aside[160];
    char text[32];
    assert_int_equal(stat(path_of(number), &before), 0);
    (void)snprintf(aside, sizeof(aside), "%s/aside", folder);
    const int bytes = snprintf(text, sizeof(text), "this is file %u", number);
    write_file(aside, text, (uint32_t)bytes);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, aside, times, 0), 0);
    assert_int_equal(rename(aside, path_of(number)), 0);
}

TEST(objects_stay_the_files_that_they_were)
{
    sl_pin none;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_objects *objects = open_objects();
    replace(2); /* not opened yet */
    const sl_pin two = pin(objects, 2, plain);
    replace(2); /* goes unnoticed as long as it is open */
    const sl_pin again = pin(objects, 2, plain);
    sl_objects_reopen(objects, &two, false);
    sl_objects_unpin(objects, &two);
    sl_objects_unpin(objects, &again);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sl_objects_pin(objects, 2, round == 0 ? plain : direct, &none, &error),
                         SLUICE_IO);
        assert_non_null(strstr(error.text, "changed since it was opened"));
        assert_string_equal(error.file, path_of(2));
        assert_int_equal(error.offset, -1);
    }
    const sl_pin three = pin(objects, 3, plain);
    assert_int_equal(chmod(path_of(3), 0640), 0); /* still the same file */
    sl_objects_reopen(objects, &three, false);
    sl_objects_unpin(objects, &three);
    pin_briefly(objects, 3);
    sl_objects_close(objects);
}

/* Waiting for a pin that is never returned ends. */
TEST(waiting_for_a_pin_has_an_end)
{
    sl_pin none;
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_pin_how briefly = {.wait_ns = 20000000};
    sl_objects *objects = open_few(16); /* a quarter: 4 */
    sl_pin held[4];
    for (uint32_t i = 0; i < 4; i++) {
        held[i] = pin(objects, i, plain);
    }
    assert_int_equal(sl_objects_pins(objects), 4);
    assert_int_equal(sl_objects_pin(objects, 4, briefly, &none, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, ETIME);
    assert_string_equal(error.file, path_of(4));
    for (uint32_t i = 0; i < 4; i++) {
        sl_objects_unpin(objects, &held[i]);
    }
    assert_int_equal(sl_objects_pins(objects), 0);
    pin_briefly(objects, 4);
    sl_objects_close(objects);
}

TEST(direct_is_probed)
{
    sl_objects *objects = open_objects();
    const sl_pin one = pin(objects, 1, direct);
    const sl_pin cached = pin(objects, 1, plain);
    assert_int_equal((fcntl(one.fd, F_GETFL) & O_DIRECT) != 0, one.direct);
    assert_int_equal(fcntl(cached.fd, F_GETFL) & O_DIRECT, 0);
    assert_int_not_equal(one.fd, cached.fd);
    /* A kernel file system that rejects the direct open or read: reads through its cache. */
    const sl_pin proc = pin(objects, 99, direct);
    assert_false(proc.direct);
    sl_objects_unpin(objects, &one);
    sl_objects_unpin(objects, &cached);
    sl_objects_unpin(objects, &proc);
    sl_objects_close(objects);
}

static void expect_refused(sl_objects *objects, uint32_t object, sluice_status status, int reason)
{
    sl_pin none;
    char byte;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_objects_pin(objects, object, plain, &none, &error), status);
    assert_int_equal(error.sys_errno, reason);
    assert_int_equal(sl_objects_read(objects, object, 0, &byte, 1, &error), status);
    assert_int_equal(error.sys_errno, reason);
    assert_string_not_equal(error.text, "");
}

TEST(refused)
{
    sl_objects *objects = open_objects();
    expect_refused(objects, 98, SLUICE_IO, EISDIR);
    expect_refused(objects, 77, SLUICE_IO, ENOENT);
    expect_refused(objects, 97, SLUICE_INVALID, 0);
    expect_refused(objects, 9, SLUICE_CORRUPT, 0); /* unexpected size */
    assert_int_equal(mkfifo(path_of(78), 0600), 0);
    expect_refused(objects, 78, SLUICE_IO, EINVAL);
    sl_objects_close(objects);
}

enum { TABLE = 16, FILES = 10 };

/* Against a linear search: the open objects are the most recently pinned ones, including pinned
 * ones. */
TEST(the_last_ones_pinned_are_open)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {TABLE, before.rlim_max}; /* a quarter: 4 */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    sl_objects *objects = open_objects();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    uint32_t last[FILES]; /* the newest first */
    uint32_t count = 0;
    uint32_t random = 1;
    for (uint32_t turn = 0; turn < 2000; turn++) {
        random = random * 1664525U + 1013904223U;
        const uint32_t object = (random >> 16) % 8;
        pin_briefly(objects, object);
        uint32_t at = 0;
        while (at < count && last[at] != object) {
            at++;
        }
        count += at == count;
        memmove(last + 1, last, at * sizeof(*last));
        last[0] = object;
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(sl_objects_is_open(objects, last[i]), i < TABLE / 4);
        }
    }
    sl_objects_close(objects);
}

TEST(few_descriptors)
{
    struct rlimit before;
    sl_pin none;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_objects *objects = open_objects();
    int lowest = dup(0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {(rlim_t)lowest + 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (uint32_t i = 0; i < 5; i++) {
        pin_briefly(objects, i); /* each closes an older one */
    }
    const sl_pin five = pin(objects, 5, plain);
    const sl_pin six = pin(objects, 6, plain);
    assert_int_equal(sl_objects_pin(objects, 7, plain, &none, &error), SLUICE_AGAIN);
    assert_int_equal(error.sys_errno, EMFILE);
    sl_objects_unpin(objects, &five);
    pin_briefly(objects, 7);
    sl_objects_unpin(objects, &six);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    sl_objects_close(objects);
}

/* Threads that share a single descriptor in turn; each reads its file. */
typedef struct reader {
    sl_objects *objects;
    uint32_t object;
    uint32_t wrong;
} reader;

static void *read_often(void *argument)
{
    reader *r = argument;
    for (uint32_t i = 0; i < 500; i++) {
        char text[15] = "";
        char expected[32];
        const uint32_t object = (r->object + i) % 8;
        (void)snprintf(expected, sizeof(expected), "this is file %u", object);
        r->wrong += sl_objects_read(r->objects, object, 0, text, 14, NULL) != SLUICE_OK ||
                    strcmp(text, expected) != 0;
    }
    return NULL;
}

TEST(readers_wait_for_each_other)
{
    sl_objects *objects = open_few(4);
    pthread_t threads[4];
    reader readers[4];
    for (uint32_t i = 0; i < 4; i++) {
        readers[i] = (reader){objects, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
    }
    sl_objects_close(objects);
}

/* A thread that pins one object and waits for it. */
typedef struct pinner {
    sl_objects *objects;
    uint32_t object;
    pthread_t thread;
    sluice_status status;
    sl_pin pin;
} pinner;

static void *pin_and_wait(void *argument)
{
    pinner *p = argument;
    p->status = sl_objects_pin(p->objects, p->object, (sl_pin_how){.wait_ns = SL_OBJECTS_WAIT_NS},
                               &p->pin, NULL);
    return NULL;
}

static void start(pinner *p, sl_objects *objects, uint32_t object)
{
    *p = (pinner){.objects = objects, .object = object};
    assert_int_equal(pthread_create(&p->thread, NULL, pin_and_wait, p), 0);
}

static void join(pinner *p)
{
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    assert_int_equal(p->status, SLUICE_OK);
    sl_objects_unpin(p->objects, &p->pin);
}

TEST(an_open_that_hangs_keeps_nobody_else)
{
    pinner pinners[3];
    sl_pin none;
    char byte;
    sl_objects *objects = open_objects();
    pin_briefly(objects, 1);
    gate_shut(path_of(0), -1);
    start(&pinners[0], objects, 0);
    gate_await_arrival();
    start(&pinners[1], objects, 0);
    start(&pinners[2], objects, 0);
    pin_briefly(objects, 1); /* open */
    pin_briefly(objects, 2); /* not open */
    assert_int_equal(sl_objects_read(objects, 3, 0, &byte, 1, NULL), SLUICE_OK);
    assert_int_equal(sl_objects_pin(objects, 0, plain, &none, NULL), SLUICE_AGAIN);
    assert_int_equal(gate_let_go(), 1); /* the others wait for the first one's open */
    for (uint32_t i = 0; i < 3; i++) {
        join(&pinners[i]);
        assert_int_equal(pinners[i].pin.fd, pinners[0].pin.fd);
    }
    gate_shut("", -1);
    sl_objects_close(objects);
}

TEST(a_close_that_hangs_keeps_nobody_else)
{
    pinner other;
    sl_objects *objects = open_few(8); /* allows two */
    const sl_pin zero = pin(objects, 0, plain);
    sl_objects_unpin(objects, &zero);
    pin_briefly(objects, 1);
    gate_shut("", zero.fd);
    start(&other, objects, 2); /* replaces 0 */
    gate_await_arrival();
    pin_briefly(objects, 1);
    assert_int_equal(gate_let_go(), 1);
    join(&other);
    sl_objects_close(objects);
}

TEST(whole_objects)
{
    char text[32] = "";
    size_t size = 0;
    sl_objects *objects = open_objects();
    assert_int_equal(sl_objects_read_whole(objects, 3, NULL, 0, &size, NULL), SLUICE_AGAIN);
    assert_int_equal(size, 14);
    assert_int_equal(sl_objects_read_whole(objects, 3, text, size, &size, NULL), SLUICE_OK);
    assert_string_equal(text, "this is file 3");
    assert_int_equal(sl_objects_read_whole(objects, 77, text, size, &size, NULL), SLUICE_IO);
    assert_int_equal(sl_objects_read(objects, 3, 10, text, 5, NULL), SLUICE_CORRUPT);
    sl_objects_close(objects);
}

TEST_GROUP(set_up, tear_down)
