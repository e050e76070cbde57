/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a chunk cache: killed writers, damaged files, foreign files, and folders that are
 * removed, full, read-only or untrusted. No wrong byte is served. */
#include "checksum.h"
#include "chunk_list.h"
#include "chunk_rig.h"
#include "chunk_state.h"
#include "little_endian.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CACHE_TEST(name) TEST_WITH(name, test_folder_make, test_folder_remove)
#define PLENTY           (UINT64_C(1) << 30)

enum { NOBODY = 65534, SKIPPED = 77 };

static sl_chunk_cache_stats stats_of(sl_chunk_cache *cache)
{
    sl_chunk_cache_stats stats;
    sl_chunk_cache_get_stats(cache, &stats);
    return stats;
}

/* Runs in a child; skips the test if that returns SKIPPED. */
static void in_child(int (*run)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(run());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A child cannot use cmocka's asserts, which jump. Returns the line that failed. */
#define CHILD_NEEDS(condition)                                            \
    do {                                                                  \
        if (!(condition)) {                                               \
            (void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            return 1;                                                     \
        }                                                                 \
    } while (0)

/* ---- writers that are killed ---- */

enum { KILLED_OBJECTS = 40 };

static uint64_t killed_bytes(unsigned number)
{
    return number % 8 == 0 ? UINT64_C(3) << 20 : 20000 + number;
}

/* Writes and removes chunks until it is killed; reports when it has begun. */
static void write_forever(int begun)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    for (unsigned i = 0;; i++) {
        const unsigned number = i * 11 % KILLED_OBJECTS;
        sl_cached_object *object = chunk_rig_object(cache, number, killed_bytes(number));
        if (chunk_rig_keep(object, number, 0) == SLUICE_END) {
            (void)sl_chunk_remove(object, 0);
        }
        sl_cached_object_close(object);
        if (i == 0 && write(begun, "", 1) != 1) {
            _exit(1);
        }
    }
}

static void check_all(sl_chunk_cache *cache, unsigned *here)
{
    uint64_t kept = 0;
    for (unsigned number = 0; number < KILLED_OBJECTS; number++) {
        struct stat facts;
        sl_cached_object *object = chunk_rig_object(cache, number, killed_bytes(number));
        if (chunk_rig_check(object, number, 0) == SL_CHUNK_HERE) {
            assert_int_equal(stat(chunk_rig_file(object, 0, ""), &facts), 0);
            kept += sl_chunk_cost((uint64_t)facts.st_size);
            (*here)++;
        }
        sl_cached_object_close(object);
    }
    assert_int_equal(stats_of(cache).damaged, 0);
    assert_int_equal(stats_of(cache).kept_bytes, kept);
}

CACHE_TEST(writers_may_be_killed_at_any_time)
{
    unsigned here = 0;
    for (unsigned round = 0; round < TEST_AMOUNT(25, 6); round++) {
        char byte;
        int status;
        int begun[2];
        assert_int_equal(pipe2(begun, O_CLOEXEC), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_forever(begun[1]);
        }
        assert_int_equal(read(begun[0], &byte, 1), 1);
        assert_int_equal(close(begun[0]) + close(begun[1]), 0);
        const struct timespec while_it_writes = {.tv_nsec = (round * 7 % 23) * 1000000L};
        (void)nanosleep(&while_it_writes, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        sl_chunk_cache *cache = chunk_rig_open(PLENTY);
        assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
        check_all(cache, &here);
        sl_chunk_cache_close(cache);
    }
    assert_true(here > 0);
}

/* While another process has the folder open, an abandoned part is taken over by its next writer. */
CACHE_TEST(a_part_that_was_left_is_written_again)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    write_file(chunk_rig_file(object, 0, SL_CHUNK_PART), "left over", 9);
    assert_int_equal(chunk_rig_check(object, 0, 0), SL_CHUNK_ABSENT);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_OK);
    assert_int_equal(chunk_rig_check(object, 0, 0), SL_CHUNK_HERE);
    assert_int_equal(chunk_rig_count(SL_CHUNK_PART), 0);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* ---- several processes ---- */

enum { FILLED_OBJECTS = 60, FILLERS = 3 };

typedef struct filling {
    _Atomic unsigned ready, downloads, wrong;
} filling;

static void fill_with_others(filling *shared)
{
    shared->ready++;
    while (shared->ready < FILLERS) {
        (void)sched_yield();
    }
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    for (unsigned i = 0; i < FILLED_OBJECTS; i++) {
        sl_chunk_part *part;
        sl_cached_object *object = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        sluice_status status;
        while ((status = sl_chunk_begin(object, 0, &part, NULL)) == SLUICE_AGAIN) {
            (void)sched_yield();
        }
        if (status == SLUICE_OK) {
            uint8_t *bytes = chunk_rig_bytes(i, 0, CHUNK_RIG_SMALL);
            shared->downloads++;
            shared->wrong += sl_chunk_keep(part, bytes, CHUNK_RIG_SMALL, NULL) != SLUICE_OK;
            sl_free(bytes);
        }
        shared->wrong += chunk_rig_check(object, i, 0) != SL_CHUNK_HERE;
        sl_cached_object_close(object);
    }
    sl_chunk_cache_close(cache);
}

CACHE_TEST(processes_that_fill_a_cache_together_write_each_chunk_once)
{
    filling *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    pid_t children[FILLERS];
    for (unsigned i = 0; i < FILLERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            fill_with_others(shared);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < FILLERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(shared->downloads, FILLED_OBJECTS);
    assert_int_equal(shared->wrong, 0);
    assert_int_equal(munmap(shared, sizeof(*shared)), 0);
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    assert_int_equal(stats_of(cache).kept_bytes, (uint64_t)FILLED_OBJECTS * 25 * 4096);
    sl_chunk_cache_close(cache);
}

/* A process stopped while it counts, for any length of time. */
CACHE_TEST(a_lock_that_is_held_keeps_nobody_waiting)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    const int fd = open(test_path("cache/chunks-1/ledger"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sl_chunk_lock(fd, F_WRLCK, 0), 0);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_END);
    assert_int_equal(close(fd), 0);
    assert_int_equal(chunk_rig_keep(object, 0, 0), SLUICE_OK);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* A forked child of a process that has the cache open. */
static int use_after_fork(void)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    CHILD_NEEDS(chunk_rig_keep(object, 1, 0) == SLUICE_OK);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(a_child_has_a_cache_of_its_own)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    in_child(use_after_fork);
    sl_cached_object *object = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    assert_int_equal(chunk_rig_check(object, 1, 0), SL_CHUNK_HERE);
    assert_int_equal(stats_of(cache).kept_bytes, 25 * 4096);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

/* ---- damaged files ---- */

enum { DAMAGED_BYTES = 5000 };

/* Reopens the cache, because a process verifies a file only once. */
static void needs_damage(void)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 4, DAMAGED_BYTES);
    assert_int_equal(chunk_rig_check(object, 4, 0), SL_CHUNK_ABSENT);
    assert_int_equal(stats_of(cache).damaged, 1);
    assert_int_equal(sl_chunk_cache_space(cache), PLENTY);
    assert_int_equal(chunk_rig_count(""), 0);
    assert_int_equal(chunk_rig_keep(object, 4, 0), SLUICE_OK);
    assert_int_equal(chunk_rig_check(object, 4, 0), SL_CHUNK_HERE);
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

static void open_file_of(int *fd, off_t *bytes)
{
    struct stat facts;
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 4, DAMAGED_BYTES);
    (void)chunk_rig_keep(object, 4, 0);
    *fd = open(chunk_rig_file(object, 0, ""), O_RDWR | O_CLOEXEC);
    assert_true(*fd >= 0);
    assert_int_equal(fstat(*fd, &facts), 0);
    *bytes = facts.st_size;
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
}

CACHE_TEST(each_changed_byte_is_noticed)
{
    int fd;
    off_t bytes;
    open_file_of(&fd, &bytes);
    assert_true(bytes > DAMAGED_BYTES + SL_CHUNK_FOOTER);
    assert_int_equal(close(fd), 0);
    for (off_t at = 0; at < bytes; at += at < DAMAGED_BYTES - 500 ? 499 : 1) {
        uint8_t byte;
        open_file_of(&fd, &bytes);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (uint8_t)(1U << (at % 8));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(close(fd), 0);
        needs_damage();
        at += at >= DAMAGED_BYTES - 500 && at < DAMAGED_BYTES - 20 ? 97 : 0;
    }
}

CACHE_TEST(files_of_another_length_are_noticed)
{
    int fd;
    off_t bytes;
    open_file_of(&fd, &bytes);
    assert_int_equal(close(fd), 0);
    const off_t lengths[] = {0, 1, 63, 64, 65, 4096, bytes - 1, bytes + 1, bytes + 64, 2 * bytes};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        open_file_of(&fd, &bytes);
        assert_int_equal(ftruncate(fd, lengths[i]), 0);
        assert_int_equal(close(fd), 0);
        needs_damage();
    }
    /* Like after a power failure: the length is right, and some or all pages are zero. */
    for (off_t from = 0; from < bytes; from += 2500) {
        open_file_of(&fd, &bytes);
        assert_int_equal(ftruncate(fd, from), 0);
        assert_int_equal(ftruncate(fd, bytes), 0);
        assert_int_equal(close(fd), 0);
        needs_damage();
    }
    const char zeros[2000] = {0};
    open_file_of(&fd, &bytes);
    assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 1000), sizeof(zeros));
    assert_int_equal(close(fd), 0);
    needs_damage();
    /* Footer values that do not match, under a right checksum. */
    open_file_of(&fd, &bytes);
    uint8_t *all = sl_malloc((size_t)bytes);
    assert_non_null(all);
    assert_int_equal(pread(fd, all, (size_t)bytes, 0), bytes);
    sl_chunk_tail tail;
    assert_int_equal(sl_chunk_tail_read(fd, (uint64_t)bytes, &tail), SL_CHUNK_GOOD);
    assert_int_equal(close(fd), 0);
    const uint64_t claims[] = {0, 1, DAMAGED_BYTES + 1, UINT64_MAX, UINT64_MAX - SL_CHUNK_FOOTER};
    for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++) {
        uint8_t encoded[SL_CHUNK_TAIL_MAX];
        open_file_of(&fd, &bytes);
        tail.bytes = claims[i];
        const size_t length = sl_chunk_tail_encode(&tail, encoded);
        assert_int_equal(pwrite(fd, encoded, length, bytes - (off_t)length), length);
        assert_int_equal(close(fd), 0);
        needs_damage();
    }
    sl_free(all);
}

/* ---- foreign files ---- */

/* Makes a file of version 2 with right checksums. */
static void make_version_two(const char *path)
{
    uint8_t encoded[SL_CHUNK_TAIL_MAX];
    sl_chunk_tail tail = {
        .address = "s3://b/4", .etag = "\"etag\"", .object_bytes = DAMAGED_BYTES, .bytes = 0};
    const size_t length = sl_chunk_tail_encode(&tail, encoded);
    uint8_t *footer = encoded + length - SL_CHUNK_FOOTER;
    sl_store32(footer + 8, 2);
    sl_store64(footer + 56, sl_checksum(encoded, length - 8));
    write_file(path, encoded, (uint32_t)length);
}

CACHE_TEST(files_of_others_are_left_alone)
{
    enum { LINKED = 1, FOLDER, FIFO, PART_LINK, VERSION = 4 };
    char target[300];
    sl_cached_object *objects[6];
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    for (unsigned i = 0; i < 6; i++) {
        objects[i] = chunk_rig_object(cache, i, i == VERSION ? DAMAGED_BYTES : CHUNK_RIG_SMALL);
    }
    assert_int_equal(chunk_rig_keep(objects[0], 0, 0), SLUICE_OK);
    (void)snprintf(target, sizeof(target), "%s", test_path("elsewhere"));
    assert_int_equal(rename(chunk_rig_file(objects[0], 0, ""), target), 0);
    assert_int_equal(symlink(target, chunk_rig_file(objects[0], 0, "")), 0);
    assert_int_equal(symlink("/nowhere", chunk_rig_file(objects[LINKED], 0, "")), 0);
    assert_int_equal(mkdir(chunk_rig_file(objects[FOLDER], 0, ""), 0700), 0);
    assert_int_equal(mkfifo(chunk_rig_file(objects[FIFO], 0, ""), 0600), 0);
    make_version_two(chunk_rig_file(objects[VERSION], 0, ""));
    assert_int_equal(symlink(target, chunk_rig_file(objects[5], 0, SL_CHUNK_PART)), 0);
    assert_int_equal(mkdir(test_path("cache/chunks-2"), 0700), 0);
    const char *names[] = {"chunks-2/0123456789abcdef-0",     "chunks-1/README",
                           "chunks-1/0123456789ABCDEF-0",     "chunks-1/0123456789abcdef-00",
                           "chunks-1/0123456789abcdef-0.tmp", "chunks-1/0123456789abcdef"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        write_file(test_path("cache/%s", names[i]), "x", 1);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(chunk_rig_check(objects[i], i, 0), SL_CHUNK_ABSENT);
        assert_int_equal(chunk_rig_keep(objects[i], i, 0), SLUICE_END);
        sl_cached_object_close(objects[i]);
    }
    assert_int_equal(stats_of(cache).damaged, 0);
    assert_string_equal(stats_of(cache).off, "");
    sl_chunk_cache_close(cache);

    sl_chunk_work work;
    assert_int_equal(sl_chunk_list_verify(chunk_rig_folder(), NULL, &work, NULL), SLUICE_OK);
    assert_int_equal(work.chunks + work.damaged, 0);
    cache = chunk_rig_open(4096);
    (void)sl_chunk_cache_make_space(cache, 4096);
    sl_chunk_cache_close(cache);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_int_equal(access(test_path("cache/%s", names[i]), F_OK), 0);
    }
    assert_int_equal(access(target, F_OK), 0);
}

/* ---- folders ---- */

static void remove_cache(const char *what)
{
    char command[400];
    (void)snprintf(command, sizeof(command), "rm -rf %s", test_path("%s", what));
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c,concurrency-mt-unsafe)
}

CACHE_TEST(a_folder_may_be_removed_while_it_is_used)
{
    const char *const removed[] = {"cache", "cache/chunks-1", "cache/chunks-1/*"};
    for (size_t i = 0; i < sizeof(removed) / sizeof(*removed); i++) {
        sl_chunk_use use;
        sl_chunk_part *part;
        uint8_t found[16];
        sl_chunk_cache *cache = chunk_rig_open(PLENTY);
        chunk_rig_fill(cache, 3);
        sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
        sl_cached_object *another = chunk_rig_object(cache, 8, CHUNK_RIG_SMALL);
        assert_int_equal(sl_chunk_find(object, 0, &use), SL_CHUNK_HERE);
        assert_int_equal(sl_chunk_begin(another, 0, &part, NULL), SLUICE_OK);
        remove_cache(removed[i]);

        assert_int_equal(pread(use.fd, found, sizeof(found), 0), sizeof(found));
        sl_chunk_done(object, &use);
        uint8_t *bytes = chunk_rig_bytes(8, 0, CHUNK_RIG_SMALL);
        assert_int_equal(sl_chunk_keep(part, bytes, CHUNK_RIG_SMALL, NULL), SLUICE_END);
        sl_free(bytes);
        assert_int_equal(chunk_rig_keep(another, 8, 0), SLUICE_OK);
        assert_int_equal(chunk_rig_check(another, 8, 0), SL_CHUNK_HERE);
        assert_int_equal(stats_of(cache).kept_bytes, 25 * 4096);
        assert_string_equal(stats_of(cache).off, "");
        sl_cached_object_close(object);
        sl_cached_object_close(another);
        sl_chunk_cache_close(cache);
        remove_cache("cache");
    }
}

static sluice_status try_open(char text[200])
{
    sl_chunk_cache *cache = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = sl_chunk_cache_open(&cache, chunk_rig_folder(), PLENTY, &error);
    (void)snprintf(text, 200, "%.199s", error.text);
    if (status == SLUICE_OK) {
        sl_chunk_cache_close(cache);
    }
    return status;
}

CACHE_TEST(folders_that_others_may_write_to_are_refused)
{
    char text[200];
    sl_chunk_cache_close(chunk_rig_open(PLENTY));
    char inner[300];
    char outer[300];
    (void)snprintf(inner, sizeof(inner), "%s", test_path("cache/chunks-1"));
    (void)snprintf(outer, sizeof(outer), "%s", chunk_rig_folder());
    const mode_t bad[] = {0720, 0702, 0777};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(chmod(inner, bad[i]), 0);
        assert_int_equal(try_open(text), SLUICE_IO);
        assert_non_null(strstr(text, "other users may write"));
    }
    assert_int_equal(chmod(inner, 0700), 0);
    assert_int_equal(chmod(outer, 0777), 0);
    assert_int_equal(try_open(text), SLUICE_IO);
    assert_non_null(strstr(text, "every user may write"));
    assert_int_equal(chmod(outer, 01777), 0);
    assert_int_equal(try_open(text), SLUICE_OK);
    assert_int_equal(chmod(outer, 0775), 0); /* a usual umask; its contents are checked too */
    assert_int_equal(try_open(text), SLUICE_OK);
    if (geteuid() == 0) {
        assert_int_equal(chown(inner, NOBODY, NOBODY), 0);
        assert_int_equal(try_open(text), SLUICE_IO);
        assert_non_null(strstr(text, "belongs to another user"));
        assert_int_equal(chown(inner, 0, 0), 0);
        assert_int_equal(chown(outer, NOBODY, NOBODY), 0);
        assert_int_equal(try_open(text), SLUICE_IO);
        assert_non_null(strstr(text, "belongs to another user"));
    }
}

CACHE_TEST(folders_that_are_none_are_refused)
{
    char text[200];
    sl_chunk_cache *cache;
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(test_path("cache"), "x", 1);
    assert_int_equal(try_open(text), SLUICE_IO);
    assert_int_equal(unlink(test_path("cache")), 0);
    assert_int_equal(mkdir(test_path("cache"), 0700), 0);
    assert_int_equal(symlink(test_folder(), test_path("cache/chunks-1")), 0);
    assert_int_equal(try_open(text), SLUICE_IO);
    assert_int_equal(sl_chunk_cache_open(&cache, "", 1, &error), SLUICE_INVALID);
    assert_int_equal(sl_chunk_cache_open(&cache, NULL, 1, &error), SLUICE_INVALID);
    assert_int_equal(sl_chunk_cache_open(&cache, "/proc/nothing/here", 1, &error), SLUICE_IO);
    /* Parent folders are created, and a link to a folder is followed. */
    assert_int_equal(sl_chunk_cache_open(&cache, test_path("cache/a/b/c"), PLENTY, &error),
                     SLUICE_OK);
    sl_chunk_cache_close(cache);
    assert_int_equal(symlink(test_path("cache/a/b"), test_path("link")), 0);
    assert_int_equal(sl_chunk_cache_open(&cache, test_path("link"), PLENTY, &error), SLUICE_OK);
    sl_chunk_cache_close(cache);
    assert_int_equal(access(test_path("cache/a/b/chunks-1/ledger"), F_OK), 0);
}

/* ---- disks ---- */

/* Creates mounts for this process alone. */
static bool have_own_mounts(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int on_a_read_only_disk(void)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s", chunk_rig_folder());
    if (!have_own_mounts() || mount(path, path, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) {
        return SKIPPED;
    }
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_cached_object *other = chunk_rig_object(cache, 9, CHUNK_RIG_SMALL);
    CHILD_NEEDS(chunk_rig_check(object, 0, 0) == SL_CHUNK_HERE);
    CHILD_NEEDS(strstr(stats_of(cache).off, "Read-only file system") != NULL);
    CHILD_NEEDS(chunk_rig_keep(other, 9, 0) == SLUICE_END);
    CHILD_NEEDS(chunk_rig_check(other, 9, 0) == SL_CHUNK_ABSENT);
    CHILD_NEEDS(!sl_chunk_remove(object, 0));
    CHILD_NEEDS(sl_chunk_cache_make_space(cache, 1000) == 0);
    sl_cached_object_close(object);
    sl_cached_object_close(other);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(a_read_only_disk_is_read_from)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, 1);
    sl_chunk_cache_close(cache);
    in_child(on_a_read_only_disk);
}

static int new_on_a_read_only_disk(void)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s", test_folder());
    if (!have_own_mounts() || mount(path, path, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) {
        return SKIPPED;
    }
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    CHILD_NEEDS(chunk_rig_check(object, 0, 0) == SL_CHUNK_ABSENT);
    CHILD_NEEDS(sl_chunk_look(object, 0) == SL_CHUNK_ABSENT);
    CHILD_NEEDS(chunk_rig_keep(object, 0, 0) == SLUICE_END);
    CHILD_NEEDS(sl_chunk_cache_space(cache) == 0);
    CHILD_NEEDS(stats_of(cache).off[0] != '\0');
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(a_read_only_disk_without_a_cache_keeps_nothing)
{
    in_child(new_on_a_read_only_disk);
}

static int in_a_read_only_folder(void)
{
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
        return SKIPPED;
    }
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_cached_object *other = chunk_rig_object(cache, 9, CHUNK_RIG_SMALL);
    CHILD_NEEDS(chunk_rig_check(object, 0, 0) == SL_CHUNK_HERE);
    CHILD_NEEDS(chunk_rig_keep(other, 9, 0) == SLUICE_IO);
    CHILD_NEEDS(strstr(stats_of(cache).off, "Permission denied") != NULL);
    CHILD_NEEDS(chunk_rig_keep(other, 9, 0) == SLUICE_END);
    CHILD_NEEDS(chunk_rig_check(object, 0, 0) == SL_CHUNK_HERE);
    sl_cached_object_close(object);
    sl_cached_object_close(other);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(a_read_only_folder_is_read_from)
{
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, 1);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    if (geteuid() == 0) {
        assert_int_equal(chmod(test_folder(), 0755), 0);
        const char *paths[] = {test_path("cache"), test_path("cache/chunks-1"),
                               test_path("cache/chunks-1/ledger"), chunk_rig_file(object, 0, "")};
        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
            assert_int_equal(chown(paths[i], NOBODY, NOBODY), 0);
        }
    }
    sl_cached_object_close(object);
    sl_chunk_cache_close(cache);
    assert_int_equal(chmod(test_path("cache/chunks-1"), 0500), 0);
    in_child(in_a_read_only_folder);
    assert_int_equal(chmod(test_path("cache/chunks-1"), 0700), 0);
}

static int on_a_full_disk(void)
{
    enum { FIT = 5 };
    char path[300];
    (void)snprintf(path, sizeof(path), "%s", test_path("cache"));
    (void)mkdir(path, 0700);
    if (!have_own_mounts() || mount("none", path, "tmpfs", 0, "size=512k,mode=0700") != 0) {
        return SKIPPED;
    }
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    for (unsigned i = 0; i < 7; i++) {
        sl_cached_object *object = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        const sluice_status status = chunk_rig_keep(object, i, 0);
        CHILD_NEEDS(status == (i < FIT ? SLUICE_OK : i == FIT ? SLUICE_IO : SLUICE_END));
        CHILD_NEEDS(chunk_rig_check(object, i, 0) == (i < FIT ? SL_CHUNK_HERE : SL_CHUNK_ABSENT));
        sl_cached_object_close(object);
    }
    const sl_chunk_cache_stats stats = stats_of(cache);
    CHILD_NEEDS(strstr(stats.off, "No space left on device") != NULL);
    CHILD_NEEDS(stats.kept_bytes == (uint64_t)FIT * 25 * 4096);
    CHILD_NEEDS(chunk_rig_count(SL_CHUNK_PART) == 0);
    /* After a minute, and with space again, it resumes. */
    cache->off_until_ns = 1;
    sl_cached_object *first = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_cached_object *last = chunk_rig_object(cache, 6, CHUNK_RIG_SMALL);
    CHILD_NEEDS(sl_chunk_remove(first, 0));
    CHILD_NEEDS(chunk_rig_keep(last, 6, 0) == SLUICE_OK);
    CHILD_NEEDS(stats_of(cache).off[0] == '\0');
    sl_cached_object_close(first);
    sl_cached_object_close(last);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(a_full_disk_turns_keeping_off)
{
    in_child(on_a_full_disk);
}

static int with_a_limit_of_files(void)
{
    const struct rlimit low = {.rlim_cur = 50000, .rlim_max = 50000};
    CHILD_NEEDS(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    chunk_rig_fill(cache, 1);
    CHILD_NEEDS(setrlimit(RLIMIT_FSIZE, &low) == 0);
    sl_cached_object *object = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    sl_cached_object *other = chunk_rig_object(cache, 1, CHUNK_RIG_SMALL);
    CHILD_NEEDS(chunk_rig_keep(other, 1, 0) == SLUICE_IO);
    CHILD_NEEDS(strstr(stats_of(cache).off, "File too large") != NULL);
    CHILD_NEEDS(chunk_rig_check(other, 1, 0) == SL_CHUNK_ABSENT);
    CHILD_NEEDS(chunk_rig_check(object, 0, 0) == SL_CHUNK_HERE);
    CHILD_NEEDS(chunk_rig_count(SL_CHUNK_PART) == 0);
    sl_cached_object_close(object);
    sl_cached_object_close(other);
    sl_chunk_cache_close(cache);
    return 0;
}

CACHE_TEST(files_may_be_limited)
{
    in_child(with_a_limit_of_files);
}

/* ---- managing ---- */

typedef struct seen {
    unsigned count;
    char text[400];
} seen;

static sluice_status see(void *ctx, const sl_chunk_listed *object, sluice_error *error)
{
    (void)error;
    seen *s = ctx;
    const size_t length = strlen(s->text);
    s->count++;
    (void)snprintf(s->text + length, sizeof(s->text) - length, "%s %llu/%llu %llu; ",
                   object->address, (unsigned long long)object->bytes,
                   (unsigned long long)object->object_bytes, (unsigned long long)object->chunks);
    assert_true(object->used_s > 0);
    return SLUICE_OK;
}

static void needs_list(const char *expected)
{
    seen s = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_chunk_list(chunk_rig_folder(), see, &s, &error), SLUICE_OK);
    assert_string_equal(s.text, expected);
}

static void count_progress(void *ctx, uint64_t done, uint64_t all)
{
    uint64_t *last = ctx;
    assert_true(done > *last && done <= all);
    *last = done;
}

CACHE_TEST(a_cache_is_listed_verified_and_emptied)
{
    sl_chunk_work work;
    uint64_t done = 0;
    const sl_chunk_progress progress = {.progress = count_progress, .ctx = &done};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_chunk_list(chunk_rig_folder(), see, NULL, &error), SLUICE_IO);
    assert_int_equal(mkdir(chunk_rig_folder(), 0700), 0);
    needs_list("");
    sl_chunk_cache *cache = chunk_rig_open(PLENTY);
    sl_cached_object *large = chunk_rig_object(cache, 2, SL_CHUNK_BYTES + 70);
    assert_int_equal(chunk_rig_keep(large, 2, 1), SLUICE_OK);
    chunk_rig_fill(cache, 2);
    const char *expected = "s3://b/0 100000/100000 1; s3://b/1 100000/100000 1; "
                           "s3://b/2 70/8388678 1; ";
    needs_list(expected);
    assert_int_equal(sl_chunk_list_verify(chunk_rig_folder(), &progress, &work, &error), SLUICE_OK);
    assert_int_equal(work.chunks, 3);
    assert_int_equal(work.bytes, 200070);
    assert_int_equal(work.damaged, 0);
    assert_true(done > 200070);
    needs_list(expected);

    sl_cached_object *first = chunk_rig_object(cache, 0, CHUNK_RIG_SMALL);
    const int fd = open(chunk_rig_file(first, 0, ""), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "", 1, 5), 1);
    assert_int_equal(close(fd), 0);
    assert_int_equal(sl_chunk_list_verify(chunk_rig_folder(), NULL, &work, &error), SLUICE_OK);
    assert_int_equal(work.chunks, 2);
    assert_int_equal(work.damaged, 1);
    assert_true(work.damaged_bytes > CHUNK_RIG_SMALL);
    needs_list("s3://b/1 100000/100000 1; s3://b/2 70/8388678 1; ");

    assert_int_equal(sl_chunk_list_empty(chunk_rig_folder(), "s3://b/1", NULL, &work, &error),
                     SLUICE_OK);
    assert_int_equal(work.chunks, 1);
    needs_list("s3://b/2 70/8388678 1; ");
    assert_int_equal(stats_of(cache).kept_bytes, 4096); /* also in the process that has it open */
    assert_int_equal(sl_chunk_list_empty(chunk_rig_folder(), NULL, NULL, &work, &error), SLUICE_OK);
    assert_int_equal(chunk_rig_count(""), 0);
    assert_int_equal(stats_of(cache).kept_bytes, 0);
    sl_cached_object_close(first);
    sl_cached_object_close(large);
    sl_chunk_cache_close(cache);
}
