/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_detection_draws: prints the draws of steps, which augment_detection_model.py checks.
 *
 * Commands on standard input, one per line, and their answers:
 *   begin WIDTH HEIGHT EXACT [X1 Y1 X2 Y2]...   none; starts an image with these boxes
 *   step NAME SAMPLE NUMBERS ARGUMENT...        NUMBERS times "u32" of its stream, then as "size"
 *   member NUMBER EPOCH                         none; selects the image of the row
 *   trail                                       "m0 ... m8 absent" so far
 *   crop X Y W H, resize W H, flip VERTICAL, warp M0 ... M8 W H, pad L T R B, grey      none
 *   size    "W H passes", then "source x y w h, raster w h, window x y, fill r g b" of the last box
 *   boxes   "x1 y1 x2 y2" or "none" for each box, each followed by ";"
 */
#include "geometry.h"
#include "operations.h"
#include "recipe.h"
#include "step_row.h"
#include "whole_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES_MAX = 64, WORDS_MAX = 300, LINE_MAX = 1 << 15 };

STATIC_PARAMS(params);
static sl_drawing drawing;
static float boxes[BOXES_MAX][4];

typedef struct question {
    char *words[WORDS_MAX];
    uint32_t count;
} question;

static double number(const question *q, uint32_t i)
{
    if (i >= q->count) {
        fprintf(stderr, "%s: a number is missing\n", q->words[0]);
        exit(EXIT_FAILURE);
    }
    return strtod(q->words[i], NULL);
}

static void expect(sluice_status status)
{
    if (status != SLUICE_OK) {
        fprintf(stderr, "%s\n", drawing.error->text);
        exit(EXIT_FAILURE);
    }
}

static void begin(const question *q)
{
    static sluice_error error = SLUICE_ERROR_INIT;
    sl_drawing_begin(&drawing, &params, (uint32_t)number(q, 1), (uint32_t)number(q, 2),
                     number(q, 3) != 0, &error);
    drawing.boxes = (const float(*)[4])boxes;
    for (uint32_t i = 4; i < q->count; i++) {
        boxes[(i - 4) / 4][i % 4] = (float)number(q, i);
    }
    drawing.box_count = (q->count - 4) / 4;
}

static void print_size(void)
{
    const sl_geometry *g = &params.geometries[params.geometry_count - 1];
    const sl_mapping *m = &g->box;
    printf("%u %u %u %u %u %u %u %u %u %d %d %u %u %u\n", drawing.width, drawing.height,
           params.operation_count, m->source.x, m->source.y, m->source.width, m->source.height,
           m->virtual_width, m->virtual_height, m->window_x, m->window_y, g->fill[0], g->fill[1],
           g->fill[2]);
}

static void step(const question *q)
{
    double arguments[SL_STEP_ARGUMENTS_MAX];
    const sl_step_kind *kind = sl_step_find(q->words[1]);
    const sl_draw_key key = {.seed = 9, .epoch = 2, .sample = (uint64_t)number(q, 2)};
    for (uint32_t i = 0; i < SL_STEP_ARGUMENTS_MAX; i++) {
        arguments[i] =
            4 + i < q->count ? number(q, 4 + i) : sl_step_preset(kind, i, (uint32_t)q->count - 4);
    }
    drawing.random = sl_recipe_random(&key, kind->stream);
    sl_random again = drawing.random;
    for (uint32_t i = 0; i < (uint32_t)number(q, 3); i++) {
        printf("%u ", sl_random_u32(&again));
    }
    printf("\n");
    expect(kind->draw(arguments, &drawing));
    print_size();
}

static void print_trail(void)
{
    for (size_t i = 0; i < 9; i++) {
        printf("%.17g ", params.trail.matrix[i]);
    }
    printf("%d\n", params.absent);
}

static void print_boxes(void)
{
    for (uint32_t i = 0; i < drawing.box_count; i++) {
        float at[4];
        if (sl_drawing_box(&drawing, boxes[i], at)) {
            printf("%.9g %.9g %.9g %.9g;", (double)at[0], (double)at[1], (double)at[2],
                   (double)at[3]);
        } else {
            printf("none;");
        }
    }
    printf("\n");
}

static void move(const question *q)
{
    static const uint8_t black[3] = {0, 0, 0};
    const char *word = q->words[0];
    if (strcmp(word, "crop") == 0) {
        expect(sl_draw_crop(&drawing, (int64_t)number(q, 1), (int64_t)number(q, 2),
                            (uint32_t)number(q, 3), (uint32_t)number(q, 4), black));
    } else if (strcmp(word, "resize") == 0) {
        expect(
            sl_draw_resize(&drawing, (uint32_t)number(q, 1), (uint32_t)number(q, 2), SL_BILINEAR));
    } else if (strcmp(word, "flip") == 0) {
        expect(sl_draw_flip(&drawing, number(q, 1) != 0));
    } else if (strcmp(word, "warp") == 0) {
        double matrix[9];
        for (uint32_t i = 0; i < 9; i++) {
            matrix[i] = number(q, i + 1);
        }
        expect(sl_draw_warp(&drawing, matrix, (uint32_t)number(q, 10), (uint32_t)number(q, 11),
                            SL_BILINEAR, black));
    } else if (strcmp(word, "pad") == 0) {
        expect(sl_draw_padding(&drawing, &(sl_padding){.left = (uint32_t)number(q, 1),
                                                       .top = (uint32_t)number(q, 2),
                                                       .right = (uint32_t)number(q, 3),
                                                       .bottom = (uint32_t)number(q, 4),
                                                       .mode = SL_PAD_EDGE}));
    } else if (strcmp(word, "grey") == 0) {
        (void)sl_draw_operation(&drawing, &sl_operation_grey);
    } else {
        fprintf(stderr, "%s?\n", word);
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    static char line[LINE_MAX];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        question q = {.count = 0};
        for (char *word = strtok(line, " \n"); word != NULL && q.count < WORDS_MAX;
             word = strtok(NULL, " \n")) {
            q.words[q.count++] = word;
        }
        if (q.count == 0) {
            continue;
        }
        if (strcmp(q.words[0], "begin") == 0) {
            begin(&q);
        } else if (strcmp(q.words[0], "step") == 0) {
            step(&q);
        } else if (strcmp(q.words[0], "size") == 0) {
            print_size();
        } else if (strcmp(q.words[0], "boxes") == 0) {
            print_boxes();
        } else if (strcmp(q.words[0], "member") == 0) {
            drawing.member = (uint32_t)number(&q, 1);
            drawing.epoch = (uint64_t)number(&q, 2);
        } else if (strcmp(q.words[0], "trail") == 0) {
            print_trail();
        } else {
            move(&q);
        }
        fflush(stdout);
    }
    return 0;
}
