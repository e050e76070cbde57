/* SPDX-License-Identifier: Apache-2.0 */
/* The local store: how it identifies, queries, opens and lists files, and which it does not
 * open. */
#include "store.h"

#include "error.h"
#include "look.h"
#include "photo_folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[64], path[80], other[80];

static int set_up(void **state)
{
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/a", folder);
    (void)snprintf(other, sizeof(other), "%s/b", folder);
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(folder);
    return 0;
}

static sl_file_identity identify(const char *name)
{
    sl_handle handle;
    sl_file_identity identity;
    assert_int_equal(sl_handle_open(&handle, (sl_file_name){"test", name}, &identity, NULL),
                     SLUICE_OK);
    assert_int_equal(identity.sample, 0);
    assert_int_equal(sl_handle_sample(&handle, &identity, NULL), SLUICE_OK);
    assert_int_not_equal(identity.sample, 0);
    sl_handle_close(&handle);
    sl_handle_close(&handle); /* already closed, which is fine */
    return identity;
}

/* True if the file at `path` is still the same. */
static bool is_same(const sl_file_identity *was)
{
    sl_handle handle;
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_file_name name = {"test", path};
    const sluice_status status = sl_handle_open_again(&handle, name, was, &error);
    if (status == SLUICE_OK) {
        assert_true(sl_handle_is_unchanged(&handle, was));
        sl_handle_close(&handle);
        return true;
    }
    assert_int_equal(status, SLUICE_IO);
    assert_null(handle.store);
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

TEST_WITH(what_leaves_a_file_the_same, set_up, tear_down)
{
    write_file(path, "some bytes", 10);
    const sl_file_identity was = identify(path);
    assert_true(is_same(&was));
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(is_same(&was));
    assert_int_equal(link(path, other), 0);
    assert_true(is_same(&was));
    assert_int_equal(rename(path, other), 0); /* both names are the same file: nothing happens */
    assert_int_equal(unlink(other), 0);
    assert_true(is_same(&was));
}

TEST_WITH(what_makes_it_another, set_up, tear_down)
{
    write_file(path, "some bytes", 10);
    sl_file_identity was = identify(path);
    write_file(other, "same bytes", 10);
    set_modified(other, was.modified_ns); /* like rsync -t and cp -p */
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
    sl_handle handle;
    assert_int_equal(sl_handle_open_again(&handle, (sl_file_name){"test", path}, &was, NULL),
                     SLUICE_IO);
}

/* Written in place, with the time reset: the sample reveals changes in its own bytes. */
TEST_WITH(samples, set_up, tear_down)
{
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

TEST_WITH(what_is_no_file, set_up, tear_down)
{
    char head[4];
    sl_handle handle;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *paths[] = {other, folder, "/dev/zero", address.sun_path};
    assert_int_equal(mkfifo(other, 0600), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sl_store_look(paths[i], head, sizeof(head)), 0);
        assert_int_equal(sl_handle_open(&handle, (sl_file_name){"test", paths[i]}, NULL, &error),
                         SLUICE_IO);
        assert_true(strstr(error.text, "not a regular file") != NULL || error.sys_errno == ENXIO);
    }
    assert_int_equal(close(server), 0);
    assert_int_equal(unlink(other), 0);
}

TEST_WITH(first_bytes, set_up, tear_down)
{
    char head[4] = "";
    assert_int_equal(sl_store_look(path, head, sizeof(head)), 0); /* it has none */
    write_file(path, "ab", 2);
    assert_int_equal(sl_store_look(path, head, sizeof(head)), 2);
    write_file(path, "abcdef", 6);
    assert_int_equal(sl_store_look(path, head, sizeof(head)), 4);
    assert_memory_equal(head, "abcd", 4);
}

/* ---- folders ---- */

typedef struct seen {
    uint32_t count, most;
    sl_entry_kind kinds[8];
    char names[8][32];
} seen;

static sluice_status see(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    seen *s = ctx;
    assert_true(s->count < 8);
    s->kinds[s->count] = entry->kind;
    (void)snprintf(s->names[s->count++], sizeof(s->names[0]), "%s", entry->name);
    return s->count == s->most ? sl_error_set(error, SLUICE_CANCELED, "test", "enough") : SLUICE_OK;
}

static sl_entry_kind kind_seen(const seen *s, const char *name)
{
    uint32_t i = 0;
    while (i < s->count && strcmp(s->names[i], name) != 0) {
        i++;
    }
    assert_true(i < s->count);
    return s->kinds[i];
}

TEST_WITH(a_folder_lists_its_entries, set_up, tear_down)
{
    seen all = {.count = 0};
    seen some = {.most = 2};
    sluice_error error = SLUICE_ERROR_INIT;
    sl_store_facts facts;
    char link_path[100];
    (void)snprintf(link_path, sizeof(link_path), "%s/link", folder);
    write_file(path, "a", 1);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(symlink("b", link_path), 0);
    const sl_file_name name = {"test", folder};
    assert_int_equal(sl_store_list(name, see, &all, &error), SLUICE_OK);
    assert_int_equal(all.count, 3);
    assert_int_equal(kind_seen(&all, "a"), SL_ENTRY_FILE);
    assert_int_equal(kind_seen(&all, "b"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_seen(&all, "link"), SL_ENTRY_LINK);
    assert_true(sl_store_is_folder(&(sl_store_entry){"link", SL_ENTRY_LINK}, link_path));
    assert_int_equal(sl_store_find((sl_file_name){"test", link_path}, &facts, &error), SLUICE_OK);
    assert_int_equal(facts.kind, SL_ENTRY_FOLDER); /* the link's target */
    assert_int_equal(sl_store_list(name, see, &some, &error), SLUICE_CANCELED);
    assert_int_equal(some.count, 2);
    assert_int_equal(sl_store_list((sl_file_name){"test", path}, see, &all, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, ENOTDIR);
    assert_string_equal(error.file, path);
}

/* A link without a target is missing, and neither file nor folder. */
TEST_WITH(what_is_not_there, set_up, tear_down)
{
    sluice_error error = SLUICE_ERROR_INIT;
    char below[100];
    char loop[100];
    (void)snprintf(below, sizeof(below), "%s/x", path);
    (void)snprintf(loop, sizeof(loop), "%s/loop", folder);
    write_file(path, "a", 1);
    assert_int_equal(symlink("loop", loop), 0);
    const char *paths[] = {other, below, loop};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        sl_store_facts facts;
        assert_true(sl_store_is_missing(sl_store_stat(paths[i], &facts)));
        assert_false(sl_store_has_file(paths[i]) || sl_store_has_folder(paths[i]));
        assert_int_equal(sl_store_find((sl_file_name){"test", paths[i]}, &facts, &error),
                         SLUICE_IO);
    }
    assert_true(sl_store_has_file(path));
}

TEST_WITH(a_file_that_was_looked_at_is_taken_over_once, set_up, tear_down)
{
    const sl_file_name name = {"test", path};
    sl_file_identity identity = {0};
    sl_open_file kept = {.identity = {0}};
    sl_handle first;
    sl_handle second;
    sl_look look;
    write_file(path, "some bytes", 10);
    write_file(other, "same bytes", 10);
    sl_look_begin(&look, path);
    sl_look_keep_open(&look, &kept);
    assert_true(sl_look_is_file(&look));
    const int fd = kept.handle.fd;
    assert_true(fd >= 0);
    assert_null(sl_store_offer_file(&kept));
    assert_true(sl_store_offers_file(path) && !sl_store_offers_file(other));
    assert_int_equal(sl_handle_open(&first, (sl_file_name){"test", other}, NULL, NULL), SLUICE_OK);
    assert_int_not_equal(first.fd, fd);
    sl_handle_close(&first);
    assert_int_equal(sl_handle_open(&first, name, &identity, NULL), SLUICE_OK);
    assert_int_equal(first.fd, fd);
    assert_false(sl_store_offers_file(path));
    assert_string_equal(first.name.stage, "test");
    assert_int_equal(identity.bytes, 10);
    assert_true(sl_handle_is_unchanged(&first, &identity));
    assert_int_equal(sl_handle_open(&second, name, NULL, NULL), SLUICE_OK);
    assert_int_not_equal(second.fd, fd);
    assert_ptr_equal(sl_store_offer_file(NULL), &kept);
    sl_handle_close(&first);
    sl_handle_close(&second);
    sl_handle_close(&kept.handle); /* already closed, which is fine */
}

TEST(paths_are_joined_as_far_as_they_fit)
{
    char joined[SL_PATH_BYTES];
    char name[SL_PATH_BYTES];
    memset(name, 'n', sizeof(name));
    name[SL_PATH_BYTES - 2] = '\0'; /* with "f/" one byte too long for the NUL */
    assert_false(sl_path_join(joined, "f", name));
    name[SL_PATH_BYTES - 3] = '\0';
    assert_true(sl_path_join(joined, "f", name));
    assert_int_equal(strlen(joined), SL_PATH_BYTES - 1);
    assert_memory_equal(joined, "f/nn", 4);
    assert_true(sl_path_join(joined, "", "a") && strcmp(joined, "/a") == 0);
    assert_true(sl_path_join(joined, "a/", "") && strcmp(joined, "a//") == 0);
}

TEST(names_are_appended_as_far_as_they_fit)
{
    char joined[8] = "???????";
    size_t length = 0;
    assert_true(sl_path_append(joined, &length, sizeof(joined), ""));
    assert_string_equal(joined, "");
    assert_true(sl_path_append(joined, &length, sizeof(joined), "abc"));
    assert_true(sl_path_append(joined, &length, sizeof(joined), ""));
    assert_string_equal(joined, "abc");
    assert_false(sl_path_append(joined, &length, sizeof(joined), "defg"));
    assert_string_equal(joined, "abc");
    assert_true(sl_path_append(joined, &length, sizeof(joined), "def"));
    assert_string_equal(joined, "abc/def");
    assert_int_equal(length, 7);
}
