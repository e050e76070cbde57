/* SPDX-License-Identifier: Apache-2.0 */
/* Tests unpacking through the public interface: the result equals the packed data; invalid options,
 * stopping and progress. python/tests/test_unpack.py compares file names and other readers' output
 * with tarfile, Pillow and numpy. */
#include "dataset_checks.h"
#include "photo_folder.h"
#include "snapshot.h"
#include "tar_make.h"
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

enum { CLASSES = 3, PER_CLASS = 8, ALL = CLASSES * PER_CLASS };

static photo_folder photos;
static char root[256];

static void path_of(char *path, size_t bytes, const char *what)
{
    (void)snprintf(path, bytes, "%s/%s", root, what);
}

static bool is_there(const char *what)
{
    char path[300];
    path_of(path, sizeof(path), what);
    return access(path, F_OK) == 0;
}

static sluice_status unpack(const char *from, const char *to, const sluice_unpack_options *options,
                            sluice_unpack_result *result, sluice_error *error)
{
    char path[300];
    sluice_dataset *dataset = dataset_opened(from);
    path_of(path, sizeof(path), to);
    const sluice_status status = sluice_unpack(dataset, path, options, result, error);
    sluice_dataset_close(dataset);
    return status;
}

static void expect_the_same(const char *what)
{
    char path[300];
    snapshot all;
    snapshot_difference difference;
    path_of(path, sizeof(path), what);
    snapshot_take(&all, photos.path);
    assert_int_equal(snapshot_compare_path(&all, path, &difference), SLUICE_OK);
    assert_int_equal(difference.errors + difference.silent + difference.missing, 0);
    snapshot_free(&all);
}

TEST(what_was_packed_comes_back)
{
    char packed[300];
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_unpack_result result = SLUICE_UNPACK_RESULT_INIT;
    sluice_dataset *dataset = dataset_opened(photos.path);
    path_of(packed, sizeof(packed), "packed");
    options.keep_bytes = 1;
    assert_int_equal(sluice_pack(dataset, packed, &options, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    assert_int_equal(unpack(packed, "back", NULL, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, ALL);
    assert_int_equal(result.files, ALL);
    assert_int_equal(result.renamed + result.renamed_classes + result.labels_differ, 0);
    expect_the_same("back");
}

TEST(tars_hold_the_same)
{
    char path[300];
    sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
    sluice_unpack_result result = SLUICE_UNPACK_RESULT_INIT;
    options.form = SLUICE_UNPACK_TAR;
    options.shard_samples = 10;
    options.workers = 3;
    assert_int_equal(unpack(photos.path, "tars", &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.archives, 3);
    assert_int_equal(result.files, 2 * ALL);
    path_of(path, sizeof(path), "tars");
    sluice_dataset *tars = dataset_opened(path);
    sluice_dataset *source = dataset_opened(photos.path);
    for (uint64_t i = 0; i < ALL; i++) {
        static uint8_t a[1 << 16];
        static uint8_t b[1 << 16];
        size_t bytes = 0;
        size_t other = 0;
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_read(tars, i, "image", a, sizeof(a), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(sluice_dataset_read(source, i, "image", b, sizeof(b), &other, NULL),
                         SLUICE_OK);
        assert_true(bytes > 0 && bytes == other);
        assert_memory_equal(a, b, bytes);
        assert_int_equal(sluice_dataset_get_sample(tars, i, &info, NULL), SLUICE_OK);
        assert_int_equal(info.label, i / PER_CLASS);
    }
    sluice_dataset_close(tars);
    sluice_dataset_close(source);
}

enum { PIXELS_BYTES = 1 << 20 };

/* Returns the whole image of a sample as RGB. */
static sluice_pixels decode(const sluice_dataset *dataset, uint64_t index, uint8_t *buffer)
{
    sluice_pixels pixels = SLUICE_PIXELS_INIT;
    pixels.buffer = buffer;
    pixels.capacity = PIXELS_BYTES;
    assert_int_equal(sluice_dataset_decode(dataset, index, "image", &pixels, NULL), SLUICE_OK);
    return pixels;
}

/* Images packed as pixels, or re-tiled, unpack to images with the same pixels. */
static void expect_pixels(uint32_t raw, const char *ending)
{
    static uint8_t buffers[2][PIXELS_BYTES];
    char packed[300];
    char back[300];
    sluice_pack_options pack = SLUICE_PACK_OPTIONS_INIT;
    sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
    sluice_unpack_result result = SLUICE_UNPACK_RESULT_INIT;
    sluice_dataset *photo_dataset = dataset_opened(photos.path);
    (void)snprintf(packed, sizeof(packed), "%s/%u.packed", root, raw);
    (void)snprintf(back, sizeof(back), "%s/%u.back", root, raw);
    pack.raw = raw;
    pack.workers = 3;
    assert_int_equal(sluice_pack(photo_dataset, packed, &pack, NULL, NULL), SLUICE_OK);
    options.workers = 3;
    assert_int_equal(unpack(packed, back + strlen(root) + 1, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, ALL);
    sluice_dataset *images = dataset_opened(back);
    for (uint64_t i = 0; i < ALL; i++) { /* both in name order */
        sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
        const sluice_pixels wanted = decode(photo_dataset, i, buffers[0]);
        const sluice_pixels got = decode(images, i, buffers[1]);
        assert_int_equal(sluice_dataset_get_sample(images, i, &info, NULL), SLUICE_OK);
        assert_non_null(strstr(info.key, ending));
        assert_int_equal(got.width, wanted.width);
        assert_int_equal(got.height, wanted.height);
        assert_memory_equal(buffers[1], buffers[0], (size_t)got.width * got.height * 3);
    }
    sluice_dataset_close(images);
    sluice_dataset_close(photo_dataset);
}

TEST(pixels_become_pngs)
{
    expect_pixels(1, ".png");
}

TEST(retiled_jpegs_have_the_same_pixels)
{
    expect_pixels(0, ".jpg");
}

TEST(wrong_options_are_refused)
{
    for (int i = 0; i < 8; i++) {
        sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
        sluice_error error = SLUICE_ERROR_INIT;
        options.form = i == 0 ? 2 : 0;
        options.form = i == 1 ? -1 : options.form;
        options.workers = i == 2 ? 1025 : 0;
        options.overwrite = i == 3 ? 2 : 0;
        options.on_bad = i == 4 ? 3 : 0;
        options.reserved = i == 5;
        options.shard_bytes = i == 6 ? 1000 : 0;
        options.shard_bytes = i == 7 ? UINT64_MAX : options.shard_bytes;
        assert_int_equal(unpack(photos.path, "wrong", &options, NULL, &error), SLUICE_INVALID);
        assert_true(strlen(error.text) > 10);
    }
    assert_int_equal(sluice_unpack(NULL, "x", NULL, NULL, NULL), SLUICE_INVALID);
    assert_false(is_there("wrong") || is_there("wrong.part"));
}

typedef struct listener {
    uint64_t asked, calls, done, total;
    bool backwards;
} listener;

static int32_t stop_soon(void *user)
{
    listener *l = user;
    return ++l->asked > 5;
}

static void note(void *user, const sluice_unpack_progress *progress)
{
    listener *l = user;
    l->calls++;
    l->backwards = l->backwards || progress->samples_done < l->done;
    l->done = progress->samples_done;
    l->total = progress->samples_total;
}

TEST(stopped_it_leaves_nothing)
{
    listener l = {0};
    sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
    options.should_stop = stop_soon;
    options.user = &l;
    for (options.form = 0; options.form < 2; options.form++) {
        l.asked = 0;
        assert_int_equal(unpack(photos.path, "stopped", &options, NULL, NULL), SLUICE_CANCELED);
        assert_int_equal(l.asked, 6);
        assert_false(is_there("stopped") || is_there("stopped.part"));
    }
}

TEST(progress_ends_at_the_total)
{
    listener l = {0};
    sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
    options.on_progress = note;
    options.user = &l;
    assert_int_equal(unpack(photos.path, "told", &options, NULL, NULL), SLUICE_OK);
    assert_true(l.calls > 0 && !l.backwards);
    assert_int_equal(l.done, ALL);
    assert_int_equal(l.total, ALL);
}

static void put_gzip(const char *path)
{
    enum { FILES = 200, FILE_BYTES = 3000 };
    static uint8_t bytes[FILES * (TAR_BLOCK + FILE_BYTES + TAR_BLOCK) + 2 * TAR_BLOCK];
    static const uint8_t zeros[FILE_BYTES];
    size_t size = 0;
    for (unsigned i = 0; i < FILES; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%03u.bin", i);
        size += tar_put(bytes + size, name, zeros, sizeof(zeros));
    }
    size += tar_put_end(bytes + size);
    gzFile file = gzopen(path, "wb0"); /* stored: a changed bit stays one, with a wrong sum */
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Changes bits and keeps the file's times, as bit rot does. */
static void flip(const char *path, off_t at)
{
    uint8_t byte;
    struct stat before;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 16;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    assert_int_equal(futimens(fd, (struct timespec[2]){before.st_atim, before.st_mtim}), 0);
    assert_int_equal(close(fd), 0);
}

/* An archive whose index is kept, so that only its checksum, after all samples, reveals the
 * damage. */
TEST(a_rotten_archive_is_not_unpacked)
{
    char path[300];
    char command[800];
    sluice_error error = SLUICE_ERROR_INIT;
    path_of(path, sizeof(path), "rotten.tar.gz");
    put_gzip(path);
    (void)snprintf(command, sizeof(command), "%s/cache", root);
    assert_int_equal(setenv("SLUICE_CACHE_DIR", command, 1), 0);
    assert_int_equal(unpack(path, "sound", NULL, NULL, NULL), SLUICE_OK);
    (void)snprintf(command, sizeof(command), "mv %s/cache/rotten.tar.gz-* %s.sluice-index", root,
                   path);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): a glob of our own names
    assert_int_equal(setenv("SLUICE_CACHE_DIR", "", 1), 0);
    flip(path, 60000);
    assert_int_equal(unpack(path, "rotten", NULL, NULL, &error), SLUICE_CORRUPT);
    assert_string_equal(error.file, path);
    assert_false(is_there("rotten") || is_there("rotten.part"));
}

int main(void)
{
    temporary_directory(root, sizeof(root));
    if (setenv("SLUICE_CACHE_DIR", "", 1) != 0) {
        return 1;
    }
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    const int failed = test_run(NULL, NULL);
    photo_folder_remove(&photos);
    remove_tree(root);
    return failed;
}
