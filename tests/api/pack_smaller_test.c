/* SPDX-License-Identifier: Apache-2.0 */
/* Tests packs that downscale images, with several workers: sizes and colours of flat images.
 * python/tests/test_packing.py compares photos with Pillow's output. */
#include "dataset_checks.h"
#include "png_make.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNT = 20, WIDTH = 40, HEIGHT = 20, SMALLER = 8, WORKERS = 4, OFF_MOST = 2 };

/* Every pixel of image n is 10 n. */
static void put_flat(uint32_t number)
{
    static uint8_t rows[HEIGHT * (1 + 3 * WIDTH)];
    memset(rows, (int)(10 * number), sizeof(rows));
    for (size_t y = 0; y < HEIGHT; y++) {
        rows[y * (1 + 3 * WIDTH)] = 0;
    }
    png_file file = png_make_begin(WIDTH, HEIGHT, 8, 2, false);
    png_make_data(&file, rows, sizeof(rows));
    png_make_chunk(&file, "IEND", NULL, 0);
    write_file(test_path("images/all/%03u.png", number), file.data, (uint32_t)file.size);
    png_make_free(&file);
}

TEST_WITH(images_become_smaller, test_folder_make, test_folder_remove)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    (void)mkdir(test_path("images"), 0700);
    (void)mkdir(test_path("images/all"), 0700);
    for (uint32_t i = 0; i < COUNT; i++) {
        put_flat(i);
    }
    options.workers = WORKERS;
    options.keep_order = 1;
    options.max_side = SMALLER;
    sluice_dataset *images = dataset_opened(test_path("images"));
    if (sluice_pack(images, test_path("packed"), &options, &result, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(images);
    assert_int_equal(result.samples, COUNT);
    assert_int_equal(result.resized, COUNT);
    sluice_dataset *packed = dataset_opened(test_path("packed"));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t buffer[SMALLER * SMALLER * 3];
        sluice_pixels pixels = SLUICE_PIXELS_INIT;
        pixels.buffer = buffer;
        pixels.capacity = sizeof(buffer);
        assert_int_equal(sluice_dataset_decode(packed, i, "image", &pixels, NULL), SLUICE_OK);
        assert_int_equal(pixels.width, SMALLER);
        assert_int_equal(pixels.height, SMALLER * HEIGHT / WIDTH);
        for (uint32_t j = 0; j < pixels.width * pixels.height * 3; j++) {
            assert_true(abs(buffer[j] - (int)(10 * i)) <= OFF_MOST); /* JPEG is lossy */
        }
    }
    sluice_dataset_close(packed);
}
