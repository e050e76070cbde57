/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that a list's files must be in: names by their text, files wherever links lead, with
 * and without /proc and openat2.
 */
#include "boundary.h"
#include "error.h"
#include "objects.h"
#include "test_folder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool without_proc, without_openat2;

ssize_t __real_readlink(const char *path, char *to, size_t bytes);
ssize_t __wrap_readlink(const char *path, char *to, size_t bytes);

ssize_t __wrap_readlink(const char *path, char *to, size_t bytes)
{
    if (without_proc && strncmp(path, "/proc/", 6) == 0) {
        errno = ENOENT;
        return -1;
    }
    return __real_readlink(path, to, bytes);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    const long a = va_arg(arguments, long);
    const long b = va_arg(arguments, long);
    const long c = va_arg(arguments, long);
    const long d = va_arg(arguments, long);
    va_end(arguments);
    if (without_openat2 && number == SYS_openat2) {
        errno = ENOSYS;
        return -1;
    }
    return __real_syscall(number, a, b, c, d);
}

static sl_bytes text(const char *name)
{
    return (sl_bytes){(const uint8_t *)name, strlen(name)};
}

TEST(names_stay_or_leave)
{
    static const struct {
        const char *name;
        uint32_t depth; /* from this depth on it stays inside */
    } names[] = {
        {"a.jpg", 0},   {"a/b.jpg", 0}, {"./a", 0},       {"a//b", 0},         {"", 0},
        {"a/../b", 0},  {"a/..", 0},    {"..a/b", 0},     {"a..", 0},          {".../b", 0},
        {"..", 1},      {"../a", 1},    {".//../a", 1},   {"a/../../b", 1},    {"./..", 1},
        {"../../a", 2}, {"a/../..", 1}, {"../a/../b", 1}, {"../a/../../b", 2}, {"x/./../..//..", 2},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (uint32_t depth = 0; depth < 4; depth++) {
            assert_int_equal(sl_boundary_stays(text(names[i].name), depth),
                             depth >= names[i].depth);
        }
    }
    assert_false(sl_boundary_stays(text("/a"), 9));
}

static sl_boundary *open_folder(const char *folder, const char *below)
{
    sl_boundary *boundary = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_boundary_open(&boundary, test_path("%s", folder), below, &error) < 0)
        fail_msg("%s", error.text);
    return boundary;
}

static bool has_name(sl_boundary *boundary, const char *name)
{
    return sl_boundary_has_name(boundary, text(name), 0);
}

/* With the folder's own name, and with its names by links. */
TEST(absolute_names_begin_with_the_folder)
{
    sl_boundary *boundary = open_folder("link", "");
    assert_true(has_name(boundary, test_path("set/a.jpg")));
    assert_true(has_name(boundary, test_path("set//sub/../a.jpg")));
    assert_true(has_name(boundary, test_path("link/a.jpg")));
    assert_true(has_name(boundary, test_path("link/absent/a.jpg")));
    assert_true(has_name(boundary, test_path("set/../link/a.jpg")));
    assert_true(has_name(boundary, "a.jpg"));
    assert_false(has_name(boundary, test_path("set2/a.jpg")));
    assert_false(has_name(boundary, test_path("secret.jpg")));
    assert_false(has_name(boundary, test_path("set/../secret.jpg")));
    assert_false(has_name(boundary, test_path("link/../secret.jpg")));
    assert_false(has_name(boundary, "/etc/passwd"));
    assert_false(has_name(boundary, "/"));
    assert_false(has_name(boundary, "../secret.jpg"));
    sl_boundary_close(boundary);
    assert_true(has_name(NULL, "/etc/passwd"));
    boundary = open_folder("set/sub/../../../../../../../../../../..", "");
    assert_true(has_name(boundary, "/etc/passwd")); /* it is in the root folder */
    sl_boundary_close(boundary);
}

/* For a name whose text stays inside. */
static bool has_file(const sl_boundary *boundary, const char *name)
{
    sl_handle file;
    sl_store_facts found;
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_open_how how = {.boundary = boundary};
    const int failed = sl_handle_open_how(&file, test_path("%s", name), &how, &found);
    const bool checked =
        sl_boundary_check(boundary, "list", test_path("%s", name), &error) == SLUICE_OK;
    sl_handle_close(&file);
    assert_true(failed == 0 || failed == -EXDEV);
    assert_int_equal(checked, failed == 0);
    assert_true(checked || strstr(error.text, "the option allow_outside allows that") != NULL);
    return failed == 0;
}

TEST(links_are_followed_within_it)
{
    for (int i = 0; i < 8; i++) {
        without_proc = (i & 1) != 0;
        without_openat2 = (i & 2) != 0;
        sl_boundary *boundary = open_folder(i < 4 ? "link" : "set", "");
        assert_true(has_file(boundary, "set/a.jpg"));
        assert_true(has_file(boundary, "link/a.jpg"));
        assert_true(has_file(boundary, "set/in.jpg"));
        assert_true(has_file(boundary, "set/absolute.jpg"));
        assert_false(has_file(boundary, "set/out.jpg"));
        assert_false(has_file(boundary, "set/folder/a.jpg"));
        assert_false(has_file(boundary, "set/folder/../secret.jpg"));
        assert_true(has_file(NULL, "set/out.jpg"));
        sl_boundary_close(boundary);
        boundary = open_folder("", "set"); /* not a link */
        assert_true(has_file(boundary, "set/a.jpg"));
        sl_boundary_close(boundary);
        boundary = open_folder("", "link"); /* a link, which is not followed */
        assert_false(has_file(boundary, "link/a.jpg"));
        sl_boundary_close(boundary);
    }
    without_proc = false;
    without_openat2 = false;
}

TEST(blobs_of_a_cache_belong_to_it)
{
    sl_boundary *boundary = open_folder("hub/snapshots/5f3a", "");
    assert_true(has_file(boundary, "hub/snapshots/5f3a/a.jpg"));
    assert_false(has_file(boundary, "hub/snapshots/5f3a/other.jpg"));
    assert_false(has_file(boundary, "hub/snapshots/5f3a/out.jpg"));
    assert_false(has_name(boundary, "../../blobs/a"));
    sl_boundary_close(boundary);
    assert_int_equal(rename(test_path("hub/blobs"), test_path("moved")), 0);
    assert_int_equal(symlink("../moved", test_path("hub/blobs")), 0);
    boundary = open_folder("hub/snapshots/5f3a", ""); /* linked "blobs" do not count */
    assert_false(has_file(boundary, "hub/snapshots/5f3a/a.jpg"));
    sl_boundary_close(boundary);
}

TEST(folders_that_are_not_there)
{
    sl_boundary *boundary = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_boundary_open(&boundary, test_path("absent"), "", &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_null(boundary);
    boundary = open_folder("set", "absent"); /* it may be created later */
    assert_true(has_name(boundary, test_path("set/absent/a.jpg")));
    assert_false(has_name(boundary, test_path("set/a.jpg")));
    sl_boundary_close(boundary);
    assert_int_equal(sl_boundary_open_beside(&boundary, test_path("set/list.csv"), &error),
                     SLUICE_OK);
    assert_true(has_file(boundary, "set/a.jpg"));
    assert_int_equal(sl_boundary_check(boundary, "list", test_path("set/absent.jpg"), &error),
                     SLUICE_OK);
    sl_boundary_close(boundary);
}

static void make(void)
{
    static const char *const folders[] = {
        "set", "set/sub", "set2", "hub", "hub/snapshots", "hub/snapshots/5f3a", "hub/blobs"};
    static const char *const files[] = {"set/a.jpg", "set2/a.jpg", "secret.jpg", "hub/blobs/a",
                                        "hub/other.jpg"};
    test_folder_make(NULL);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        (void)mkdir(test_path("%s", folders[i]), 0700);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        write_file(test_path("%s", files[i]), "a", 1);
    (void)!symlink("set", test_path("link"));
    (void)!symlink("../set/a.jpg", test_path("set/in.jpg"));
    (void)!symlink(test_path("set/a.jpg"), test_path("set/absolute.jpg"));
    (void)!symlink("../secret.jpg", test_path("set/out.jpg"));
    (void)!symlink("../set2", test_path("set/folder"));
    (void)!symlink("../../blobs/a", test_path("hub/snapshots/5f3a/a.jpg"));
    (void)!symlink("../../other.jpg", test_path("hub/snapshots/5f3a/other.jpg"));
    (void)!symlink("../../../secret.jpg", test_path("hub/snapshots/5f3a/out.jpg"));
}

int main(void)
{
    make();
    const int failed = test_run(NULL, NULL);
    test_folder_remove(NULL);
    return failed;
}
