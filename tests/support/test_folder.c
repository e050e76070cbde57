/* SPDX-License-Identifier: Apache-2.0 */
#include "test_folder.h"

#include <stdio.h>

enum { PATHS = 4, PATH_BYTES = 4200 }; /* long enough for names that are too long */

static char root[200];

int test_folder_make(void **state)
{
    (void)state;
    temporary_directory(root, sizeof(root));
    return 0;
}

int test_folder_remove(void **state)
{
    (void)state;
    remove_tree(root);
    return 0;
}

const char *test_folder(void)
{
    return root;
}

const char *test_path(const char *format, ...)
{
    static char paths[PATHS][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % PATHS];
    va_list arguments;
    const int length = snprintf(path, PATH_BYTES, "%s/", root);
    va_start(arguments, format);
    (void)vsnprintf(path + length, PATH_BYTES - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}
