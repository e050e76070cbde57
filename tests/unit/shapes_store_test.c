/* SPDX-License-Identifier: Apache-2.0 */
/* Tests copies of shapes: they draw the same, whatever was read since. */
#include "segmentation.h"
#include "shape_store.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 40, SHAPES = 6, TEXTS = 50 };
#define PIXELS ((size_t)SIDE * SIDE)

static sl_scratch scratch;
static sl_shape_store store;

static int open_all(void **state)
{
    (void)state;
    return sl_scratch_open(&scratch, 1 << 24, 1 << 16, NULL);
}

static int close_all(void **state)
{
    (void)state;
    sl_shape_store_close(&store);
    sl_scratch_close(&scratch);
    return 0;
}

/* Polygons of several parts, a mask, nothing, and a polygon without points. */
static sl_instances read_text(int number)
{
    char text[512];
    sl_instances found;
    sluice_error error = SLUICE_ERROR_INIT;
    (void)snprintf(
        text, sizeof(text),
        "[[[%d,2,30,5,20,33],[1,1,9,%d,4,12.5]],null,{\"size\":[8,7],\"counts\":[%d,11,%d]},"
        "[[]],[],[[3,3,%d.25,8,14,21,2,17]]]",
        number % 20, 10 + number % 9, number % 30, 45 - number % 30, 5 + number % 30);
    sl_scratch_reset(&scratch);
    if (sl_segmentation_read((sl_bytes){(const uint8_t *)text, strlen(text)}, &scratch, NULL,
                             &found, &error) != SLUICE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(found.count, SHAPES);
    return found;
}

static void draw(const sl_instances *shapes, uint32_t number, uint8_t pixels[PIXELS])
{
    static const double matrix[9] = {1.25, 0.1, 0.5, -0.1, 1.1, 1, 0, 0, 1};
    const sl_mask mask = {
        .pixels = pixels, .stride_bytes = SIDE, .width = SIDE, .height = SIDE, .value = 1};
    memset(pixels, 0, PIXELS);
    assert_int_equal(sl_instances_rasterise(shapes, number, matrix, &mask, &scratch, NULL),
                     SLUICE_OK);
}

/* Twice, since a cleared store has memory of another row. */
TEST_WITH(copies_are_drawn_as_the_shapes, open_all, close_all)
{
    static uint8_t wanted[TEXTS][SHAPES][PIXELS];
    static uint8_t found[PIXELS];
    for (int round = 0; round < 2; round++) {
        uint32_t covered = 0;
        sl_shape_store_clear(&store);
        for (int text = 0; text < TEXTS; text++) {
            const sl_instances shapes = read_text(text + 100 * round);
            for (uint32_t i = 0; i < SHAPES; i++) {
                draw(&shapes, i, wanted[text][i]);
                assert_int_equal(sl_shape_store_add(&store, &shapes, i, NULL), SLUICE_OK);
            }
            assert_int_equal(sl_shape_store_add_none(&store, NULL), SLUICE_OK);
        }
        (void)read_text(7);
        const sl_instances copies = sl_shape_store_all(&store);
        assert_int_equal(copies.count, TEXTS * (SHAPES + 1));
        for (uint32_t i = 0; i < copies.count; i++) {
            draw(&copies, i, found);
            if (i % (SHAPES + 1) < SHAPES)
                assert_memory_equal(found, wanted[i / (SHAPES + 1)][i % (SHAPES + 1)], PIXELS);
            covered += memchr(found, 1, PIXELS) != NULL;
        }
        assert_int_equal(covered, TEXTS * 3);
    }
}

TEST(an_empty_store_has_no_shapes)
{
    sl_shape_store empty = {.shape_count = 0};
    assert_int_equal(sl_shape_store_all(&empty).count, 0);
    sl_shape_store_clear(&empty);
    sl_shape_store_close(&empty);
    sl_shape_store_close(&empty);
}
