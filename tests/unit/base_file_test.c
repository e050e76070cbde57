/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a file, what of it can be looked at, and what is not opened at all. */
#include "file.h"

#include "photo_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[80], other[80];

static int set_up(void **state)
{
    (void)state;
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/a", folder);
    (void)snprintf(other, sizeof(other), "%s/b", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

static sl_file_identity identify(const char *name)
{
    int fd = -1;
    sl_file_identity identity;
    assert_int_equal(sl_file_open((sl_file_name){"test", name}, &fd, &identity, NULL), SLUICE_OK);
    assert_int_equal(identity.sample, 0);
    assert_int_equal(sl_file_sample(fd, (sl_file_name){"test", name}, &identity, NULL), SLUICE_OK);
    assert_int_not_equal(identity.sample, 0);
    sl_file_close(fd);
    return identity;
}

/* Whether the file at `path` is still the one that it was. */
static bool is_same(const sl_file_identity *was)
{
    int fd = -1;
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_file_name name = {"test", path};
    const sluice_status status = sl_file_open_again(name, was, &fd, &error);
    if (status == SLUICE_OK) {
        assert_true(sl_file_is_unchanged(fd, was));
        sl_file_close(fd);
        return true;
    }
    assert_int_equal(status, SLUICE_IO);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(error.text, "changed since it was opened"));
    assert_string_equal(error.file, path);
    return false;
}

static void set_modified(const char *name, int64_t ns)
{
    const struct timespec time = {ns / 1000000000, ns % 1000000000};
    const struct timespec times[2] = {time, time};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void what_leaves_a_file_the_same(void **state)
{
    (void)state;
    write_file(path, "some bytes", 10);
    const sl_file_identity was = identify(path);
    assert_true(is_same(&was));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(is_same(&was));
    assert_int_equal(link(path, other), 0);
    assert_true(is_same(&was));
    assert_int_equal(rename(path, other), 0); /* both are the file: nothing happens */
    assert_int_equal(unlink(other), 0);
    assert_true(is_same(&was));
}

static void what_makes_it_another(void **state)
{
    (void)state;
    write_file(path, "some bytes", 10);
    sl_file_identity was = identify(path);
    write_file(other, "same bytes", 10);
    set_modified(other, was.modified_ns); /* as rsync -t and cp -p leave it */
    assert_int_equal(rename(other, path), 0);
    assert_false(is_same(&was));
    was = identify(path);
    set_modified(path, was.modified_ns + 1);
    assert_false(is_same(&was));
    was = identify(path);
    write_file(path, "some bytes more", 15);
    set_modified(path, was.modified_ns);
    assert_false(is_same(&was));
    was = identify(path);
    assert_int_equal(unlink(path), 0);
    int fd = -1;
    assert_int_equal(sl_file_open_again((sl_file_name){"test", path}, &was, &fd, NULL), SLUICE_IO);
}

/* Written to in place, with the time set back: the sample tells, where it looks. */
static void samples(void **state)
{
    (void)state;
    static uint8_t bytes[100001];
    const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8192, 12288, sizeof(bytes)};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t size = sizes[i];
        const size_t places[] = {0, size / 2, size - 1};
        write_file(path, bytes, (uint32_t)size);
        const sl_file_identity was = identify(path);
        for (size_t k = 0; size > 0 && k < 3; k++) {
            bytes[places[k]] ^= 1;
            write_file(path, bytes, (uint32_t)size);
            bytes[places[k]] ^= 1;
            set_modified(path, was.modified_ns);
            const sl_file_identity now = identify(path);
            assert_int_not_equal(now.sample, was.sample);
            assert_false(sl_file_is_same(&was, &now));
        }
        write_file(path, bytes, (uint32_t)size);
        set_modified(path, was.modified_ns);
        const sl_file_identity now = identify(path);
        assert_true(sl_file_is_same(&was, &now));
    }
}

static void what_is_no_file(void **state)
{
    (void)state;
    char head[4];
    int fd = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *paths[] = {other, folder, "/dev/zero", address.sun_path};
    assert_int_equal(mkfifo(other, 0600), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_file_look(paths[i], head, sizeof(head)), 0);
        assert_int_equal(sl_file_open((sl_file_name){"test", paths[i]}, &fd, NULL, &error),
                         SLUICE_IO);
        assert_true(strstr(error.text, "not a regular file") != NULL || error.sys_errno == ENXIO);
    }
    assert_int_equal(close(server), 0);
    assert_int_equal(unlink(other), 0);
}

static void first_bytes(void **state)
{
    (void)state;
    char head[4] = "";
    assert_int_equal(sl_file_look(path, head, sizeof(head)), 0); /* there is none */
    write_file(path, "ab", 2);
    assert_int_equal(sl_file_look(path, head, sizeof(head)), 2);
    write_file(path, "abcdef", 6);
    assert_int_equal(sl_file_look(path, head, sizeof(head)), 4);
    assert_memory_equal(head, "abcd", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_leaves_a_file_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_makes_it_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(first_bytes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
