/* SPDX-License-Identifier: Apache-2.0 */
#include "canvas_make.h"

#include "jpeg_make.h"
#include "pillow.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, CONTENTS = 4, FEW = 8, THIN = 4 };

static canvas canvas_allocate(uint32_t width, uint32_t height)
{
    canvas made = {.width = width, .height = height, .bytes = (size_t)width * height * 3};
    made.pixels = malloc(made.bytes);
    assert(made.pixels != NULL);
    made.view = (sl_image){.pixels = made.pixels,
                           .width = width,
                           .height = height,
                           .channels = 3,
                           .stride_bytes = (size_t)width * 3,
                           .picture_width = width,
                           .picture_height = height,
                           .denominator = 1};
    return made;
}

canvas canvas_of(sl_random *random, uint32_t width, uint32_t height, uint32_t contents)
{
    canvas made = canvas_allocate(width, height);
    if (contents % CONTENTS == 3) {
        pattern_fill(made.pixels, width, height, 3, contents);
        return made;
    }
    for (size_t i = 0; i < made.bytes; i++) {
        const uint32_t noise = sl_random_below(random, 256);
        made.pixels[i] = (uint8_t)(contents % CONTENTS == 2 ? noise % 2 * 255 : noise);
    }
    return made;
}

canvas canvas_make(sl_random *random, uint32_t number, uint32_t side_max)
{
    uint32_t width = 1 + sl_random_below(random, side_max);
    uint32_t height = 1 + sl_random_below(random, side_max);
    switch (number % SIZES) {
    case 0:
        width = 1 + width % FEW;
        height = 1 + height % FEW;
        break;
    case 1:
        width = 1 + width % THIN;
        break;
    case 2:
        height = 1 + height % THIN;
        break;
    default:
        break;
    }
    return canvas_of(random, width, height, number / SIZES);
}

canvas canvas_empty(const canvas *like)
{
    return canvas_allocate(like->width, like->height);
}

void canvas_free(canvas *made)
{
    free(made->pixels);
    made->pixels = NULL;
}

sl_simd canvas_next_level(sl_simd level)
{
    level = level == SL_SIMD_SCALAR ? SL_SIMD_NEON : (sl_simd)(level + 1);
#if defined(__x86_64__)
    level = level == SL_SIMD_NEON ? SL_SIMD_AVX2 : level;
#endif
    return level <= sl_simd_best() ? level : SL_SIMD_SCALAR;
}

enum { LINE = 200 };

void canvas_batch_add(canvas_batch *batch, const canvas *in, const char *format, ...)
{
    char line[LINE];
    int length = snprintf(line, LINE, "%u %u ", in->width, in->height);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, LINE - (size_t)length, format, arguments);
    va_end(arguments);
    assert(length < LINE - 1);
    line[length++] = '\n';
    batch->pixels = realloc(batch->pixels, batch->bytes + in->bytes);
    batch->lines = realloc(batch->lines, batch->line_bytes + (size_t)length);
    assert(batch->pixels != NULL && batch->lines != NULL);
    memcpy(batch->pixels + batch->bytes, in->pixels, in->bytes);
    memcpy(batch->lines + batch->line_bytes, line, (size_t)length);
    batch->bytes += in->bytes;
    batch->line_bytes += (size_t)length;
}

const uint8_t *canvas_batch_answer(canvas_batch *batch)
{
    pillow oracle;
    pillow_open(&oracle);
    pillow_input(&oracle, 0, batch->pixels, batch->bytes);
    pillow_input(&oracle, 1, batch->lines, batch->line_bytes);
    (void)pillow_ask(&oracle, "batch 0 1");
    pillow_run(&oracle);
    pillow_answer(&oracle, 0, batch->pixels, batch->bytes);
    pillow_close(&oracle);
    return batch->pixels;
}

void canvas_batch_free(canvas_batch *batch)
{
    free(batch->pixels);
    free(batch->lines);
    *batch = (canvas_batch){.bytes = 0};
}
