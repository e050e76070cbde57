/* SPDX-License-Identifier: Apache-2.0 */
/* Tests errors of the writer API, callers' structs of other sizes, and verify's findings. */
#include "dataset_checks.h"
#include "jpeg_make.h"
#include "pack_setup.h"
#include "packed.h"
#include "shard_bytes.h"
#include "test.h"
#include "verify.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes before the blobs of a sample with the fields image, label and key. */
enum { HEAD_BYTES = 48 };

static sluice_writer *open_writer(const char *path)
{
    sluice_writer *writer;
    assert_int_equal(sluice_writer_open(&writer, path, NULL, NULL), SLUICE_OK);
    return writer;
}

static sluice_writer_sample jpeg_sample(const jpeg_file *file)
{
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.image = file->data;
    sample.image_bytes = file->size;
    return sample;
}

TEST(bad_samples_leave_the_writer_as_it_was)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    jpeg_file file = jpeg_make_pattern(16, 16, 1, NULL);
    sluice_writer *writer = open_writer(folder);
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_sample sample = jpeg_sample(&file);
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_OK);
    sample.image_bytes = 0;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample.image_bytes = 10;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_CORRUPT);
    sample.image = "GIF89a\1\0\1\0";
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_UNSUPPORTED);
    sample = jpeg_sample(&file);
    sample.raw_width = 4;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample.raw_height = 4;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample.raw_width = UINT32_MAX;
    sample.raw_height = UINT32_MAX;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample = jpeg_sample(&file);
    sample.label = -2;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample = jpeg_sample(&file);
    char key[513];
    memset(key, 'k', 512);
    key[512] = '\0';
    sample.key = key;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    sample.key = NULL;
    sample.reserved = 1;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_INVALID);
    assert_int_equal(sluice_writer_add(writer, NULL, &error), SLUICE_INVALID);
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 1);
    assert_int_equal(info.classes, 0);
    sluice_dataset_close(dataset);
    jpeg_free(&file);
    remove_tree(folder);
}

/* Writes one JPEG. Returns the info of the stored sample. */
static sluice_sample_info write_one(const char *folder, const jpeg_file *file, uint32_t keep_bytes,
                                    uint8_t *stored)
{
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.overwrite = 1;
    options.keep_bytes = keep_bytes;
    options.tile_mcus = 1;
    options.jpeg_metadata = SLUICE_JPEG_METADATA_DROP;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    const sluice_writer_sample sample = jpeg_sample(file);
    assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_sample_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, NULL), SLUICE_OK);
    size_t size = 0;
    assert_int_equal(sluice_dataset_read(dataset, 0, "image", stored, 1 << 16, &size, NULL),
                     SLUICE_OK);
    sluice_dataset_close(dataset);
    return info;
}

TEST(writers_retile_unless_told_otherwise)
{
    static uint8_t stored[1 << 16];
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    const jpeg_options how = {.progressive = true, .orientation = 5};
    jpeg_file file = jpeg_make_pattern(40, 30, 1, &how);
    sluice_sample_info info = write_one(folder, &file, 1, stored);
    assert_int_equal(info.bytes, HEAD_BYTES + file.size);
    assert_memory_equal(stored, file.data, file.size);
    info = write_one(folder, &file, 0, stored);
    assert_int_equal(info.width, 40);
    assert_int_equal(info.height, 30);
    assert_non_null(memmem(stored, info.bytes, "\xFF\xDD\0\4\0\1", 6)); /* DRI: 1 */
    assert_non_null(memmem(stored, info.bytes, "Exif", 4));
    assert_null(memmem(stored, info.bytes, "\xFF\xC2", 2)); /* progressive */
    /* A JPEG that ends early is rejected, and the writer stays usable. */
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.overwrite = 1;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    sluice_writer_sample sample = jpeg_sample(&file);
    sample.image_bytes -= 40;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_CORRUPT);
    assert_true(error.text[0] != '\0');
    sample.image_bytes += 40;
    assert_int_equal(sluice_writer_add(writer, &sample, &error), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    jpeg_free(&file);
    remove_tree(folder);
}

TEST(writers_end_well)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    jpeg_file file = jpeg_make_pattern(16, 16, 1, NULL);
    const sluice_writer_sample sample = jpeg_sample(&file);
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_abort(NULL);
    assert_int_equal(sluice_writer_finish(open_writer(folder), &error), SLUICE_STATE);
    sluice_writer_abort(open_writer(folder));
    assert_int_equal(count_names(folder, NULL), 0);
    sluice_writer *writer = open_writer(folder);
    assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    sluice_writer *second;
    assert_int_equal(sluice_writer_open(&second, folder, NULL, &error), SLUICE_STATE);
    assert_null(second);
    sluice_writer_abort(writer);
    assert_int_equal(count_names(folder, NULL), 0);
    writer = open_writer(folder);
    assert_int_equal(sluice_writer_add(writer, &sample, NULL), SLUICE_OK);
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    assert_int_equal(count_names(folder, NULL), 2);
    assert_int_equal(sluice_writer_open(&writer, folder, NULL, &error), SLUICE_STATE);
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, &error), SLUICE_OK);
    assert_int_equal(count_names(folder, NULL), 0);
    sluice_writer_abort(writer);
    jpeg_free(&file);
    remove_tree(folder);
}

TEST(options_out_of_range_are_refused)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    static const char *const classes[] = {"a", NULL};
    static const sluice_writer_options wrong[] = {
        {.struct_size = sizeof(wrong[0]), .zstd_level = 20},
        {.struct_size = sizeof(wrong[0]), .zstd_level = -2},
        {.struct_size = sizeof(wrong[0]), .shard_bytes = 1000},
        {.struct_size = sizeof(wrong[0]), .shard_bytes = UINT64_MAX},
        {.struct_size = sizeof(wrong[0]), .class_count = 1},
        {.struct_size = sizeof(wrong[0]), .class_count = 2, .classes = classes},
        {.struct_size = sizeof(wrong[0]), .keep_bytes = 2},
        {.struct_size = sizeof(wrong[0]), .jpeg_metadata = -1},
        {.struct_size = sizeof(wrong[0]), .tile_mcus = 65536},
        {.struct_size = sizeof(wrong[0]), .reserved = 1},
        {.struct_size = 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sluice_writer *writer;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sluice_writer_open(&writer, folder, &wrong[i], &error), SLUICE_INVALID);
        assert_true(error.text[0] != '\0');
    }
    packed_make(folder, &(packed_options){.samples = 1, .classes = 1});
    sluice_dataset *dataset = dataset_opened(folder);
    for (int i = 0; i < 8; i++) {
        sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
        options.workers = i == 0 ? 100000 : 0;
        options.on_bad = i == 1 ? 7 : 0;
        options.shard_bytes = i == 2 ? 1 : 0;
        options.zstd_level = i == 3 ? 50 : 0;
        options.keep_bytes = i == 4 ? 2 : 0;
        options.overwrite = i == 5 ? 2 : 0;
        options.jpeg_metadata = i == 6 ? 2 : 0;
        options.tile_mcus = i == 7 ? 65536 : 0;
        assert_int_equal(sluice_pack(dataset, "/nowhere", &options, NULL, NULL), SLUICE_INVALID);
    }
    assert_int_equal(sluice_pack(NULL, folder, NULL, NULL, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_pack(dataset, NULL, NULL, NULL, NULL), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    sluice_dataset_close(NULL);
    assert_int_equal(sluice_dataset_open(&dataset, NULL, 1, NULL, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_open(&dataset, NULL, 0, NULL, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_open(NULL, NULL, 0, NULL, NULL), SLUICE_INVALID);
    remove_tree(folder);
}

/* A program built against a smaller header: nothing is written past the end of its struct. */
TEST(smaller_structs_are_kept_to)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 3, .classes = 2});
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_dataset_info whole = {.struct_size = sizeof(whole)};
    assert_int_equal(sluice_dataset_get_info(dataset, &whole), SLUICE_OK);
    for (uint32_t size = 0; size <= sizeof(whole); size++) {
        sluice_dataset_info info;
        memset(&info, 0x77, sizeof(info));
        info.struct_size = size;
        const sluice_status status = sluice_dataset_get_info(dataset, &info);
        assert_int_equal(status, size < 4 ? SLUICE_INVALID : SLUICE_OK);
        const uint8_t *bytes = (const uint8_t *)&info;
        const uint32_t written = size < 4 ? 4 : size;
        assert_memory_equal(bytes + 4, (const uint8_t *)&whole + 4, written - 4);
        for (size_t i = written; i < sizeof(info); i++) {
            assert_int_equal(bytes[i], 0x77);
        }
    }
    struct {
        sluice_dataset_options options;
        uint32_t later;
    } newer = {.options = {.struct_size = sizeof(newer)}};
    const char *path = folder;
    sluice_dataset *second;
    assert_int_equal(sluice_dataset_open(&second, &path, 1, &newer.options, NULL), SLUICE_OK);
    sluice_dataset_close(second);
    newer.later = 1;
    assert_int_equal(sluice_dataset_open(&second, &path, 1, &newer.options, NULL),
                     SLUICE_UNSUPPORTED);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

typedef struct findings {
    uint64_t count, samples_named, without_reason;
    uint64_t progress_calls, last_done;
    char files[4096];
} findings;

/* Runs on a worker's thread, so it must not assert. */
static void note_finding(void *user, const sluice_error *finding)
{
    findings *f = user;
    f->count++;
    f->samples_named += finding->sample >= 0;
    f->without_reason += finding->status >= 0 || finding->text[0] == '\0';
    strncat(f->files, finding->file, sizeof(f->files) - strlen(f->files) - 1);
}

static void note_progress(void *user, uint64_t done, uint64_t total)
{
    findings *f = user;
    f->progress_calls++;
    assert_true(done <= total && done >= f->last_done);
    f->last_done = done;
}

static sluice_verify_result verify(const char *path, uint32_t workers, uint32_t decode,
                                   findings *seen)
{
    memset(seen, 0, sizeof(*seen));
    sluice_dataset *dataset = dataset_opened(path);
    const sluice_verify_options options = {.struct_size = sizeof(options),
                                           .workers = workers,
                                           .decode = decode,
                                           .on_finding = note_finding,
                                           .on_progress = note_progress,
                                           .user = seen};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, seen->count);
    assert_int_equal(seen->without_reason, 0);
    sluice_dataset_close(dataset);
    return result;
}

TEST(verify_finds_every_bad_picture_of_a_folder)
{
    pack_setup setup;
    findings seen;
    pack_setup_make(&setup, 4, 20, true);
    for (uint32_t workers = 1; workers <= 4; workers++) {
        const sluice_verify_result result = verify(setup.photos.path, workers, 0, &seen);
        assert_int_equal(result.samples, 85);
        assert_int_equal(result.bad, 5);
        assert_int_equal(seen.samples_named, 5);
        assert_non_null(strstr(seen.files, "c00/p0003.png"));
        assert_non_null(strstr(seen.files, "c01/zz.jpg"));
        assert_true(seen.progress_calls > 0 && seen.last_done == 85);
    }
    /* A truncated image has a good header: only decoding reveals it. */
    char path[600];
    struct stat status;
    photo_folder_file(&setup.photos, 42, path, sizeof(path));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - status.st_size / 4), 0);
    assert_int_equal(verify(setup.photos.path, 2, 0, &seen).bad, 5);
    assert_int_equal(verify(setup.photos.path, 2, 1, &seen).bad, 6);
    assert_non_null(strstr(seen.files, path));
    pack_setup_remove(&setup);
}

TEST(verify_keeps_going_in_shards)
{
    char folder[256];
    findings seen;
    temporary_directory(folder, sizeof(folder));
    packed_make(
        folder,
        &(packed_options){
            .samples = 40, .classes = 3, .raw_every = 4, .zstd_level = 2, .shard_bytes = 12900});
    sluice_verify_result result = verify(folder, 3, 1, &seen);
    assert_int_equal(result.samples, 40);
    assert_int_equal(result.bad, 0);
    file_bytes shards[3];
    for (uint32_t i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "shard-%06u.sluice", i);
        file_load(&shards[i], folder, name);
    }
    /* One bad sample, a bad header and a bad index block, each in a shard of its own. */
    file_store_byte(&shards[0], 5000, shards[0].data[5000] ^ 4);
    file_store_byte(&shards[1], 200, 1);
    const size_t entry = get64(&shards[2], SHARD_INDEX_OFFSET_AT);
    file_store_byte(&shards[2], entry, shards[2].data[entry] ^ 4);
    const uint64_t unseen = get64(&shards[1], 32) + get64(&shards[2], 32);
    result = verify(folder, 2, 1, &seen);
    assert_int_equal(result.bad, 3 + 1); /* and a finding that some samples could not be checked */
    assert_int_equal(result.samples, 40 - unseen);
    for (uint32_t i = 0; i < 3; i++) {
        assert_non_null(strstr(seen.files, shards[i].path));
        file_free(&shards[i]);
    }
    remove_tree(folder);
}

/* ---- frames of other fields ---- */

enum { FRAMED = 6, CONTENT = 200 }; /* sizes that a frame stores in one byte */

/* Samples of bytes, a key and bools, all stored as frames. */
static void write_framed(const char *folder)
{
    static const char *const names[] = {"bytes", "key", "bools"};
    static const int32_t types[] = {SLUICE_FIELD_BYTES, SLUICE_FIELD_TEXT, SLUICE_FIELD_TENSOR};
    sluice_field fields[3];
    for (size_t i = 0; i < 3; i++) {
        fields[i] = (sluice_field)SLUICE_FIELD_INIT;
        (void)snprintf(fields[i].name, sizeof(fields[i].name), "%s", names[i]);
        fields[i].type = types[i];
        fields[i].compression = SLUICE_COMPRESSION_ALWAYS;
    }
    fields[2].dtype = SLUICE_BOOL;
    fields[2].dims = 1;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 3;
    sluice_writer *writer;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    for (int i = 0; i < FRAMED; i++) {
        uint8_t content[3][CONTENT];
        sluice_value values[3];
        for (size_t k = 0; k < CONTENT; k++) { /* the first sample has another size */
            content[0][k] = (uint8_t)(i == 0 ? k * k * 31 : 7);
        }
        memset(content[1], 'k', CONTENT);
        memset(content[2], 1, CONTENT);
        for (size_t k = 0; k < 3; k++) {
            values[k] = (sluice_value)SLUICE_VALUE_INIT;
            values[k].data = content[k];
            values[k].bytes = CONTENT;
        }
        assert_int_equal(sluice_writer_add_values(writer, values, 3, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

/* Reads a byte of frame `number` of a sample in its shard. */
static size_t frame_at(const file_bytes *shard, uint64_t sample, int number)
{
    uint64_t at = sample_at(shard, sample);
    for (;; at++) {
        assert_true(at + 4 < sample_at(shard, sample + 1));
        if (memcmp(shard->data + at, "\x28\xB5\x2F\xFD", 4) == 0 && number-- == 0) {
            return at;
        }
    }
}

/* Changes one byte of the frame from `was` to `is`. */
static void exchange(file_bytes *shard, size_t frame, uint8_t was, uint8_t is)
{
    uint8_t *byte = memchr(shard->data + frame + 6, was, 24);
    assert_non_null(byte);
    *byte = is;
}

/* A frame's content must match its header and its field: correct checksums do not help. */
TEST(verify_unpacks_frames)
{
    char folder[256];
    findings seen;
    file_bytes shard;
    temporary_directory(folder, sizeof(folder));
    write_framed(folder);
    assert_int_equal(verify(folder, 2, 1, &seen).bad, 0);
    file_load(&shard, folder, "shard-000000.sluice");
    const size_t frame = frame_at(&shard, 1, 0);
    assert_int_equal(shard.data[frame + 5], CONTENT);
    shard.data[frame + 5] = CONTENT - 1;
    exchange(&shard, frame_at(&shard, 3, 1), 'k', 0);
    exchange(&shard, frame_at(&shard, 4, 2), 1, 2);
    seal_samples(&shard);
    file_store(&shard, shard.size);
    assert_int_equal(verify(shard.path, 2, 0, &seen).bad, 0);
    const sluice_verify_result result = verify(shard.path, 2, 1, &seen);
    assert_int_equal(result.samples, FRAMED);
    assert_int_equal(result.bad, 3);
    assert_int_equal(seen.samples_named, 3);
    file_free(&shard);
    remove_tree(folder);
}

/* ---- samples that cannot be found, though nothing was found wrong with their file ---- */

enum { FAKE_SAMPLES = 200, FAKE_LOST = 77 };

static sluice_status locate_all_but_one(const sl_dataset *dataset, uint64_t index,
                                        sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    (void)dataset;
    *lookup = (sl_place){.bytes = 1};
    *sample = (sl_sample){.place = {.offset = index, .bytes = 1}};
    *why = sl_refuse("lost", 5);
    return index == FAKE_LOST ? SLUICE_CORRUPT : SLUICE_OK;
}

static sl_refusal unpack_nothing(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                 sl_values *values)
{
    (void)dataset;
    (void)sample;
    (void)bytes;
    (void)values;
    return sl_accept();
}

static sluice_status find_nothing_wrong(const sl_dataset *dataset, uint32_t object,
                                        sl_findings *unused)
{
    (void)dataset;
    (void)object;
    (void)unused;
    return SLUICE_OK;
}

static sluice_status path_of_fake(void *ctx, uint32_t object, char *path, size_t bytes)
{
    (void)object;
    (void)snprintf(path, bytes, "%s", (const char *)ctx);
    return SLUICE_OK;
}

TEST(a_sample_that_cannot_be_found_is_a_finding)
{
    char folder[256];
    char path[300];
    char content[FAKE_SAMPLES] = {0};
    findings seen = {0};
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, content, sizeof(content));
    const sl_dataset_ops ops = {.locate = locate_all_but_one, .unpack = unpack_nothing};
    const sl_check_ops checks = {.check_object = find_nothing_wrong};
    sl_dataset fake = {.ops = &ops, .checks = &checks, .info = {.samples = FAKE_SAMPLES}};
    const sl_object_names names = {.ctx = path, .count = 1, .path = path_of_fake};
    assert_int_equal(sl_objects_open(&fake.objects, &names, NULL), SLUICE_OK);
    const sluice_verify_options options = {.struct_size = sizeof(options),
                                           .workers = 2,
                                           .on_finding = note_finding,
                                           .user = &seen,
                                           .parts = 1};
    sluice_verify_result result;
    assert_int_equal(sl_verify(&fake, &options, SL_VERIFY_ALL, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, 1);
    assert_int_equal(result.samples, FAKE_SAMPLES);
    assert_int_equal(seen.samples_named, 1);
    assert_string_equal(seen.files, path);
    sl_objects_close(fake.objects);
    remove_tree(folder);
}
