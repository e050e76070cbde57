/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of unpacked files: which files are valid, how locks of other processes are handled,
 * which process removes part files, and sharing. python/tests/test_unpacked_dir.py tests whole
 * datasets.
 */
#include "clock.h"
#include "photo_folder.h"
#include "test.h"
#include "thread.h"
#include "unpacked_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PATH = 512, DATA_BYTES = 3 << 20, FILES = 3 };
#define SHORT_NS UINT64_C(100000000)
#define LONG_NS  UINT64_C(3000000000)

static char root[256];
static uint8_t data[DATA_BYTES], packed_data[DATA_BYTES + 100000];

static const char *path_of(const char *name)
{
    static char path[2][PATH];
    static int which;
    which = 1 - which;
    (void)snprintf(path[which], PATH, "%s/%s", root, name);
    return path[which];
}

static int set_up(void **state)
{
    const char *above = getenv("TMPDIR");
    (void)snprintf(root, sizeof(root), "%.100s/sluice-un-XXXXXX", above != NULL ? above : "/tmp");
    for (size_t i = 0; i < DATA_BYTES; i++) {
        data[i] = (uint8_t)(i * i / 5000 + i / 70000);
    }
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    remove_tree(root);
    return 0;
}

/* ---- compressed files ---- */

static void write_gzip(const char *name, size_t bytes)
{
    z_stream z = {.next_in = data, .avail_in = (uInt)bytes};
    z.next_out = packed_data;
    z.avail_out = sizeof(packed_data);
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    write_file(path_of(name), packed_data, (uint32_t)z.total_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
}

static void add_file(sl_file_list *list, const char *name)
{
    assert_int_equal(sl_file_list_add(list, path_of(name), NULL), SLUICE_OK);
    list->files[list->count - 1].packing = SL_PACKING_GZIP;
}

static sluice_status take(sl_file_list *list, const char *store, const sl_unpack_told *told,
                          uint64_t stall_ns, sluice_error *error)
{
    const sl_unpacked_how how = {path_of(store), told, stall_ns};
    return sl_unpacked_store_take(list, &how, error);
}

static void check_contents(const char *path, size_t bytes)
{
    static uint8_t found[DATA_BYTES + 1];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof(found), file), bytes);
    assert_memory_equal(found, data, bytes);
    (void)fclose(file);
}

/* Returns the folder of the file kept at `path`, and a named file in it. */
static const char *beside(const char *path, const char *name)
{
    static char other[PATH];
    (void)snprintf(other, sizeof(other), "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
    return other;
}

static bool exists(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0;
}

/* Removes the kept "a.gz" and returns its path. */
static char *forget(const char *store)
{
    static char kept[PATH];
    sl_file_list list = {0};
    add_file(&list, "a.gz");
    assert_int_equal(take(&list, store, NULL, 0, NULL), SLUICE_OK);
    (void)snprintf(kept, sizeof(kept), "%s", list.files[0].path);
    assert_int_equal(unlink(kept), 0);
    sl_file_list_close(&list);
    return kept;
}

/* ---- tests ---- */

TEST(puts_them_in_their_place)
{
    static const char *const names[FILES] = {"a.tar.gz", "b.tgz", "c.any"};
    static const char *const plain[FILES] = {"a.tar", "b.tar", "c.any"};
    sl_file_list list = {0};
    sl_unpack_told told[FILES + 1] = {{{1000, 0}, NULL}, {{5, 2000}, NULL}, {{0, 0}, NULL}};
    write_file(path_of("plain"), data, 10);
    for (size_t i = 0; i < FILES; i++) {
        write_gzip(names[i], 1000 * (i + 1));
        add_file(&list, names[i]);
    }
    assert_int_equal(sl_file_list_add(&list, path_of("plain"), NULL), SLUICE_OK);
    assert_int_equal(take(&list, "new/store", told, 0, NULL), SLUICE_OK);
    for (size_t i = 0; i < FILES; i++) {
        const sl_listed_file *file = &list.files[i];
        check_contents(file->path, 1000 * (i + 1));
        assert_int_equal(file->packing, SL_PACKING_NONE);
        assert_string_equal(file->name, plain[i]);
        assert_string_equal(file->source, path_of(names[i]));
        assert_int_equal(file->file.bytes, told[i].bytes[0]);
    }
    assert_string_equal(list.files[FILES].path, path_of("plain"));
    assert_null(list.files[FILES].source);
    sl_file_list_close(&list);
}

TEST(what_is_told_counts)
{
    sluice_error error = SLUICE_ERROR_INIT;
    write_gzip("a.gz", 5000);
    static const sl_unpack_told wrong[] = {
        {{4999, 0}, NULL}, {{5001, 4999}, NULL}, {{5000, 0}, "xxh64=0123456789abcdef"}};
    for (size_t i = 0; i < 3; i++) {
        sl_file_list list = {0};
        add_file(&list, "a.gz");
        assert_int_equal(take(&list, "told", &wrong[i], 0, &error), SLUICE_CORRUPT);
        assert_string_equal(error.file, path_of("a.gz"));
        assert_int_equal(list.files[0].packing, SL_PACKING_GZIP);
        sl_file_list_close(&list);
    }
}

/* A process has the lock but makes no progress: after a while it is ignored, but a file possibly in
 * progress is left alone. */
TEST(a_lock_whose_holder_hangs)
{
    sl_file_list list = {0};
    write_gzip("a.gz", DATA_BYTES);
    const char *kept = forget("hang");
    const int fd = open(beside(kept, "lock"), O_RDWR);
    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    write_file(beside(kept, "1.7.part"), data, 10);
    const uint64_t begin = sl_now_ns();
    add_file(&list, "a.gz");
    assert_int_equal(take(&list, "hang", NULL, SHORT_NS, NULL), SLUICE_OK);
    assert_true(sl_now_ns() - begin >= SHORT_NS);
    check_contents(kept, DATA_BYTES);
    assert_true(exists(beside(kept, "1.7.part")));
    sl_file_list_close(&list);
    /* Once it is unlocked, the process that does the work cleans up. */
    assert_int_equal(flock(fd, LOCK_UN), 0);
    (void)close(fd);
    assert_int_equal(unlink(kept), 0);
    (void)forget("hang");
    assert_false(exists(beside(kept, "1.7.part")));
}

typedef struct holder {
    int fd;
    const char *kept; /* file made in the end; NULL: none */
    int wanted;       /* beats, */
    atomic_int beats; /* and heartbeats so far */
} holder;

/* Holds a lock, perhaps longer than a stall is tolerated, but shows progress. */
static void hold(void *argument)
{
    holder *h = argument;
    for (int i = 0; i < h->wanted; i++) {
        sl_sleep_until_ns(sl_now_ns() + LONG_NS / 20);
        (void)futimens(h->fd, NULL);
        atomic_fetch_add_explicit(&h->beats, 1, memory_order_release);
    }
    if (h->kept != NULL) {
        const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        write_file(h->kept, data, DATA_BYTES);
        (void)chmod(h->kept, 0600);
        (void)utimensat(AT_FDCWD, h->kept, times, 0);
    }
    (void)flock(h->fd, LOCK_UN);
}

static void check_waiting(const char *made, const char *kept, int beats)
{
    sl_thread thread = {0};
    sl_file_list list = {0};
    holder h = {.fd = open(beside(kept, "lock"), O_RDWR), .kept = made, .wanted = beats};
    assert_true(h.fd >= 0 && flock(h.fd, LOCK_EX) == 0);
    assert_int_equal(sl_thread_start(&thread, "holder", hold, &h, NULL), SLUICE_OK);
    add_file(&list, "a.gz");
    assert_int_equal(take(&list, "wait", NULL, LONG_NS, NULL), SLUICE_OK);
    assert_true(atomic_load_explicit(&h.beats, memory_order_acquire) == beats);
    sl_thread_join(&thread);
    check_contents(list.files[0].path, DATA_BYTES);
    sl_file_list_close(&list);
    (void)close(h.fd);
}

TEST(who_works_is_waited_for)
{
    struct stat facts;
    write_gzip("a.gz", DATA_BYTES);
    const char *kept = forget("wait");
    check_waiting(NULL, kept, 25); /* for example, it was killed */
    assert_int_equal(unlink(kept), 0);
    check_waiting(kept, kept, 2); /* it has finished: that file is taken */
    assert_int_equal(stat(kept, &facts), 0);
    assert_int_equal(facts.st_mtim.tv_sec, 1000);
}

TEST(what_others_may_write_to_is_not_taken)
{
    write_gzip("a.gz", DATA_BYTES);
    char kept[PATH];
    (void)snprintf(kept, sizeof(kept), "%s", forget("private"));
    for (int i = 0; i < 3; i++) {
        sl_file_list list = {0};
        add_file(&list, "a.gz");
        write_file(kept, data + 1, DATA_BYTES - 1);
        const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000, .tv_nsec = i == 0}};
        assert_int_equal(chmod(kept, i == 1 ? 0660 : i == 2 ? 0602 : 0600), 0);
        assert_int_equal(utimensat(AT_FDCWD, kept, times, 0), 0);
        assert_int_equal(take(&list, "private", NULL, 0, NULL), SLUICE_OK);
        check_contents(list.files[0].path, DATA_BYTES);
        sl_file_list_close(&list);
    }
}

static uint32_t count_files(const char *folder, const char *suffix)
{
    uint32_t count = 0;
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (const struct dirent *at; (at = readdir(stream)) != NULL;) {
        count += sl_ends_with(at->d_name, suffix);
    }
    (void)closedir(stream);
    return count;
}

TEST(an_older_one_is_removed)
{
    char folder[PATH];
    for (size_t i = 1; i < 4; i++) {
        sl_file_list list = {0};
        write_gzip("a.gz", 1000 * i);
        add_file(&list, "a.gz");
        assert_int_equal(take(&list, "older", NULL, 0, NULL), SLUICE_OK);
        check_contents(list.files[0].path, 1000 * i);
        (void)snprintf(folder, sizeof(folder), "%s", beside(list.files[0].path, ""));
        assert_int_equal(count_files(folder, ".unpacked"), 1);
        assert_int_equal(count_files(folder, ".part"), 0);
        sl_file_list_close(&list);
    }
}

/* Two names of one file are the same; opening the same file twice waits for itself. */
TEST(links_and_doubles)
{
    sl_file_list list = {0};
    write_gzip("a.gz", DATA_BYTES);
    (void)unlink(path_of("link.gz"));
    assert_int_equal(symlink("a.gz", path_of("link.gz")), 0);
    add_file(&list, "a.gz");
    add_file(&list, "link.gz");
    add_file(&list, "a.gz");
    assert_int_equal(take(&list, "double", NULL, 0, NULL), SLUICE_OK);
    assert_string_equal(list.files[0].path, list.files[1].path);
    assert_string_equal(list.files[0].path, list.files[2].path);
    assert_string_equal(list.files[1].name, "link");
    check_contents(list.files[0].path, DATA_BYTES);
    sl_file_list_close(&list);
}

TEST_GROUP(set_up, tear_down)
