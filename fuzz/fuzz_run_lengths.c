/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_run_lengths: any bytes as a text of shapes, including run lengths: they are rejected with a
 * reason and a position, or drawn inside their box with as many pixels as their area. */
#include "fuzz.h"
#include "segmentation.h"

#include <string.h>

enum { PIXELS_MAX = 1 << 14, SCRATCH = 1 << 25, SIDE = 40, SMALL = 4096 };

static void check_mask(const sl_run_lengths *runs)
{
    static uint8_t pixels[PIXELS_MAX];
    const sl_mask mask = {pixels, runs->width, runs->width, runs->height, 1, NULL, NULL};
    const sl_rect box = sl_run_lengths_box(runs);
    uint64_t area = 0;
    fuzz_expect((uint64_t)box.x + box.width <= runs->width &&
                    (uint64_t)box.y + box.height <= runs->height,
                "the box is inside");
    fuzz_expect(runs->ends[runs->count - 1] == runs->width * runs->height, "runs are all pixels");
    if ((uint64_t)runs->width * runs->height > PIXELS_MAX)
        return;
    memset(pixels, 0, sizeof(pixels));
    sl_run_lengths_fill(runs, &mask);
    for (uint32_t i = 0; i < runs->width * runs->height; i++) {
        const uint32_t x = i % runs->width;
        const uint32_t y = i / runs->width;
        area += pixels[i];
        fuzz_expect(pixels[i] == 0 || (x >= box.x && x - box.x < box.width && y >= box.y &&
                                       y - box.y < box.height),
                    "pixels are in the box");
    }
    fuzz_expect(area == sl_run_lengths_area(runs), "pixels are the area");
}

static void check_all(const sl_instances *found, sl_scratch *scratch)
{
    static uint8_t pixels[SIDE * SIDE];
    const double matrix[9] = {.5, .1, -1, -.2, .6, 3, 0, 0, 1};
    const sl_mask mask = {pixels, SIDE, SIDE, SIDE, 1, NULL, NULL};
    sl_shape_view view = {.width = SIDE, .height = SIDE};
    memcpy(view.matrix, matrix, sizeof(matrix));
    for (uint32_t i = 0; i < found->count; i++) {
        sl_shape_box box;
        if (found->of[i].runs.width > 0)
            check_mask(&found->of[i].runs);
        const sluice_status status = sl_instances_rasterise(found, i, matrix, &mask, scratch, NULL);
        fuzz_expect(status == SLUICE_OK || status == SLUICE_UNSUPPORTED,
                    "accepted shapes are drawn");
        fuzz_expect(sl_instances_box(found, i, &view, scratch, &box, NULL) == SLUICE_OK, "a box");
    }
}

int fuzz_run(const uint8_t *data, size_t size)
{
    sl_scratch scratch;
    sl_instances found;
    sluice_error error = SLUICE_ERROR_INIT;
    if (size > FUZZ_INPUT_MAX)
        return 0;
    fuzz_expect(sl_scratch_open(&scratch, SCRATCH, SMALL, NULL) == SLUICE_OK, "memory");
    const sluice_status status =
        sl_segmentation_read((sl_bytes){data, size}, &scratch, NULL, &found, &error);
    fuzz_expect(sl_scratch_mark(&scratch) <= 32 * size + SMALL, "memory is bounded by the input");
    if (status == SLUICE_OK) {
        check_all(&found, &scratch);
    } else {
        fuzz_expect(status == SLUICE_CORRUPT && error.text[0] != '\0' && error.offset >= 0 &&
                        (size_t)error.offset <= size,
                    "a refusal has a reason and a place");
    }
    sl_scratch_close(&scratch);
    return 0;
}

static const char *const seeds[] = {
    "[[[1.5,2,30,4.25,17e0,38]],null,[],{\"size\":[10,12],\"counts\":[3,17,60,40]}]",
    "[{\"counts\":\"391H40011ON053HM0000021NO10O1010N010O0010\",\"size\":[22,4]}]",
    "[{\"size\":[162,70],\"counts\":\"\\\\R;\"},{\"size\":[4,4],\"counts\":[16]}, [ [0,0,9,0,9,9] "
    ", "
    "[5,5,30,2,8,31]]]",
    "[{\"size\":[5,29],\"counts\":\"k01>0F1j0O[O0M040G0:140\\u0046\"}]",
};

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    memcpy(buffer, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
