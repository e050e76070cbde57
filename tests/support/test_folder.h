/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_folder: the working folder of a file's tests, and paths in it.
 *
 *     TEST_WITH(what_is_in_a_folder, test_folder_make, test_folder_remove)
 *     {
 *         write_file(test_path("a/%u", 3), "x", 1);
 *     }
 *
 * or TEST_GROUP(test_folder_make, test_folder_remove) for a shared folder. Threads: the test's.
 */
#ifndef SL_TEST_FOLDER_H
#define SL_TEST_FOLDER_H

#include "photo_folder.h"
#include "test.h"

/* Fixtures of cmocka: an empty temporary folder; only one exists at a time. */
int test_folder_make(void **state);
int test_folder_remove(void **state);
/* Returns its path. */
const char *test_folder(void);
/* Returns a path in it; valid for the next three calls. */
const char *test_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The photo folder `photos` for a file's tests, made before the first and removed after the
 * last. */
#define PHOTO_GROUP(photos, classes, per_class)           \
    static photo_folder photos;                           \
    static int make_##photos(void **state)                \
    {                                                     \
        (void)state;                                      \
        photo_folder_make(&(photos), classes, per_class); \
        return 0;                                         \
    }                                                     \
    static int remove_##photos(void **state)              \
    {                                                     \
        (void)state;                                      \
        photo_folder_remove(&(photos));                   \
        return 0;                                         \
    }                                                     \
    TEST_GROUP(make_##photos, remove_##photos)

#endif
