/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes: the part to decode and its scale, against brute force. augment_geometry_test checks the
 * positions shown by boxes and warps. */
#include "mapping.h"
#include "philox.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { CASES = 2000, PICTURE = 300 };

/* The window may contain all of the raster or none of it. */
static sl_mapping random_box(sl_random *random)
{
    sl_mapping box = {.flip_x = false};
    box.source.width = 1 + sl_random_below(random, PICTURE);
    box.source.height = 1 + sl_random_below(random, PICTURE);
    box.source.x = sl_random_below(random, PICTURE - box.source.width + 1);
    box.source.y = sl_random_below(random, PICTURE - box.source.height + 1);
    box.virtual_width = 1 + sl_random_below(random, 60);
    box.virtual_height = 1 + sl_random_below(random, 60);
    box.width = 1 + sl_random_below(random, 60);
    box.height = 1 + sl_random_below(random, 60);
    box.window_x = (int32_t)sl_random_below(random, 80) - 20;
    box.window_y = (int32_t)sl_random_below(random, 80) - 20;
    box.flip_x = sl_random_below(random, 2) == 1;
    box.flip_y = sl_random_below(random, 2) == 1;
    return box;
}

/* Finds the pixels of an axis that an output pixel's triangle touches, by weighing each. */
static void touched(const sl_axis *axis, uint32_t output, int32_t *begin, int32_t *end)
{
    const int64_t position = (int64_t)axis->first + output;
    if (position < 0 || position >= axis->virtual_size) {
        return;
    }
    const double scale = axis->box_size / axis->virtual_size;
    const double support = fmax(scale, 1.0);
    const double center = axis->box_start + ((double)position + 0.5) * scale;
    for (int32_t i = axis->limit_start; i < axis->limit_end; i++) {
        if (fabs(i + 0.5 - center) < support - 1e-9) {
            *begin = i < *begin ? i : *begin;
            *end = i + 1 > *end ? i + 1 : *end;
        }
    }
}

/* A box needs each pixel that a filter weighs, and at most one more on either side. */
TEST(boxes_need_what_their_filters_touch)
{
    sl_random random = sl_random_for(1, 0, 0, 0);
    uint32_t empty = 0;
    for (int i = 0; i < CASES; i++) {
        const sl_mapping box = random_box(&random);
        const sl_rect need = sl_mapping_need(&box);
        const uint32_t from[2] = {need.x, need.y};
        const uint32_t size[2] = {need.width, need.height};
        sl_axis axes[2];
        sl_mapping_axes(&box, 1, &axes[0], &axes[1]);
        for (int k = 0; k < 2; k++) {
            int32_t begin = axes[k].limit_end;
            int32_t end = axes[k].limit_start;
            for (uint32_t output = 0; output < axes[k].outputs; output++) {
                touched(&axes[k], output, &begin, &end);
            }
            assert_true(size[k] > 0 && (int32_t)from[k] >= axes[k].limit_start &&
                        (int32_t)(from[k] + size[k]) <= axes[k].limit_end);
            if (begin >= end) {
                empty++;
                assert_int_equal(size[k], 1);
                continue;
            }
            assert_true((int32_t)from[k] <= begin && (int32_t)from[k] >= begin - 1);
            assert_true((int32_t)(from[k] + size[k]) >= end &&
                        (int32_t)(from[k] + size[k]) <= end + 1);
        }
    }
    assert_true(empty > 10);
}

/* At least two image pixels for each raster pixel remain in both directions after the division. */
TEST(boxes_are_decoded_small)
{
    sl_random random = sl_random_for(4, 0, 0, 0);
    int seen[9] = {0};
    for (int i = 0; i < CASES; i++) {
        sl_mapping box = random_box(&random);
        box.virtual_width = 1 + sl_random_below(&random, i % 2 == 0 ? 8 : 60);
        box.virtual_height = 1 + sl_random_below(&random, i % 2 == 0 ? 8 : 60);
        const sl_rect need = {0, 0, 800, 1600};
        const double least = fmin((double)box.source.width / box.virtual_width,
                                  (double)box.source.height / box.virtual_height);
        const uint32_t times = least >= 16 ? 8 : least >= 8 ? 4 : least >= 4 ? 2 : 1;
        uint32_t width;
        uint32_t height;
        sl_mapping_least(&box, &need, &width, &height);
        assert_int_equal(width, times > 1 ? 800 / times : 0);
        assert_int_equal(height, times > 1 ? 1600 / times : 0);
        seen[times]++;
    }
    assert_true(seen[1] > 0 && seen[2] > 0 && seen[4] > 0 && seen[8] > 0);
}
