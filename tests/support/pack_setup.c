/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_setup.h"
#include "formats.h"

#include "pack.h"
#include "shard_bytes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_file(const pack_setup *setup, const char *name, const void *data, size_t bytes)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", setup->photos.path, name);
    write_file(path, data, (uint32_t)bytes);
}

static void add_bad_files(pack_setup *setup)
{
    static const char gif[] = "GIF89a\1\0\1\0\0\0\0;";
    static const char huge[] = "\xFF\xD8\xFF\xC0\0\x11\x08\xEA\x60\xEA\x60\3\1\x22\0\2\x11\1\3\x11"
                               "\1\xFF\xDA\0\x0C\3\1\0\2\x11\3\x11\0\x3F\0";
    add_file(setup, "c00/p0003.png", gif, sizeof(gif));
    add_file(setup, "c00/z empty.jpg", "", 0);
    add_file(setup, "c01/a\ttab\\.jpg", "this is no picture", 18);
    add_file(setup, "c01/p0001x.jpg", huge, sizeof(huge) - 1);
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/c01/zz.jpg", setup->photos.path);
    if (symlink("nowhere", path) != 0) {
        abort();
    }
    setup->bad = 5;
}

void pack_setup_make(pack_setup *setup, uint32_t classes, uint32_t per_class, bool bad)
{
    memset(setup, 0, sizeof(*setup));
    photo_folder_make(&setup->photos, classes, per_class);
    if (bad) {
        add_bad_files(setup);
    }
    const char *path = setup->photos.path;
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    if (sl_dataset_open(&setup->dataset, &path, 1, &options, NULL) != SLUICE_OK) {
        abort();
    }
}

void pack_setup_remove(pack_setup *setup)
{
    sl_dataset_close(setup->dataset);
    photo_folder_remove(&setup->photos);
}

sluice_pack_options pack_options(void)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.workers = 1;
    options.shard_bytes = PACK_SHARD_BYTES;
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    options.seed = 3;
    options.parts = 1;
    return options;
}

sluice_status pack_run(const pack_setup *setup, const char *path,
                       const sluice_pack_options *options, sluice_pack_result *result,
                       sluice_error *error)
{
    sluice_pack_result unwanted;
    return sl_pack(setup->dataset, path, options, NULL, result != NULL ? result : &unwanted, error);
}

bool is_temporary(const char *name)
{
    return name[0] == '.';
}

/* True for files that are removed when a pack is finished. */
static bool is_of_packing(const char *name)
{
    const size_t length = strlen(name);
    return strcmp(name, "pack.journal") == 0 ||
           (length > 5 && strcmp(name + length - 5, ".part") == 0) ||
           (length > 9 && strcmp(name + length - 9, ".rejected") == 0);
}

bool is_shard(const char *name)
{
    return strncmp(name, "shard-", 6) == 0 && !is_of_packing(name);
}

uint32_t count_names(const char *folder, bool (*wanted)(const char *name))
{
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        abort();
    }
    uint32_t count = 0;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        const bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        count += !dots && (wanted == NULL || wanted(entry->d_name));
    }
    (void)closedir(stream);
    return count;
}

static bool same_file(const char *a, const char *b, const char *name)
{
    char left[600];
    char right[600];
    (void)snprintf(left, sizeof(left), "%s/%s", a, name);
    (void)snprintf(right, sizeof(right), "%s/%s", b, name);
    const bool same =
        access(left, R_OK) == 0 && access(right, R_OK) == 0 && files_equal(left, right);
    if (!same) {
        (void)fprintf(stderr, "%s and %s differ\n", left, right);
    }
    return same;
}

bool folder_is_part_of(const char *part, const char *whole)
{
    DIR *stream = opendir(part);
    if (stream == NULL) {
        return true; /* does not exist yet */
    }
    bool good = true;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (!is_temporary(entry->d_name) && !is_of_packing(entry->d_name)) {
            good = same_file(part, whole, entry->d_name) && good;
        }
    }
    (void)closedir(stream);
    return good;
}

bool folders_equal(const char *a, const char *b)
{
    return folder_is_part_of(a, b) && count_names(a, NULL) == count_names(b, NULL);
}
