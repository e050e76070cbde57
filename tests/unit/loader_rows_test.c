/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's rows, compared with rows made by hand without its machinery. */
#include "batches.h"
#include "reference_row.h"
#include "test_folder.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSES = 5, PER_CLASS = 11 };

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static void run(batches *all, const sluice_loader_options *options, uint64_t epoch)
{
    sluice_loader *loader = setup_loader(photos.path, options);
    batches_collect(all, loader, epoch);
    assert_int_equal(all->end, SLUICE_END);
    sluice_loader_close(loader);
}

/* The pixels of each row are those of reading, decoding and augmenting the file by hand. */
TEST(rows_equal_single_steps)
{
    for (int32_t dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int32_t layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            sluice_loader_options options = setup_options();
            options.dtype = dtype;
            options.layout = layout;
            batches all;
            run(&all, &options, 5);
            uint8_t *row = malloc(all.row_bytes);
            for (uint64_t i = 0; i < all.rows; i++) {
                reference_row(&photos, &options, 5, (uint64_t)all.indices[i], row);
                assert_memory_equal(row, all.images + i * all.row_bytes, all.row_bytes);
            }
            free(row);
            batches_free(&all);
        }
    }
}

/* Some crops are twice as large as a row, so by default they are scaled while decoding. */
TEST(exact_turns_scaling_off)
{
    sluice_loader_options options = setup_options();
    batches scaled;
    batches exact;
    run(&scaled, &options, 5);
    options.exact = 1;
    run(&exact, &options, 5);
    uint8_t *row = malloc(exact.row_bytes);
    uint64_t differing = 0;
    for (uint64_t i = 0; i < exact.rows; i++) {
        const uint8_t *images = exact.images + i * exact.row_bytes;
        reference_row(&photos, &options, 5, (uint64_t)exact.indices[i], row);
        assert_memory_equal(row, images, exact.row_bytes);
        differing += memcmp(scaled.images + i * exact.row_bytes, images, exact.row_bytes) != 0;
    }
    assert_in_range(differing, 1, exact.rows - 1);
    free(row);
    batches_free(&scaled);
    batches_free(&exact);
}
