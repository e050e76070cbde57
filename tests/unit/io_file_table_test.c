/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the table keeps open, and what it refuses. */
#include "file_table.h"
#include "memory.h"
#include "photo_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *path_of(uint32_t number)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%u", folder, number);
    return path;
}

static int set_up(void **state)
{
    (void)state;
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
    (void)state;
    remove_tree(folder);
    return 0;
}

static sl_file *pin(sl_file_table *table, uint32_t number)
{
    sl_file *file = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_file_table_pin(table, number, path_of(number), &file, &error), SLUICE_OK);
    char text[32] = "";
    char expected[32];
    (void)snprintf(expected, sizeof(expected), "this is file %u", number);
    assert_int_equal(file->bytes, 14);
    if (!file->direct) {
        assert_int_equal(pread(file->fd, text, sizeof(text), 0), 14);
        assert_string_equal(text, expected);
    }
    return file;
}

static void oldest_unused_is_closed(void **state)
{
    (void)state;
    sl_file_table table;
    assert_int_equal(sl_file_table_open(&table, 3, SL_CACHE_BUFFERED, NULL), SLUICE_OK);
    sl_file *zero = pin(&table, 0);
    sl_file *one = pin(&table, 1);
    sl_file_table_unpin(&table, pin(&table, 2));
    assert_ptr_equal(pin(&table, 0), zero);
    assert_int_equal(zero->pins, 2);
    sl_file_table_unpin(&table, pin(&table, 3)); /* instead of 2, the only one not in use */
    assert_null(sl_file_table_pin_open(&table, 2));
    sl_file_table_unpin(&table, sl_file_table_pin_open(&table, 3));
    sl_file *four = pin(&table, 4);
    sl_file *none = NULL;
    assert_int_equal(sl_file_table_pin(&table, 5, path_of(5), &none, NULL), SLUICE_AGAIN);
    sl_file_table_unpin(&table, one);
    sl_file_table_unpin(&table, pin(&table, 5)); /* instead of 1 */
    assert_ptr_equal(sl_file_table_pin_open(&table, 4), four);
    assert_ptr_equal(sl_file_table_pin_open(&table, 0), zero);
    sl_file_table_close(&table);
}

static void reopening_waits_for_readers(void **state)
{
    (void)state;
    sl_file_table table;
    assert_int_equal(sl_file_table_open(&table, 3, SL_CACHE_DIRECT, NULL), SLUICE_OK);
    sl_file *zero = pin(&table, 0);
    sl_file *none = NULL;
    int old = zero->fd;
    sl_file_table_reopen(zero, true);
    assert_null(sl_file_table_pin_open(&table, 0));
    assert_int_equal(sl_file_table_pin(&table, 0, path_of(0), &none, NULL), SLUICE_AGAIN);
    assert_int_equal(fcntl(old, F_GETFD), FD_CLOEXEC);
    sl_file_table_unpin(&table, zero);
    zero = pin(&table, 0);
    assert_false(zero->direct);
    assert_int_equal(fcntl(zero->fd, F_GETFL) & (O_DIRECT | O_NONBLOCK), 0);
    assert_non_null(sl_file_table_pin_open(&table, 0));
    sl_file_table_close(&table);
}

static void direct_is_probed(void **state)
{
    (void)state;
    sl_file_table table;
    assert_int_equal(sl_file_table_open(&table, 3, SL_CACHE_DIRECT, NULL), SLUICE_OK);
    sl_file *file = pin(&table, 1);
    assert_int_equal((fcntl(file->fd, F_GETFL) & O_DIRECT) != 0, file->direct);
    /* A file system of this kernel's that refuses the open or the read: read through its cache. */
    sl_file *proc = NULL;
    assert_int_equal(sl_file_table_pin(&table, 99, "/proc/version", &proc, NULL), SLUICE_OK);
    assert_false(proc->direct);
    sl_file_table_close(&table);
}

static void refused(void **state)
{
    (void)state;
    sl_file_table table;
    sl_file *file = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_file_table_open(&table, 3, SL_CACHE_BUFFERED, NULL), SLUICE_OK);
    assert_int_equal(sl_file_table_pin(&table, 0, folder, &file, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, EISDIR);
    assert_string_equal(error.file, folder);
    assert_int_equal(sl_file_table_pin(&table, 77, path_of(77), &file, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_int_equal(mkfifo(path_of(78), 0600), 0);
    assert_int_equal(sl_file_table_pin(&table, 78, path_of(78), &file, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, EINVAL);
    sl_file_table_close(&table);
}

static void few_descriptors(void **state)
{
    (void)state;
    struct rlimit before;
    sl_file_table table;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest = dup(0);
    close(lowest);
    struct rlimit few = {20, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(sl_file_table_open(&table, 1000, SL_CACHE_BUFFERED, NULL), SLUICE_OK);
    assert_int_equal(table.capacity, 10);
    few.rlim_cur = (rlim_t)lowest + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (uint32_t i = 0; i < 5; i++) {
        sl_file_table_unpin(&table, pin(&table, i)); /* closes an older one for each */
    }
    sl_file *file = NULL;
    sl_file *five = pin(&table, 5);
    sl_file *six = pin(&table, 6);
    assert_int_equal(sl_file_table_pin(&table, 7, path_of(7), &file, &error), SLUICE_AGAIN);
    assert_int_equal(error.sys_errno, EMFILE);
    sl_file_table_unpin(&table, five);
    sl_file_table_unpin(&table, six);
    sl_file_table_unpin(&table, pin(&table, 7));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    sl_file_table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_unused_is_closed), cmocka_unit_test(reopening_waits_for_readers),
        cmocka_unit_test(direct_is_probed),        cmocka_unit_test(refused),
        cmocka_unit_test(few_descriptors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
