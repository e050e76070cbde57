/* SPDX-License-Identifier: Apache-2.0 */
/* Objects made of several files: their bytes, and the error when one fails. */
#include "little_endian.h"
#include "objects.h"
#include "photo_folder.h"
#include "read_files.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 3 };

static char folder[64];
static const char *const contents[FILES] = {"a picture", "", "7\n"};
static uint32_t files = FILES;

static sluice_status file_path(void *ctx, uint32_t object, uint32_t file, char *path, size_t bytes)
{
    (void)ctx;
    (void)object;
    return snprintf(path, bytes, "%s/%u", folder, file) < (int)bytes ? SLUICE_OK : SLUICE_INVALID;
}

static sluice_status path_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    return file_path(ctx, object, 0, path, bytes);
}

static uint32_t files_of(void *ctx, uint32_t object)
{
    (void)ctx;
    (void)object;
    return files;
}

static sl_objects *open_objects(void)
{
    const sl_object_names names = {
        .count = 1, .path = path_of, .files = files_of, .file_path = file_path};
    sl_objects *objects;
    for (uint32_t i = 0; i < FILES; i++) {
        char path[100];
        (void)file_path(NULL, 0, i, path, sizeof(path));
        write_file(path, contents[i], (uint32_t)strlen(contents[i]));
    }
    assert_int_equal(sl_objects_open(&objects, &names, NULL), SLUICE_OK);
    return objects;
}

TEST(bytes_and_then_sizes)
{
    uint8_t bytes[100];
    size_t size = 0;
    files = FILES;
    sl_objects *objects = open_objects();
    const size_t all = strlen(contents[0]) + strlen(contents[2]);
    for (size_t capacity = 0; capacity < all + (size_t)FILES * SL_OBJECT_SIZE_BYTES; capacity++) {
        size = 0;
        assert_int_equal(sl_objects_read_whole(objects, 0, bytes, capacity, &size, NULL),
                         SLUICE_AGAIN);
        assert_int_equal(size, all + (size_t)FILES * SL_OBJECT_SIZE_BYTES);
    }
    memset(bytes, 0xee, sizeof(bytes));
    assert_int_equal(sl_objects_read_whole(objects, 0, bytes, size, &size, NULL), SLUICE_OK);
    assert_memory_equal(bytes, "a picture7\n", all);
    for (uint32_t i = 0; i < FILES; i++) {
        assert_int_equal(sl_load64(bytes + all + (size_t)i * SL_OBJECT_SIZE_BYTES),
                         strlen(contents[i]));
    }
    assert_int_equal(bytes[size], 0xee);
    sl_objects_close(objects);
}

TEST(an_empty_file_needs_no_buffer)
{
    char path[100];
    size_t size = 0;
    files = FILES;
    sl_objects *objects = open_objects();
    (void)file_path(NULL, 0, 0, path, sizeof(path));
    write_file(path, "", 0);
    assert_int_equal(sl_objects_read_whole(objects, 0, NULL, 0, &size, NULL), SLUICE_AGAIN);
    assert_int_equal(size, strlen(contents[2]) + (size_t)FILES * SL_OBJECT_SIZE_BYTES);
    sl_objects_close(objects);
}

TEST(one_alone_is_as_it_lies)
{
    uint8_t bytes[100];
    size_t size = 0;
    files = 0;
    sl_objects *objects = open_objects();
    assert_int_equal(sl_objects_read_whole(objects, 0, bytes, sizeof(bytes), &size, NULL),
                     SLUICE_OK);
    assert_int_equal(size, strlen(contents[0]));
    sl_objects_close(objects);
}

TEST(the_one_that_fails_is_named)
{
    uint8_t bytes[100];
    char path[100];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    files = FILES;
    sl_objects *objects = open_objects();
    (void)file_path(NULL, 0, 2, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sl_objects_read_whole(objects, 0, bytes, sizeof(bytes), &size, &error),
                     SLUICE_IO);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_string_equal(error.file, path);
    assert_int_equal(mkfifo(path, 0600), 0); /* it has no reader */
    assert_int_equal(sl_objects_read_whole(objects, 0, bytes, sizeof(bytes), &size, &error),
                     SLUICE_IO);
    assert_string_equal(error.file, path);
    assert_int_equal(unlink(path), 0);
    sl_objects_close(objects);
}

int main(void)
{
    temporary_directory(folder, sizeof(folder));
    const int failed = test_run(NULL, NULL);
    remove_tree(folder);
    return failed;
}
