/* SPDX-License-Identifier: Apache-2.0 */
/* Names and paths of images beside annotations, against brute force. */
#include "beside.h"
#include "test.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static sl_bytes bytes_of(const char *text)
{
    return (sl_bytes){(const uint8_t *)text, strlen(text)};
}

TEST(names_have_stems_and_ends)
{
    assert_int_equal(sl_beside_stem("a.b/c"), 5);
    assert_int_equal(sl_beside_stem("a.b/c.d.jpg"), 7);
    assert_true(sl_beside_ends("x/a_mask.png", 8, "_mask"));
    assert_false(sl_beside_ends("x/_mask.png", 7, "_mask"));
    assert_false(sl_beside_ends("_mask.png", 5, "_mask"));
    assert_true(sl_beside_is_picture("a.JPEG"));
    assert_false(sl_beside_is_picture("a.heic"));
    assert_true(sl_beside_is_image("a.heic"));
    assert_true(sl_beside_is_image("a.dcm"));
    assert_false(sl_beside_is_image("jpg"));
}

TEST(paths_are_joined_or_alone_and_never_cut)
{
    char path[SL_PATH_BYTES];
    char longest[SL_PATH_BYTES];
    assert_true(sl_beside_path(path, "f", "", bytes_of("a"), ".xml"));
    assert_string_equal(path, "f/a.xml");
    assert_true(sl_beside_path(path, "f", "../g", bytes_of("b/a"), ""));
    assert_string_equal(path, "f/../g/b/a");
    assert_true(sl_beside_path(path, "f", "g", bytes_of("/a"), ".jpg"));
    assert_string_equal(path, "/a.jpg");
    memset(longest, 'x', sizeof(longest));
    assert_true(sl_beside_path(path, "f", "g",
                               (sl_bytes){(const uint8_t *)longest, SL_PATH_BYTES - 9}, ".jpg"));
    assert_false(sl_beside_path(path, "f", "g",
                                (sl_bytes){(const uint8_t *)longest, SL_PATH_BYTES - 8}, ".jpg"));
    longest[SL_PATH_BYTES - 1] = '\0';
    longest[SL_PATH_BYTES - 2] = '/';
    assert_true(sl_beside_clean(longest, path));
    assert_int_equal(strlen(path), SL_PATH_BYTES - 2);
    assert_false(sl_beside_clean("", path));
    assert_true(sl_beside_clean("//", path));
    assert_string_equal(path, "/");
}

/* The components of a path, from the last, compared with a copy split at its slashes. */
TEST(components_are_those_between_slashes)
{
    for (uint32_t round = 0; round < 500; round++) {
        char path[16];
        char rebuilt[16];
        const size_t length = 1 + round % 12;
        for (size_t i = 0; i < length; i++) {
            path[i] = "/ab"[(round * 2654435761U >> (i + 3)) % 3];
        }
        path[length] = '\0';
        rebuilt[length] = '\0';
        memset(rebuilt, '/', length);
        for (size_t end = length; end > 0;) {
            const char *at;
            const size_t before = end;
            const size_t bytes = sl_beside_component(path, &end, &at);
            assert_true(end < before && at + bytes == path + before);
            assert_true(memchr(at, '/', bytes) == NULL);
            assert_true(at == path || at[-1] == '/');
            memcpy(rebuilt + (at - path), at, bytes);
        }
        assert_string_equal(rebuilt, path);
    }
}

static const struct {
    const char *path;
    size_t at;
    const char *root, *others;
} swaps[] = {
    {"images", 0, ".", "labels"},
    {"/images/train", 1, "/", "labels/train"},
    {"a/images/b", 2, "a", "labels/b"},
    {"/a/b/images", 5, "/a/b", "labels"},
};

TEST(a_component_is_swapped)
{
    char root[SL_PATH_BYTES];
    char others[SL_PATH_BYTES];
    for (size_t i = 0; i < sizeof(swaps) / sizeof(swaps[0]); i++) {
        const char *path = swaps[i].path;
        assert_true(
            sl_beside_swap(path, path + swaps[i].at, strlen("images"), "labels", root, others));
        assert_string_equal(root, swaps[i].root);
        assert_string_equal(others, swaps[i].others);
    }
}

TEST_WITH(an_image_in_small_letters_is_found_first, test_folder_make, test_folder_remove)
{
    char name[SL_PATH_BYTES];
    const char *folder = test_folder();
    write_file(test_path("a.JPG"), "x", 1);
    assert_false(sl_beside_find_image(folder, "", bytes_of("a"), SL_BESIDE_SMALL, name));
    assert_true(sl_beside_find_image(folder, ".", bytes_of("a"), SL_BESIDE_ANY_CASE, name));
    assert_string_equal(name, "a.JPG");
    write_file(test_path("a.webp"), "x", 1);
    assert_true(sl_beside_find_image(folder, "", bytes_of("a"), SL_BESIDE_ANY_CASE, name));
    assert_string_equal(name, "a.webp");
    assert_false(sl_beside_find_image(folder, "", bytes_of("b"), SL_BESIDE_ANY_CASE, name));
    assert_false(sl_beside_has_folders(folder));
}

TEST(a_search_tries_the_first_and_some_of_all)
{
    const uint64_t counts[] = {0, 1, 64, 65, 5000, 1000000000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t tried = 0;
        for (uint64_t number = 0; number < counts[i]; tried++) {
            assert_true(tried > SL_BESIDE_FIRST || number == tried);
            number = sl_beside_next(number, counts[i]);
        }
        assert_true(tried <= counts[i] && tried <= SL_BESIDE_FIRST + SL_BESIDE_SAMPLED + 1);
    }
}

/* ---- the walk ---- */

typedef struct seen {
    uint32_t files, folders, below;
    const char *stop; /* name that ends the walk; NULL: none does */
} seen;

static sl_beside_step see(void *ctx, const char *below, const sl_store_entry *entry)
{
    seen *s = ctx;
    assert_true(entry->name[0] != '.');
    if (strchr(entry->name, '.') == NULL) {
        s->folders++;
        return SL_BESIDE_FOLLOW;
    }
    s->files++;
    s->below += below[0] != '\0';
    return s->stop != NULL && strcmp(s->stop, entry->name) == 0 ? SL_BESIDE_STOP : SL_BESIDE_COUNT;
}

static seen walk(bool deep, int files_max, const char *stop)
{
    seen s = {.stop = stop};
    sl_beside_look(&(sl_beside_walk){test_folder(), deep, files_max, see, &s});
    return s;
}

/* Makes d/d/d/d/d, with a file in each: d1.txt in the first. */
static void make_folders(void)
{
    char path[SL_PATH_BYTES];
    size_t length = (size_t)snprintf(path, sizeof(path), "%s", test_folder());
    for (int level = 1; level <= 5; level++) {
        char name[32];
        char file[SL_PATH_BYTES];
        assert_true(sl_path_append(path, &length, sizeof(path), "d"));
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(name, sizeof(name), "d%d.txt", level);
        assert_true(sl_path_join(file, path, name));
        write_file(file, "x", 1);
    }
}

TEST_WITH(a_walk_ends_where_it_has_to, test_folder_make, test_folder_remove)
{
    assert_int_equal(walk(true, 9, NULL).files, 0);
    write_file(test_path(".hidden.txt"), "x", 1);
    write_file(test_path("a.txt"), "x", 1);
    write_file(test_path("b.txt"), "x", 1);
    assert_int_equal(walk(true, 9, NULL).files, 2);
    assert_int_equal(walk(true, 1, NULL).files, 1);
    make_folders();
    assert_true(sl_beside_has_folders(test_folder()));
    const seen all = walk(true, 99, NULL);
    assert_int_equal(all.files, 2 + 4); /* the fifth level is too deep */
    assert_int_equal(all.below, 4);
    assert_int_equal(walk(false, 99, NULL).below, 0);
    assert_int_equal(walk(true, 3, NULL).files, 3);
    assert_int_equal(walk(true, 99, "d1.txt").below, 1);
}
