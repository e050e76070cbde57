/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a dataset kept in memory: the same batches as without, good or bad, from any point of an
 * epoch, and no further reads. */
#include "batches.h"
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 5, PER_CLASS = 40, SAMPLES = CLASSES * PER_CLASS, EPOCHS = TEST_AMOUNT(5, 3) };

static photo_folder photos;
static char packed[300], damaged[300];

static void pack(const char *to)
{
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_pack(dataset, to, &options, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
}

/* Flips a byte in the middle of sample `index`. */
static void damage(const char *path, uint64_t index)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, index, &info, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    FILE *file = fopen(info.file, "r+b");
    assert_non_null(file);
    const long at = (long)(info.offset + info.bytes / 2);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x40, file), byte ^ 0x40);
    fclose(file);
}

static int make_data(void **state)
{
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    temporary_directory(packed, sizeof(packed));
    temporary_directory(damaged, sizeof(damaged));
    pack(packed);
    pack(damaged);
    for (uint64_t i = 3; i < SAMPLES; i += 17) {
        damage(damaged, i);
    }
    return 0;
}

static int remove_data(void **state)
{
    remove_tree(packed);
    remove_tree(damaged);
    photo_folder_remove(&photos);
    return 0;
}

static sluice_loader_stats stats_of(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats;
}

/* Epoch after epoch of both; the last ones must not read anything. */
static void compare(const char *path, sluice_loader_options options)
{
    options.page_cache = SLUICE_CACHE_BUFFERED;
    sluice_loader *read = setup_loader(path, &options);
    options.page_cache = SLUICE_CACHE_AUTO;
    sluice_loader *kept = setup_loader(path, &options);
    uint64_t reads = 0;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        batches a;
        batches b;
        batches_collect(&a, read, epoch);
        batches_collect(&b, kept, epoch);
        assert_int_equal(a.end, b.end);
        assert_true(batches_equal(&a, &b));
        batches_free(&a);
        batches_free(&b);
        const uint64_t so_far = stats_of(kept).reads;
        if (options.on_bad_sample != SLUICE_BAD_FAIL || path == packed) {
            assert_true(epoch < EPOCHS - 1 || so_far == reads);
        }
        reads = so_far;
    }
    const sluice_loader_stats x = stats_of(read);
    const sluice_loader_stats y = stats_of(kept);
    assert_true(x.reads > y.reads || options.on_bad_sample == SLUICE_BAD_FAIL);
    if (options.end_epoch == EPOCHS && options.on_bad_sample != SLUICE_BAD_FAIL) {
        assert_int_equal(x.samples, y.samples);
        assert_int_equal(x.bad_samples, y.bad_samples);
        assert_int_equal(x.replaced_samples, y.replaced_samples);
        assert_int_equal(x.bytes_wanted, y.bytes_wanted);
    }
    sluice_loader_close(read);
    sluice_loader_close(kept);
}

TEST(the_same_batches)
{
    sluice_loader_options options = setup_options();
    for (options.shuffle = SLUICE_SHUFFLE_FULL; options.shuffle <= SLUICE_SHUFFLE_NONE;
         options.shuffle++) {
        for (options.last_batch = SLUICE_LAST_DROP; options.last_batch <= SLUICE_LAST_SHORT;
             options.last_batch++) {
            options.batch_size = options.last_batch == SLUICE_LAST_DROP ? 8 : 77;
            options.end_epoch = EPOCHS;
            compare(packed, options);
        }
    }
    options.shuffle = SLUICE_SHUFFLE_FULL;
    options.last_batch = SLUICE_LAST_PAD;
    options.world_size = 3;
    options.rank = 1;
    options.end_epoch = 0;
    compare(packed, options);
}

TEST(the_same_bad_samples)
{
    sluice_loader_options options = setup_options();
    options.end_epoch = EPOCHS;
    options.last_batch = SLUICE_LAST_PAD;
    for (options.on_bad_sample = SLUICE_BAD_FAIL; options.on_bad_sample <= SLUICE_BAD_MASK;
         options.on_bad_sample++) {
        compare(damaged, options);
    }
}

/* Runs abandoned at every position of an epoch, and resumed. */
TEST(given_up_and_continued)
{
    sluice_loader_options options = setup_options();
    options.page_cache = SLUICE_CACHE_BUFFERED;
    sluice_loader *read = setup_loader(packed, &options);
    options.page_cache = SLUICE_CACHE_AUTO;
    sluice_loader *kept = setup_loader(packed, &options);
    batches whole;
    batches_collect(&whole, read, 3);
    for (uint64_t steps = 0; steps < SAMPLES / 8; steps++) {
        batches head;
        batches tail;
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        assert_int_equal(sluice_loader_start_epoch(kept, 3), SLUICE_OK);
        batches_continue(&head, kept, steps);
        assert_int_equal(sluice_loader_save(kept, cursor, &bytes), SLUICE_OK);
        assert_int_equal(sluice_loader_restore(kept, cursor, bytes, &epoch), SLUICE_OK);
        batches_collect(&tail, kept, epoch);
        batches_append(&head, &tail);
        assert_true(batches_equal(&head, &whole));
        batches_free(&head);
        batches_free(&tail);
    }
    batches_free(&whole);
    sluice_loader_close(read);
    sluice_loader_close(kept);
}

/* Nothing is kept if it is turned off or memory is short; neither is an error. */
TEST(not_kept)
{
    sluice_loader_options options = setup_options();
    options.resident_bytes = 1;
    for (int pass = 0; pass < 2; pass++) {
        sluice_loader *loader = setup_loader(packed, &options);
        uint64_t reads = 0;
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            batches all;
            batches_collect(&all, loader, epoch * 7); /* not the epoch that was read ahead */
            assert_int_equal(all.end, SLUICE_END);
            batches_free(&all);
            assert_true(stats_of(loader).reads > reads);
            reads = stats_of(loader).reads;
        }
        options.resident_bytes = 0; /* with only the memory this one took */
        options.memory_bytes = stats_of(loader).memory_bytes;
        sluice_loader_close(loader);
    }
}

TEST_GROUP(make_data, remove_data)
