/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packing: the same bytes regardless of the number of workers, bad samples handled by policy,
 * and folders with other contents left untouched. */
#include "formats.h"
#include "jpeg_make.h"
#include "little_endian.h"
#include "pack_job.h"
#include "pack_setup.h"
#include "shard_bytes.h"
#include "snapshot.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    pack_setup setup;
    char work[256];
    char a[300], b[300]; /* output folders, not yet created */
} fixture;

static void fixture_make(fixture *f, bool bad)
{
    pack_setup_make(&f->setup, 4, 8, bad);
    temporary_directory(f->work, sizeof(f->work));
    (void)snprintf(f->a, sizeof(f->a), "%s/a", f->work);
    (void)snprintf(f->b, sizeof(f->b), "%s/b", f->work);
}

static void fixture_remove(fixture *f)
{
    remove_tree(f->work);
    pack_setup_remove(&f->setup);
}

static void put_file(const char *folder, const char *name)
{
    char path[340];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_file(path, "x", 1);
}

static bool has_file(const char *folder, const char *name)
{
    char path[340];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Compares samples by key, since a pack shuffles them. */
static const snapshot_sample *find_key(const snapshot *all, const char *key)
{
    for (uint64_t i = 0; i < all->count; i++) {
        if (strcmp(all->samples[i].info.key, key) == 0) {
            return &all->samples[i];
        }
    }
    return NULL;
}

TEST(samples_come_out_as_they_went_in)
{
    fixture f;
    fixture_make(&f, false);
    for (uint32_t keep = 0; keep < 2; keep++) {
        sluice_pack_options options = pack_options();
        sluice_pack_result result;
        options.keep_bytes = 1; /* the next test covers 0 */
        options.keep_order = keep;
        options.overwrite = 1;
        assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
        snapshot source;
        snapshot packed;
        snapshot_take(&source, f.setup.photos.path);
        snapshot_take(&packed, f.a);
        assert_int_equal(packed.count, 32);
        assert_int_equal(result.samples, 32);
        uint64_t in_place = 0;
        for (uint64_t i = 0; i < 32; i++) {
            const snapshot_sample *want = &source.samples[i];
            const snapshot_sample *got = find_key(&packed, want->info.key);
            assert_non_null(got);
            assert_int_equal(got->info.label, want->info.label);
            assert_int_equal(got->bytes, want->bytes);
            assert_memory_equal(got->image, want->image, want->bytes);
            in_place += got == &packed.samples[i];
        }
        assert_true(keep ? in_place == 32 : in_place < 8);
        assert_true(result.shards == count_names(f.a, is_shard));
        assert_int_equal(result.jpegs_kept, 32);
        assert_int_equal(result.jpegs_retiled, 0);
        assert_int_equal(result.jpeg_bytes_before, result.jpeg_bytes_after);
        snapshot_free(&source);
        snapshot_free(&packed);
    }
    fixture_remove(&f);
}

static uint32_t count_lines(const char *folder, const char *name, const char *wanted)
{
    file_bytes file;
    file_load(&file, folder, name);
    file.data[file.size] = '\0';
    uint32_t lines = 0;
    for (size_t i = 0; i < file.size; i++) {
        lines += file.data[i] == '\n';
    }
    if (wanted != NULL && strstr((const char *)file.data, wanted) == NULL) {
        fail_msg("%s is not in %s:\n%s", wanted, name, (const char *)file.data);
    }
    file_free(&file);
    return lines;
}

/* Every photo is another file with the same pixels, whose parts can be decoded independently. */
TEST(photos_are_retiled)
{
    fixture f;
    fixture_make(&f, false);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    options.tile_mcus = 2;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    snapshot source;
    snapshot packed;
    snapshot_take(&source, f.setup.photos.path);
    snapshot_take(&packed, f.a);
    uint64_t before = 0;
    uint64_t after = 0;
    for (uint64_t i = 0; i < source.count; i++) {
        const snapshot_sample *from = &source.samples[i];
        const snapshot_sample *to = find_key(&packed, from->info.key);
        uint32_t size[2][3];
        long warnings = 0;
        uint8_t *old = jpeg_plain_decode(from->image, from->bytes, &size[0][0], &size[0][1],
                                         &size[0][2], NULL);
        uint8_t *new = jpeg_plain_decode(to->image, to->bytes, &size[1][0], &size[1][1],
                                         &size[1][2], &warnings);
        assert_non_null(old);
        assert_non_null(new);
        assert_int_equal(warnings, 0);
        assert_memory_equal(size[0], size[1], sizeof(size[0]));
        assert_memory_equal(old, new, (size_t)size[0][0] * size[0][1] * size[0][2]);
        assert_non_null(memmem(to->image, to->bytes, "\xFF\xDD\0\4\0\2", 6)); /* DRI: 2 */
        before += from->bytes;
        after += to->bytes;
        free(old);
        free(new);
    }
    assert_int_equal(result.jpegs_retiled, 32);
    assert_int_equal(result.jpegs_kept, 0);
    assert_int_equal(result.jpeg_bytes_before, before);
    assert_int_equal(result.jpeg_bytes_after, after);
    snapshot_free(&source);
    snapshot_free(&packed);
    fixture_remove(&f);
}

typedef struct told {
    uint32_t count, without_reason;
    char files[1024];
} told;

static void note_kept(void *user, const sluice_error *reason)
{
    told *t = user;
    t->count++;
    t->without_reason += reason->status != SLUICE_UNSUPPORTED || reason->text[0] == '\0';
    strncat(t->files, reason->file, sizeof(t->files) - strlen(t->files) - 1);
}

static void put_jpeg(const fixture *f, uint32_t index, const jpeg_file *file, size_t bytes)
{
    char path[600];
    photo_folder_file(&f->setup.photos, index, path, sizeof(path));
    write_file(path, file->data, (uint32_t)bytes);
}

/* Finds damage anywhere in an image. Stores images that cannot be tiled unchanged, and reports
 * them. */
TEST(every_picture_is_read_to_its_end)
{
    fixture f;
    fixture_make(&f, false);
    /* Only images with ten or more blocks per MCU get scans of their own. */
    const jpeg_options large = {.h_factor = 4, .v_factor = 4, .separate_scans = true};
    jpeg_file wide = jpeg_make_pattern(70, 50, 1, &large);
    jpeg_file cut = jpeg_make_pattern(70, 50, 2, NULL);
    put_jpeg(&f, 9, &wide, wide.size);
    put_jpeg(&f, 20, &cut, cut.size * 3 / 4);
    told seen = {0};
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    options.on_kept = note_kept;
    options.user = &seen;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.rejected, 1);
    assert_int_equal(result.jpegs_retiled + result.jpegs_kept, 31);
    assert_int_equal(result.kept_large_mcu, 1);
    (void)count_lines(f.a, "rejected.tsv", "c02/p0004.jpg\tcorrupt\t");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.without_reason, 0);
    assert_non_null(strstr(seen.files, "c01/p0001.jpg"));
    snapshot packed;
    snapshot_take(&packed, f.a);
    const snapshot_sample *kept = find_key(&packed, "c01/p0001.jpg");
    assert_int_equal(kept->bytes, wide.size);
    assert_memory_equal(kept->image, wide.data, wide.size);
    snapshot_free(&packed);

    options.on_bad = SLUICE_PACK_BAD_FAIL;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.file, "c02/p0004.jpg"));
    options.overwrite = 1;
    options.keep_bytes = 1; /* only headers are read */
    assert_int_equal(pack_run(&f.setup, f.b, &options, &result, &error), SLUICE_OK);
    assert_int_equal(result.jpegs_kept, 32);
    assert_int_equal(result.kept_large_mcu, 0);
    jpeg_free(&wide);
    jpeg_free(&cut);
    fixture_remove(&f);
}

/* Images of every form: small and large, with standard and custom tables. */
static void put_forms(const fixture *f)
{
    static const jpeg_options forms[] = {{.quality = 60},
                                         {.own_tables = true},
                                         {.own_tables = true, .quality = 98},
                                         {.progressive = true},
                                         {.colour = JPEG_GREY, .quality = 60},
                                         {.colour = JPEG_GREY, .own_tables = true}};
    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t side = i < 6 ? 20 : 110;
        jpeg_file file = jpeg_make_pattern(side, side, i, &forms[i % 6]);
        put_jpeg(f, 2 * i, &file, file.size);
        jpeg_free(&file);
    }
}

/* The result is the same regardless of the number of workers, and of a writer seeing one image at a
 * time. */
TEST(a_picture_takes_the_same_form_everywhere)
{
    fixture f;
    fixture_make(&f, false);
    put_forms(&f);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    options.keep_order = 1;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    assert_true(result.jpegs_kept >= 2 && result.jpegs_retiled >= 20);
    assert_int_equal(result.jpegs_kept + result.jpegs_retiled, 32);
    options.workers = 5;
    options.overwrite = 1;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    assert_true(folders_equal(f.a, f.b));
    snapshot source;
    snapshot packed;
    snapshot written;
    snapshot_take(&source, f.setup.photos.path);
    snapshot_take(&packed, f.a);
    sluice_writer *writer;
    sluice_writer_options how = SLUICE_WRITER_OPTIONS_INIT;
    how.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, f.b, &how, NULL), SLUICE_OK);
    for (uint64_t i = 0; i < source.count; i++) {
        sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
        sample.image = source.samples[i].image;
        sample.image_bytes = source.samples[i].bytes;
        assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    snapshot_take(&written, f.b);
    assert_int_equal(written.count, packed.count);
    for (uint64_t i = 0; i < packed.count; i++) {
        assert_int_equal(written.samples[i].bytes, packed.samples[i].bytes);
        assert_memory_equal(written.samples[i].image, packed.samples[i].image,
                            packed.samples[i].bytes);
    }
    snapshot_free(&source);
    snapshot_free(&packed);
    snapshot_free(&written);
    fixture_remove(&f);
}

TEST(workers_do_not_change_a_byte)
{
    fixture f;
    fixture_make(&f, true);
    sluice_pack_options options = pack_options();
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    for (uint32_t workers = 2; workers <= 6; workers++) {
        options.workers = workers;
        options.overwrite = 1;
        assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
        assert_true(folders_equal(f.a, f.b));
    }
    options.keep_bytes = 1;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    assert_false(folder_is_part_of(f.a, f.b));
    options.workers = 1;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    assert_true(folders_equal(f.a, f.b));
    options.seed++;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    char left[340];
    char right[340];
    (void)snprintf(left, sizeof(left), "%s/shard-000000.sluice", f.a);
    (void)snprintf(right, sizeof(right), "%s/shard-000000.sluice", f.b);
    assert_false(files_equal(left, right));
    fixture_remove(&f);
}

static uint64_t samples_of(const char *path)
{
    uint8_t page[48];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, page, sizeof(page)), sizeof(page));
    (void)close(fd);
    return sl_load64(page + 32);
}

static uint64_t samples_of_first(const fixture *f)
{
    char path[340];
    (void)snprintf(path, sizeof(path), "%s/shard-000000.sluice", f->a);
    return samples_of(path);
}

/* Photos of nearly one size give shards with the same number of samples, close to the requested
 * size. */
TEST(shards_are_about_as_large_as_asked)
{
    fixture f;
    fixture_make(&f, false);
    static const uint64_t budgets[] = {1, 20000, 30000, 1 << 20};
    for (size_t i = 0; i < 4; i++) {
        sluice_pack_options options = pack_options();
        sluice_pack_result result;
        options.shard_bytes = budgets[i];
        options.overwrite = 1;
        assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < result.shards; k++) {
            char path[340];
            struct stat status;
            (void)snprintf(path, sizeof(path), "%s/shard-%06u.sluice", f.a, k);
            assert_int_equal(stat(path, &status), 0);
            bytes += (uint64_t)status.st_size;
            assert_true((uint64_t)status.st_size <= budgets[i] + budgets[i] / 4 || budgets[i] == 1);
            assert_true(k + 1 == result.shards || samples_of(path) == samples_of_first(&f));
        }
        assert_int_equal(bytes, result.bytes);
        assert_true(budgets[i] != 1 || result.shards == 32);
        assert_true(budgets[i] != 1 << 20 || result.shards == 1);
    }
    fixture_remove(&f);
}

TEST(bad_samples_are_left_out_and_listed)
{
    fixture f;
    fixture_make(&f, true);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.rejected, 5);
    assert_int_equal(result.samples, 32);
    assert_int_equal(count_lines(f.a, "rejected.tsv", "key\tstatus\toffset\treason\n"), 6);
    (void)count_lines(f.a, "rejected.tsv", "c00/p0003.png\tunsupported\t");
    (void)count_lines(f.a, "rejected.tsv", "c00/z empty.jpg\tcorrupt\t");
    (void)count_lines(f.a, "rejected.tsv", "c01/a\\x09tab\\x5C.jpg\tcorrupt\t");
    (void)count_lines(f.a, "rejected.tsv", "c01/zz.jpg\tio\t");
    (void)count_lines(f.a, "rejected.tsv", "c01/p0001x.jpg\tunsupported\t");
    assert_int_equal(count_names(f.a, is_temporary), 0);
    assert_false(has_file(f.a, "pack.journal"));
    fixture_remove(&f);
}

TEST(a_bad_sample_stops_a_strict_pack)
{
    fixture f;
    fixture_make(&f, true);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    const sluice_status status = pack_run(&f.setup, f.a, &options, NULL, &error);
    assert_true(status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED || status == SLUICE_IO);
    assert_non_null(strstr(error.file, f.setup.photos.path));
    assert_true(error.sample >= 0 && error.text[0] != '\0');
    assert_false(has_file(f.a, "manifest.sluice"));
    assert_int_equal(count_names(f.a, is_temporary), 0);
    /* A later run that skips bad samples resumes where this one stopped. */
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, NULL), SLUICE_OK);
    assert_true(folders_equal(f.a, f.b));
    fixture_remove(&f);
}

TEST(nothing_but_bad_samples_is_an_error)
{
    char source[256];
    char work[256];
    temporary_directory(source, sizeof(source));
    temporary_directory(work, sizeof(work));
    put_file(source, "1.jpg");
    put_file(source, "2.jpg");
    pack_setup setup = {0};
    const char *path = source;
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    assert_int_equal(sl_dataset_open(&setup.dataset, &path, 1, &options, NULL), SLUICE_OK);
    const sluice_pack_options how = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(pack_run(&setup, work, &how, NULL, &error), SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "rejected.tsv"));
    assert_int_equal(count_lines(work, "rejected.tsv", NULL), 3);
    assert_false(has_file(work, "manifest.sluice"));
    sl_dataset_close(setup.dataset);
    remove_tree(source);
    remove_tree(work);
}

TEST(a_finished_pack_is_left_alone)
{
    fixture f;
    fixture_make(&f, true);
    sluice_pack_options options = pack_options();
    sluice_pack_result first;
    sluice_pack_result again;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &first, NULL), SLUICE_OK);
    assert_int_equal(pack_run(&f.setup, f.b, &options, NULL, NULL), SLUICE_OK);
    options.workers = 2;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &again, NULL), SLUICE_OK);
    assert_int_equal(first.resumed_samples, 0);
    assert_int_equal(again.resumed_samples, 32);
    assert_int_equal(again.samples, first.samples);
    assert_int_equal(again.bytes, first.bytes);
    assert_int_equal(again.shards, first.shards);
    assert_int_equal(again.rejected, first.rejected);
    assert_true(folders_equal(f.a, f.b));
    options.seed++;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "overwrite"));
    assert_true(folders_equal(f.a, f.b));
    options.seed--;
    char shard[340];
    (void)snprintf(shard, sizeof(shard), "%s/shard-000000.sluice", f.a);
    assert_int_equal(unlink(shard), 0);
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_string_equal(error.file, shard);
    options.overwrite = 1;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    assert_true(folders_equal(f.a, f.b));
    fixture_remove(&f);
}

/* Stops after the first shards, as at a bad sample. */
static void leave_unfinished(const fixture *f)
{
    sluice_pack_options options = pack_options();
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    assert_true(pack_run(&f->setup, f->a, &options, NULL, NULL) < 0);
    assert_true(has_file(f->a, "pack.journal"));
}

TEST(another_pack_does_not_go_on_here)
{
    fixture f;
    fixture_make(&f, true);
    leave_unfinished(&f);
    static const char *const named[] = {
        "seed=", "shard_bytes=", "order=", "zstd_level=", "jpeg=", "metadata=", "tile="};
    for (size_t i = 0; i < 7; i++) {
        sluice_pack_options options = pack_options();
        sluice_error error = SLUICE_ERROR_INIT;
        options.seed += i == 0;
        options.shard_bytes += i == 1;
        options.keep_order = i == 2;
        options.zstd_level = i == 3;
        options.keep_bytes = i == 4;
        options.jpeg_metadata = i == 5 ? SLUICE_JPEG_METADATA_DROP : SLUICE_JPEG_METADATA_KEEP;
        options.tile_mcus = i == 6;
        assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
        assert_non_null(strstr(error.text, named[i]));
        assert_non_null(strstr(error.text, "overwrite"));
    }
    /* Another dataset. */
    pack_setup other;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_pack_options options = pack_options();
    pack_setup_make(&other, 4, 9, false);
    assert_int_equal(pack_run(&other, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "dataset="));
    pack_setup_remove(&other);
    fixture_remove(&f);
}

TEST(a_damaged_journal_is_noticed)
{
    fixture f;
    fixture_make(&f, true);
    sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    options.shard_bytes = 1;
    options.on_bad = SLUICE_PACK_BAD_FAIL;
    assert_true(pack_run(&f.setup, f.a, &options, NULL, NULL) < 0);
    const uint32_t shards = count_names(f.a, is_shard);
    assert_true(shards > 0);
    char path[340];
    char text[2048];
    (void)snprintf(path, sizeof(path), "%s/pack.journal", f.a);
    FILE *journal = fopen(path, "r");
    assert_non_null(journal);
    const size_t bytes = fread(text, 1, sizeof(text), journal);
    assert_int_equal(fclose(journal), 0);
    assert_true(bytes > 100 && bytes < sizeof(text));
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    for (size_t kept = 0; kept < bytes; kept++) {
        write_file(path, text, (uint32_t)kept);
        assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
        assert_non_null(strstr(error.text, "overwrite"));
    }
    write_file(path, text, (uint32_t)bytes);
    sluice_pack_result result;
    assert_int_equal(pack_run(&f.setup, f.a, &options, &result, &error), SLUICE_OK);
    assert_int_equal(result.resumed_samples, shards);
    assert_int_equal(result.rejected, 5);
    fixture_remove(&f);
}

TEST(foreign_files_stay)
{
    fixture f;
    fixture_make(&f, false);
    sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(mkdir(f.a, 0777), 0);
    put_file(f.a, "thesis.tex");
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "thesis.tex"));
    put_file(f.a, "shard-000099.sluice");
    put_file(f.a, ".shard-000001.sluice.tmp");
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    put_file(f.a, "shard-1.sluice");
    put_file(f.a, ".other.tmp");
    options.overwrite = 1;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_OK);
    assert_true(has_file(f.a, "thesis.tex") && has_file(f.a, "shard-1.sluice"));
    assert_true(has_file(f.a, ".other.tmp"));
    assert_false(has_file(f.a, "shard-000099.sluice"));
    assert_false(has_file(f.a, ".shard-000001.sluice.tmp"));
    fixture_remove(&f);
}

TEST(places_that_cannot_be_packed_to)
{
    fixture f;
    fixture_make(&f, false);
    const sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    char deep[340];
    (void)snprintf(deep, sizeof(deep), "%s/x/y", f.work);
    assert_int_equal(pack_run(&f.setup, deep, &options, NULL, &error), SLUICE_IO);
    assert_string_equal(error.file, deep);
    put_file(f.work, "file");
    (void)snprintf(deep, sizeof(deep), "%s/file", f.work);
    assert_int_equal(pack_run(&f.setup, deep, &options, NULL, &error), SLUICE_IO);
    /* A folder that another process is writing to. */
    assert_int_equal(mkdir(f.a, 0777), 0);
    int fd = open(f.a, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, "another process"));
    assert_int_equal(close(fd), 0);
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, &error), SLUICE_OK);
    fixture_remove(&f);
}

TEST(shards_can_be_packed_again)
{
    fixture f;
    fixture_make(&f, false);
    sluice_pack_options options = pack_options();
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    pack_setup packed = {0};
    const char *path = f.a;
    const sluice_dataset_options open = SLUICE_DATASET_OPTIONS_INIT;
    assert_int_equal(sl_dataset_open(&packed.dataset, &path, 1, &open, NULL), SLUICE_OK);
    options.keep_order = 1;
    options.shard_bytes = 60000;
    assert_int_equal(pack_run(&packed, f.b, &options, NULL, NULL), SLUICE_OK);
    snapshot all;
    snapshot_difference difference;
    snapshot_take(&all, f.a);
    assert_int_equal(snapshot_compare_path(&all, f.b, &difference), SLUICE_OK);
    assert_int_equal(difference.errors + difference.silent + difference.missing, 0);
    /* But not onto themselves. */
    options.overwrite = 1;
    assert_int_equal(pack_run(&packed, f.a, &options, NULL, &error), SLUICE_INVALID);
    assert_int_equal(snapshot_compare_path(&all, f.a, &difference), SLUICE_OK);
    assert_int_equal(difference.errors, 0);
    snapshot_free(&all);
    sl_dataset_close(packed.dataset);
    fixture_remove(&f);
}

enum { RAW_SIDE = 100, RAW_SAMPLES = 8 };

static void write_raw(const char *folder)
{
    static uint8_t pixels[RAW_SIDE * RAW_SIDE * 3];
    sluice_writer *writer;
    assert_int_equal(sluice_writer_open(&writer, folder, NULL, NULL), SLUICE_OK);
    for (int i = 0; i < RAW_SAMPLES; i++) {
        memset(pixels, i, sizeof(pixels) / 2);
        sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
        sample.raw_width = RAW_SIDE;
        sample.raw_height = RAW_SIDE;
        sample.image = pixels;
        sample.image_bytes = sizeof(pixels);
        sample.key = "k";
        assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

/* Packs `from` to `to`, which must then hold the samples of `all`. Returns the total size of the
 * shards. */
static uint64_t pack_again(const char *from, const char *to, int32_t level, const snapshot *all)
{
    pack_setup setup = {0};
    const sluice_dataset_options open = SLUICE_DATASET_OPTIONS_INIT;
    assert_int_equal(sl_dataset_open(&setup.dataset, &from, 1, &open, NULL), SLUICE_OK);
    sluice_pack_options options = pack_options();
    sluice_pack_result result;
    options.keep_order = 1;
    options.zstd_level = level;
    options.shard_bytes = 1 << 20;
    assert_int_equal(pack_run(&setup, to, &options, &result, NULL), SLUICE_OK);
    snapshot_difference difference;
    assert_int_equal(snapshot_compare_path(all, to, &difference), SLUICE_OK);
    assert_int_equal(difference.errors + difference.silent + difference.missing, 0);
    sl_dataset_close(setup.dataset);
    return result.bytes;
}

/* Repacks from plain to zstd, to another level, back to plain, and to auto. */
TEST(raw_pixels_are_packed_anew)
{
    char work[256];
    char folders[5][300];
    temporary_directory(work, sizeof(work));
    for (int i = 0; i < 5; i++) {
        (void)snprintf(folders[i], sizeof(folders[i]), "%s/%d", work, i);
    }
    write_raw(folders[0]);
    snapshot all;
    snapshot_take(&all, folders[0]);
    const uint64_t plain = (uint64_t)RAW_SAMPLES * RAW_SIDE * RAW_SIDE * 3;
    assert_true(pack_again(folders[0], folders[1], 3, &all) < plain / 2);
    assert_true(pack_again(folders[1], folders[2], 9, &all) < plain / 2);
    assert_true(pack_again(folders[2], folders[3], SLUICE_ZSTD_OFF, &all) > plain);
    assert_true(pack_again(folders[3], folders[4], SLUICE_ZSTD_AUTO, &all) < plain / 2);
    snapshot_free(&all);
    remove_tree(work);
}

/* With no spare memory, one sample is in flight at a time: slow, but ordered and complete. */
TEST(a_small_budget_does_not_stop_the_workers)
{
    fixture f;
    fixture_make(&f, true);
    static const uint64_t budgets[] = {0, 3000, UINT64_MAX / 2};
    sl_schema schema;
    const sl_record_plan plan = {.schema = &schema};
    assert_int_equal(
        sl_schema_make(&schema, f.setup.dataset->fields, f.setup.dataset->info.fields, NULL),
        SLUICE_OK);
    for (size_t i = 0; i < 6; i++) {
        const sl_pack_job_config job = {.maker = {.plan = &plan,
                                                  .keep_bytes = i >= 3,
                                                  .retile = {.max_pixels = SL_RECORD_PIXELS_MAX,
                                                             .max_bytes = SL_RECORD_IMAGE_MAX}}};
        const sl_prepare_config config = {.dataset = f.setup.dataset,
                                          .job = &sl_pack_job,
                                          .config = &job,
                                          .workers = 4,
                                          .first = 3,
                                          .end = 37,
                                          .budget_bytes = budgets[i % 3]};
        sl_prepare *prepare;
        assert_int_equal(sl_prepare_open(&prepare, &config, NULL), SLUICE_OK);
        uint32_t bad = 0;
        for (uint64_t position = 3; position < 37; position++) {
            sl_prepared *prepared;
            assert_int_equal(sl_prepare_next(prepare, &prepared, NULL), SLUICE_OK);
            assert_int_equal(prepared->position, position);
            assert_false(prepared->fatal);
            bad += prepared->status < 0;
            sl_prepare_done(prepare, prepared);
        }
        assert_true(bad >= 2 && bad <= 5);
        sl_prepare_close(prepare);
        /* Closed early, with samples in flight. */
        assert_int_equal(sl_prepare_open(&prepare, &config, NULL), SLUICE_OK);
        sl_prepared *prepared;
        assert_int_equal(sl_prepare_next(prepare, &prepared, NULL), SLUICE_OK);
        sl_prepare_done(prepare, prepared);
        sl_prepare_close(prepare);
    }
    fixture_remove(&f);
}

typedef struct progress {
    uint64_t calls, done, total;
    bool backwards;
} progress;

static void note_progress(void *user, const sluice_pack_progress *now)
{
    progress *p = user;
    p->calls++;
    p->backwards = p->backwards || now->samples_done < p->done;
    p->done = now->samples_done;
    p->total = now->samples_total;
}

TEST(progress_ends_at_the_total)
{
    fixture f;
    fixture_make(&f, true);
    progress seen = {0};
    sluice_pack_options options = pack_options();
    options.on_progress = note_progress;
    options.user = &seen;
    assert_int_equal(pack_run(&f.setup, f.a, &options, NULL, NULL), SLUICE_OK);
    assert_true(seen.calls >= 1 && !seen.backwards);
    assert_int_equal(seen.done, 37);
    assert_int_equal(seen.total, 37);
    fixture_remove(&f);
}
