/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that mixed rows are the same for any number of workers, from memory, on any device, and
 * from any starting point in an epoch. loader_mixing_test checks their contents. */
#include "loader_setup.h"
#include "mixed_epochs.h"
#include "test.h"

TEST_WITH(any_number_of_workers, mixed_data_make, mixed_data_remove)
{
    static const uint32_t workers[] = {1, 2, 7};
    for (size_t i = 0; i < MIXED_STEPS; i += TEST_AMOUNT(1, 2)) {
        mixed_epoch runs[3];
        const mixed_form how = {.dtype = (sluice_dtype)(i % 4),
                                .layout = (sluice_layout)(i / 2 % 2)};
        for (size_t k = 0; k < 3; k++) {
            sluice_loader_options options = setup_options();
            options.workers = workers[k];
            options.prefetch = (uint32_t)(2 + k);
            options.last_batch = SLUICE_LAST_PAD;
            runs[k] = mixed_run(i % 2 == 0 ? mixed_packed() : mixed_photos()->path, &options,
                                &mixed_steps[i], &how, 3);
            assert_int_equal(runs[k].end, SLUICE_END);
        }
        mixed_expect_equal(&runs[0], &runs[2]);
        mixed_expect_equal(&runs[0], &runs[1]);
        for (size_t k = 0; k < 3; k++) {
            mixed_free(&runs[k]);
        }
    }
}

static uint64_t reads_of(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats.reads;
}

/* With a dataset in memory, workers find the samples themselves. */
TEST_WITH(datasets_in_memory, mixed_data_make, mixed_data_remove)
{
    for (size_t i = 0; i < MIXED_STEPS; i++) {
        sluice_loader_options options = setup_options();
        const mixed_form how = {.dtype = SLUICE_BF16, .layout = SLUICE_NHWC};
        options.workers = 3;
        options.last_batch = SLUICE_LAST_SHORT;
        uint64_t reads = 0;
        sluice_loader *kept = mixed_open(mixed_packed(), &options, &mixed_steps[i], &how);
        options.page_cache = SLUICE_CACHE_BUFFERED; /* keeps nothing */
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            mixed_epoch here = {.rows = 0};
            mixed_epoch there = mixed_run(mixed_packed(), &options, &mixed_steps[i], &how, epoch);
            assert_int_equal(sluice_loader_start_epoch(kept, epoch), SLUICE_OK);
            mixed_take(&here, kept, MIXED_ROWS_MAX, NULL);
            mixed_expect_equal(&here, &there);
            mixed_free(&here);
            mixed_free(&there);
            assert_true(epoch < 3 || reads_of(kept) == reads);
            reads = reads_of(kept);
        }
        sluice_loader_close(kept);
    }
}

/* Half of an epoch, and the rest by another loader from a cursor. */
TEST_WITH(an_epoch_goes_on, mixed_data_make, mixed_data_remove)
{
    for (size_t i = 0; i < MIXED_STEPS; i++) {
        const mixed_form how = {.dtype = SLUICE_F32, .layout = SLUICE_NCHW};
        sluice_loader_options options = setup_options();
        options.last_batch = SLUICE_LAST_SHORT;
        mixed_epoch whole = mixed_run(mixed_packed(), &options, &mixed_steps[i], &how, 1);
        mixed_epoch parts = {.rows = 0};
        char cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        sluice_loader *loader = mixed_open(mixed_packed(), &options, &mixed_steps[i], &how);
        assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
        mixed_take(&parts, loader, 2, NULL);
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
        options.workers = 2;
        loader = mixed_open(mixed_packed(), &options, &mixed_steps[i], &how);
        uint64_t epoch;
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        mixed_take(&parts, loader, MIXED_ROWS_MAX, NULL);
        sluice_loader_close(loader);
        mixed_expect_equal(&whole, &parts);
        mixed_free(&whole);
        mixed_free(&parts);
    }
}

/* Two heights: rows of pixels that fill the kernels' groups, and rows that do not. */
TEST_WITH(devices_make_the_same, mixed_data_make, mixed_data_remove)
{
    const fake_cuda_control *fake = mixed_fake();
    if (fake == NULL) {
        skip();
        return; /* not reached */
    }
    for (size_t i = 0; i < (size_t)MIXED_STEPS * 4; i += TEST_AMOUNT(1, 3)) {
        const mixed_form how = {.dtype = (sluice_dtype)(i % 4),
                                .layout = (sluice_layout)((i + i / 4) % 2),
                                .smoothing = 0.1,
                                .height = i % 3 == 0 ? 16 : 0};
        sluice_loader_options options = setup_options();
        options.batch_size = 7;
        options.last_batch = SLUICE_LAST_PAD;
        mixed_epoch here = mixed_run(mixed_packed(), &options, &mixed_steps[i / 4], &how, 2);
        mixed_epoch there = {.rows = 0};
        fake->reset();
        fake->set(&(fake_cuda_options){.seed = i, .delay_us = 50});
        struct CUstream_st *stream = fake->stream_new(true);
        options.device = "cuda:0";
        sluice_loader *loader = mixed_open(mixed_packed(), &options, &mixed_steps[i / 4], &how);
        assert_int_equal(sluice_loader_start_epoch(loader, 2), SLUICE_OK);
        mixed_take(&there, loader, MIXED_ROWS_MAX, stream);
        sluice_loader_close(loader);
        assert_int_equal(fake_cuda_complain(fake), 0);
        mixed_expect_equal(&here, &there);
        mixed_free(&here);
        mixed_free(&there);
    }
}
