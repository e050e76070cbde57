/* SPDX-License-Identifier: Apache-2.0 */
#include "photo_folder.h"

#include "jpeg_make.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    abort();
}

void temporary_directory(char *path, uint32_t bytes)
{
    const char *parent = getenv("TMPDIR");
    const int length =
        snprintf(path, bytes, "%s/sluice-test-XXXXXX", parent == NULL ? "/tmp" : parent);
    if (length < 0 || (uint32_t)length >= bytes || mkdtemp(path) == NULL) {
        fail("mkdtemp");
    }
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

void remove_tree(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        fail(path);
    }
}

void write_file(const char *path, const void *data, uint32_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        fail(path);
    }
}

void photo_folder_file(const photo_folder *folder, uint32_t index, char *path, uint32_t bytes)
{
    snprintf(path, bytes, "%s/c%02u/p%04u.jpg", folder->path, index / folder->per_class,
             index % folder->per_class);
}

static void make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        fail(path);
    }
}

static void make_photo(const photo_folder *folder, uint32_t index)
{
    const jpeg_options options = {.quality = 85, .progressive = index % 7 == 3};
    jpeg_file file =
        jpeg_make_pattern(80 + index * 7 % 61, 74 + index * 5 % 47, 1000 + index, &options);
    char path[512];
    photo_folder_file(folder, index, path, sizeof(path));
    write_file(path, file.data, (uint32_t)file.size);
    jpeg_free(&file);
}

void photo_folder_make(photo_folder *folder, uint32_t classes, uint32_t per_class)
{
    memset(folder, 0, sizeof(*folder));
    folder->classes = classes;
    folder->per_class = per_class;
    temporary_directory(folder->path, sizeof(folder->path));
    for (uint32_t c = 0; c < classes; c++) {
        char path[300];
        snprintf(path, sizeof(path), "%s/c%02u", folder->path, c);
        make_directory(path);
    }
    for (uint32_t i = 0; i < classes * per_class; i++) {
        make_photo(folder, i);
    }
}

void photo_folder_remove(photo_folder *folder)
{
    remove_tree(folder->path);
    memset(folder, 0, sizeof(*folder));
}
