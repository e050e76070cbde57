/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and affine maps: the matrix, what has to be decoded, and how small. Against brute force. */
#include "mapping.h"
#include "philox.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { CASES = 2000, PICTURE = 300 };

static sl_mapping random_box(sl_random *random)
{
    sl_mapping box = {0};
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

static double along(uint32_t start, uint32_t size, uint32_t outputs, double at)
{
    return start + at * size / outputs;
}

/* Where the centre of each output pixel comes from. */
TEST(the_matrix_of_a_box)
{
    sl_random random = sl_random_for(1, 0, 0, 0);
    for (int i = 0; i < CASES; i++) {
        const sl_mapping box = random_box(&random);
        double m[2][3];
        sl_mapping_matrix(&box, m);
        for (int k = 0; k < 4; k++) {
            const uint32_t column = sl_random_below(&random, box.width);
            const uint32_t row = sl_random_below(&random, box.height);
            const uint32_t i_x = box.flip_x ? box.width - 1 - column : column;
            const uint32_t i_y = box.flip_y ? box.height - 1 - row : row;
            const double x = m[0][0] * (column + 0.5) + m[0][1] * (row + 0.5) + m[0][2];
            const double y = m[1][0] * (column + 0.5) + m[1][1] * (row + 0.5) + m[1][2];
            assert_true(fabs(x - along(box.source.x, box.source.width, box.virtual_width,
                                       (double)box.window_x + i_x + 0.5)) < 1e-6);
            assert_true(fabs(y - along(box.source.y, box.source.height, box.virtual_height,
                                       (double)box.window_y + i_y + 0.5)) < 1e-6);
        }
    }
}

/* Whether the ratio may be one from which on a picture is decoded smaller. */
static bool is_limit(uint32_t source, uint32_t raster)
{
    const double quarter = (double)source / raster / 4;
    return quarter == floor(quarter);
}

/* The same map as a box and as a matrix needs the same pixels; a matrix, one more at the most. */
TEST(boxes_and_their_matrices_need_the_same)
{
    sl_random random = sl_random_for(2, 0, 0, 0);
    for (int i = 0; i < CASES; i++) {
        sl_mapping box = random_box(&random);
        box.width = 1 + sl_random_below(&random, box.virtual_width);
        box.height = 1 + sl_random_below(&random, box.virtual_height);
        box.window_x = (int32_t)sl_random_below(&random, box.virtual_width - box.width + 1);
        box.window_y = (int32_t)sl_random_below(&random, box.virtual_height - box.height + 1);
        sl_mapping general = box;
        sl_mapping_matrix(&box, general.affine);
        general.virtual_width = 0;
        assert_true(sl_mapping_is_box(&box) && !sl_mapping_is_box(&general));
        const sl_rect a = sl_mapping_need(&box);
        const sl_rect b = sl_mapping_need(&general);
        assert_true(b.x <= a.x && b.x + 1 >= a.x && b.y <= a.y && b.y + 1 >= a.y);
        assert_true(b.x + b.width >= a.x + a.width && b.x + b.width <= a.x + a.width + 1);
        assert_true(b.y + b.height >= a.y + a.height && b.y + b.height <= a.y + a.height + 1);
        if (is_limit(box.source.width, box.virtual_width) ||
            is_limit(box.source.height, box.virtual_height)) {
            continue; /* at the very limits rounding decides */
        }
        uint32_t of_box[2];
        uint32_t of_matrix[2];
        sl_mapping_least(&box, &a, &of_box[0], &of_box[1]);
        sl_mapping_least(&general, &a, &of_matrix[0], &of_matrix[1]);
        assert_memory_equal(of_box, of_matrix, sizeof(of_box));
    }
}

static sl_mapping random_turn(sl_random *random)
{
    sl_mapping turn = {.source = {40, 30, 200, 220}, .width = 24, .height = 17};
    const double angle = sl_random_range(random, 0, 6.28);
    const double scale[2] = {sl_random_range(random, 0.3, 9), sl_random_range(random, 0.3, 9)};
    turn.affine[0][0] = scale[0] * cos(angle);
    turn.affine[0][1] = -scale[1] * sin(angle);
    turn.affine[1][0] = scale[0] * sin(angle);
    turn.affine[1][1] = scale[1] * cos(angle);
    turn.affine[0][2] = sl_random_range(random, 0, 250);
    turn.affine[1][2] = sl_random_range(random, 0, 250);
    return turn;
}

/* Each pixel under an output pixel's footprint: one output pixel about its centre, in the picture
 * one pixel at least. */
TEST(turned_maps_need_what_they_touch)
{
    sl_random random = sl_random_for(3, 0, 0, 0);
    for (int i = 0; i < CASES; i++) {
        const sl_mapping turn = random_turn(&random);
        const sl_rect need = sl_mapping_need(&turn);
        assert_true(need.width > 0 && need.height > 0);
        assert_true(need.x >= 40 && need.x + need.width <= 240);
        assert_true(need.y >= 30 && need.y + need.height <= 250);
        for (int k = 0; k < 200; k++) {
            const double u = sl_random_below(&random, turn.width) + 0.5;
            const double v = sl_random_below(&random, turn.height) + 0.5;
            const double du = sl_random_range(&random, -1, 1);
            const double dv = sl_random_range(&random, -1, 1);
            const double *m = turn.affine[0];
            const double *n = turn.affine[1];
            const double x = floor(m[0] * (u + du) + m[1] * (v + dv) + m[2]);
            const double y = floor(n[0] * (u + du) + n[1] * (v + dv) + n[2]);
            if (x >= 40 && x < 240 && y >= 30 && y < 250) {
                assert_true(x >= need.x && x < need.x + need.width);
                assert_true(y >= need.y && y < need.y + need.height);
            }
        }
    }
}

/* Steps of length 1 on the output, all round: how long they are at least in the picture. */
TEST(turned_maps_are_decoded_small)
{
    sl_random random = sl_random_for(4, 0, 0, 0);
    const sl_rect need = {0, 0, 800, 1600};
    int seen[9] = {0};
    for (int i = 0; i < CASES; i++) {
        sl_mapping turn = random_turn(&random);
        for (int k = 0; k < 4; k++) {
            turn.affine[k / 2][k % 2] *= i % 3 == 0 ? 4 : 1;
        }
        double least = 1e9;
        for (int k = 0; k < 720; k++) {
            const double u = cos(k * 3.14159265358979 / 720);
            const double v = sin(k * 3.14159265358979 / 720);
            least = fmin(least, hypot(turn.affine[0][0] * u + turn.affine[0][1] * v,
                                      turn.affine[1][0] * u + turn.affine[1][1] * v));
        }
        const uint32_t times = least >= 16 ? 8 : least >= 8 ? 4 : least >= 4 ? 2 : 1;
        if (fabs(least - 16) < 0.01 || fabs(least - 8) < 0.01 || fabs(least - 4) < 0.01) {
            continue;
        }
        uint32_t width;
        uint32_t height;
        sl_mapping_least(&turn, &need, &width, &height);
        assert_int_equal(width, times > 1 ? 800 / times : 0);
        assert_int_equal(height, times > 1 ? 1600 / times : 0);
        seen[times]++;
    }
    assert_true(seen[1] > 0 && seen[2] > 0 && seen[4] > 0 && seen[8] > 0);
}
