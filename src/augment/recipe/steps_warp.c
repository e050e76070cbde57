/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_warp: flips, rotations, affine maps, perspectives and elastic fields, with the draws and
 * matrices of torchvision 0.14, which for a rotation are Pillow's. Pure.
 */
#include "elastic.h"
#include "operations.h"
#include "portable_math.h"
#include "step_row.h"

#include <math.h>
#include <string.h>

#define DEGREE (3.14159265358979323846 / 180.0)

#define DEGREES(name, preset) name, SL_NUMBER_REAL, false, -360, 360, preset
#define SHEAR(name)           name, SL_NUMBER_REAL, false, -89, 89, 0

/* ---- flips ---- */

static sluice_status draw_random_flip(const double *arguments, sl_drawing *drawing)
{
    return sl_draw_happens(drawing, arguments[0]) ? sl_draw_flip(drawing, false) : SLUICE_OK;
}

SL_STEP(random_flip) = {.name = "random_flip",
                        .text = "mirrored left to right",
                        .stage = SL_STAGE_FLIP,
                        .stream = 2,
                        .arguments = {{SL_ARG_PROBABILITY(0.5)}},
                        .draw = draw_random_flip};

static sluice_status draw_random_vertical_flip(const double *arguments, sl_drawing *drawing)
{
    return sl_draw_happens(drawing, arguments[0]) ? sl_draw_flip(drawing, true) : SLUICE_OK;
}

SL_STEP(random_vertical_flip) = {.name = "random_vertical_flip",
                                 .text = "mirrored top to bottom",
                                 .stage = SL_STAGE_FLIP,
                                 .stream = 4,
                                 .arguments = {{SL_ARG_PROBABILITY(0.5)}},
                                 .draw = draw_random_vertical_flip};

/* ---- rotation ---- */

/* Python's round(value, 15), of values from -1 to 1: 0 and 1 are exact after it. The product has
 * fewer digits than the decision needs, so its rounding error is used, too. */
static double round_15(double value)
{
    const double scaled = value * 1e15;
    const double whole = nearbyint(scaled);
    const double left = scaled - whole + fma(value, 1e15, -scaled);
    const double nearest = left > 0.5 ? whole + 1 : left < -0.5 ? whole - 1 : whole;
    return nearest / 1e15;
}

/* Pillow's Image.rotate */
void sl_rotation_matrix(double degrees, uint32_t width, uint32_t height, double matrix[9])
{
    double turn = fmod(degrees, 360.0);
    turn = turn < 0 ? turn + 360.0 : turn;
    double sine;
    double cosine;
    sl_sine_cosine(-(turn * DEGREE), &sine, &cosine);
    const double c = round_15(cosine);
    const double s = round_15(sine);
    const double x = width / 2.0;
    const double y = height / 2.0;
    const double m[9] = {c, s, c * -x + s * -y + x, -s, c, -s * -x + c * -y + y, 0, 0, 1};
    memcpy(matrix, m, sizeof(m));
}

enum { ROTATION_MIN, ROTATION_MAX, ROTATION_INTERPOLATION, ROTATION_FILL };

static sluice_status draw_random_rotation(const double *arguments, sl_drawing *drawing)
{
    double matrix[9];
    uint8_t fill[3];
    const double degrees =
        sl_random_range(&drawing->random, arguments[ROTATION_MIN], arguments[ROTATION_MAX]);
    sl_draw_fill(arguments + ROTATION_FILL, fill);
    sl_rotation_matrix(degrees, drawing->width, drawing->height, matrix);
    return sl_draw_warp(drawing, matrix, drawing->width, drawing->height,
                        (sl_interpolation)(int)arguments[ROTATION_INTERPOLATION], fill);
}

static const char *random_rotation_mismatch(const double *arguments)
{
    return arguments[ROTATION_MIN] > arguments[ROTATION_MAX]
               ? "degrees_min must be at most degrees_max"
               : NULL;
}

SL_STEP(random_rotation) = {.name = "random_rotation",
                            .text = "rotated about its centre, counterclockwise",
                            .stage = SL_STAGE_GEOMETRY,
                            .cuts = true,
                            .stream = 6,
                            .arguments = {{DEGREES("degrees_min", SL_ARG_GIVEN)},
                                          {DEGREES("degrees_max", SL_ARG_GIVEN)},
                                          {SL_ARG_WARPED(SL_NEAREST)},
                                          SL_ARG_FILL(0)},
                            .mismatch = random_rotation_mismatch,
                            .draw = draw_random_rotation};

/* ---- affine ---- */

/* The draw of an affine map; angles in degrees. */
typedef struct affine_draw {
    double angle, translate[2], scale, shear[2];
} affine_draw;

/* Computes torchvision's _get_inverse_affine_matrix, about the centre: its operations in its order,
 * on the C library's results, so that the two have the same bits. */
static void affine_matrix(const affine_draw *d, uint32_t width, uint32_t height, double m[9])
{
    const sl_trigonometry angle = sl_rounded_trigonometry(d->angle * DEGREE);
    const sl_trigonometry across = sl_rounded_trigonometry(d->shear[0] * DEGREE);
    const sl_trigonometry down = sl_rounded_trigonometry(d->shear[1] * DEGREE);
    const sl_trigonometry rest =
        d->shear[1] == 0 ? angle
                         : sl_rounded_trigonometry(d->angle * DEGREE - d->shear[1] * DEGREE);
    const double tangent = across.tangent;
    const double x = width * 0.5;
    const double y = height * 0.5;
    const double a = rest.cosine / down.cosine;
    const double b = -rest.cosine * tangent / down.cosine - angle.sine;
    const double c = rest.sine / down.cosine;
    const double e = -rest.sine * tangent / down.cosine + angle.cosine;
    const double inverse[4] = {e / d->scale, -b / d->scale, -c / d->scale, a / d->scale};
    m[0] = inverse[0];
    m[1] = inverse[1];
    m[2] = inverse[0] * (-x - d->translate[0]) + inverse[1] * (-y - d->translate[1]) + x;
    m[3] = inverse[2];
    m[4] = inverse[3];
    m[5] = inverse[2] * (-x - d->translate[0]) + inverse[3] * (-y - d->translate[1]) + y;
    m[6] = m[7] = 0;
    m[8] = 1;
}

enum {
    AFFINE_DEGREES_MIN,
    AFFINE_DEGREES_MAX,
    AFFINE_TRANSLATE_X,
    AFFINE_TRANSLATE_Y,
    AFFINE_SCALE_MIN,
    AFFINE_SCALE_MAX,
    AFFINE_SHEAR_X_MIN,
    AFFINE_SHEAR_X_MAX,
    AFFINE_SHEAR_Y_MIN,
    AFFINE_SHEAR_Y_MAX,
    AFFINE_INTERPOLATION,
    AFFINE_FILL
};

static double draw_between(sl_drawing *drawing, const double *ends)
{
    return sl_random_range(&drawing->random, ends[0], ends[1]);
}

static sluice_status draw_random_affine(const double *arguments, sl_drawing *drawing)
{
    double matrix[9];
    uint8_t fill[3];
    affine_draw d = {.angle = draw_between(drawing, arguments + AFFINE_DEGREES_MIN)};
    for (int i = 0; i < 2; i++) {
        const double most =
            arguments[AFFINE_TRANSLATE_X + i] * (i == 0 ? drawing->width : drawing->height);
        d.translate[i] = nearbyint(sl_random_range(&drawing->random, -most, most));
    }
    d.scale = draw_between(drawing, arguments + AFFINE_SCALE_MIN);
    d.shear[0] = draw_between(drawing, arguments + AFFINE_SHEAR_X_MIN);
    d.shear[1] = draw_between(drawing, arguments + AFFINE_SHEAR_Y_MIN);
    sl_draw_fill(arguments + AFFINE_FILL, fill);
    affine_matrix(&d, drawing->width, drawing->height, matrix);
    return sl_draw_warp(drawing, matrix, drawing->width, drawing->height,
                        (sl_interpolation)(int)arguments[AFFINE_INTERPOLATION], fill);
}

static const char *random_affine_mismatch(const double *arguments)
{
    static const struct {
        int least;
        const char *text;
    } pairs[] = {{AFFINE_DEGREES_MIN, "degrees_min must be at most degrees_max"},
                 {AFFINE_SCALE_MIN, "scale_min must be at most scale_max"},
                 {AFFINE_SHEAR_X_MIN, "shear_x_min must be at most shear_x_max"},
                 {AFFINE_SHEAR_Y_MIN, "shear_y_min must be at most shear_y_max"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (arguments[pairs[i].least] > arguments[pairs[i].least + 1]) {
            return pairs[i].text;
        }
    }
    return NULL;
}

SL_STEP(random_affine) = {.name = "random_affine",
                          .text = "rotated, moved, scaled and sheared about its centre",
                          .stage = SL_STAGE_GEOMETRY,
                          .cuts = true,
                          .stream = 7,
                          .arguments = {{DEGREES("degrees_min", SL_ARG_GIVEN)},
                                        {DEGREES("degrees_max", SL_ARG_GIVEN)},
                                        {SL_ARG_REAL("translate_x", 0, 1, 0)},
                                        {SL_ARG_REAL("translate_y", 0, 1, 0)},
                                        {"scale_min", SL_NUMBER_REAL, true, 0, 1000, 1},
                                        {"scale_max", SL_NUMBER_REAL, true, 0, 1000, 1},
                                        {SHEAR("shear_x_min")},
                                        {SHEAR("shear_x_max")},
                                        {SHEAR("shear_y_min")},
                                        {SHEAR("shear_y_max")},
                                        {SL_ARG_WARPED(SL_NEAREST)},
                                        SL_ARG_FILL(0)},
                          .mismatch = random_affine_mismatch,
                          .draw = draw_random_affine};

/* ---- perspective ---- */

/* Gauss's elimination with the largest pivot. False: there is no solution. */
static bool solve_8(double rows[8][9])
{
    for (size_t i = 0; i < 8; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < 8; j++) {
            best = fabs(rows[j][i]) > fabs(rows[best][i]) ? j : best;
        }
        if (!(fabs(rows[best][i]) > 1e-12)) {
            return false;
        }
        double swap[9];
        memcpy(swap, rows[i], sizeof(swap));
        memcpy(rows[i], rows[best], sizeof(swap));
        memcpy(rows[best], swap, sizeof(swap));
        for (size_t j = 0; j < 8; j++) {
            const double factor = j == i ? 0 : rows[j][i] / rows[i][i];
            for (size_t k = i; k < 9; k++) {
                rows[j][k] -= factor * rows[i][k];
            }
        }
    }
    return true;
}

/* The map that takes each of four points to another. False: there is none. */
static bool perspective_matrix(double from[4][2], double to[4][2], double matrix[9])
{
    double rows[8][9];
    for (size_t i = 0; i < 4; i++) {
        const double x = from[i][0];
        const double y = from[i][1];
        for (size_t axis = 0; axis < 2; axis++) {
            const double value = to[i][axis];
            const double across[3] = {axis == 0 ? x : 0, axis == 0 ? y : 0, axis == 0 ? 1 : 0};
            const double down[3] = {axis == 1 ? x : 0, axis == 1 ? y : 0, axis == 1 ? 1 : 0};
            double *row = rows[2 * i + axis];
            memcpy(row, across, sizeof(across));
            memcpy(row + 3, down, sizeof(down));
            row[6] = -value * x;
            row[7] = -value * y;
            row[8] = value;
        }
    }
    if (!solve_8(rows)) {
        return false;
    }
    for (size_t i = 0; i < 8; i++) {
        matrix[i] = rows[i][8] / rows[i][i];
    }
    matrix[8] = 1;
    return true;
}

enum {
    PERSPECTIVE_DISTORTION,
    PERSPECTIVE_PROBABILITY,
    PERSPECTIVE_INTERPOLATION,
    PERSPECTIVE_FILL
};

/* torchvision's RandomPerspective.get_params: corners move inwards by whole pixels. */
static sluice_status draw_random_perspective(const double *arguments, sl_drawing *drawing)
{
    uint8_t fill[3];
    double matrix[9];
    double moved[4][2];
    const double right = drawing->width - 1.0;
    const double bottom = drawing->height - 1.0;
    double corners[4][2] = {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}};
    if (!sl_draw_happens(drawing, arguments[PERSPECTIVE_PROBABILITY])) {
        return SLUICE_OK;
    }
    for (size_t i = 0; i < 4; i++) {
        for (size_t axis = 0; axis < 2; axis++) {
            const uint32_t half = (axis == 0 ? drawing->width : drawing->height) / 2;
            const uint32_t reach = (uint32_t)(arguments[PERSPECTIVE_DISTORTION] * half);
            const double by = sl_random_below(&drawing->random, reach + 1);
            moved[i][axis] = corners[i][axis] > 0 ? corners[i][axis] - by : by;
        }
    }
    sl_draw_fill(arguments + PERSPECTIVE_FILL, fill);
    if (!perspective_matrix(moved, corners, matrix)) {
        return SLUICE_OK; /* an image of one row or column has nothing to rotate about */
    }
    return sl_draw_warp(drawing, matrix, drawing->width, drawing->height,
                        (sl_interpolation)(int)arguments[PERSPECTIVE_INTERPOLATION], fill);
}

SL_STEP(random_perspective) = {.name = "random_perspective",
                               .text = "seen from a random direction",
                               .stage = SL_STAGE_GEOMETRY,
                               .cuts = true,
                               .stream = 8,
                               .arguments = {{SL_ARG_REAL("distortion", 0, 1, 0.5)},
                                             {SL_ARG_PROBABILITY(0.5)},
                                             {SL_ARG_WARPED(SL_BILINEAR)},
                                             SL_ARG_FILL(0)},
                               .draw = draw_random_perspective};

/* ---- elastic ---- */

enum {
    ELASTIC_ALPHA_X,
    ELASTIC_ALPHA_Y,
    ELASTIC_SIGMA_X,
    ELASTIC_SIGMA_Y,
    ELASTIC_INTERPOLATION,
    ELASTIC_FILL
};

#define ALPHA(name) SL_ARG_REAL(name, 0, SL_ELASTIC_ALPHA_MAX, 50)
#define SIGMA(name) SL_ARG_REAL(name, 0, SL_ELASTIC_SIGMA_MAX, 5)

static sluice_status draw_elastic_transform(const double *arguments, sl_drawing *drawing)
{
    double values[SL_OPERATION_VALUES] = {0};
    uint8_t fill[3];
    const uint64_t high = sl_random_u32(&drawing->random);
    const uint64_t key = high << 32 | sl_random_u32(&drawing->random);
    memcpy(values, arguments, ELASTIC_FILL * sizeof(*values));
    sl_draw_fill(arguments + ELASTIC_FILL, fill);
    for (size_t c = 0; c < 3; c++) {
        values[SL_ELASTIC_FILL + c] = fill[c];
    }
    return sl_draw_elastic(drawing, values, key);
}

static const char *elastic_transform_mismatch(const double *arguments)
{
    return (arguments[ELASTIC_SIGMA_X] > 0) != (arguments[ELASTIC_SIGMA_Y] > 0)
               ? "sigma_x and sigma_y must both be 0, or both above 0"
               : NULL;
}

_Static_assert((int)ELASTIC_INTERPOLATION == (int)SL_ELASTIC_INTERPOLATION,
               "as the operation has them");

SL_STEP(elastic_transform) = {.name = "elastic_transform",
                              .text = "each pixel moved by a smooth random field",
                              .stage = SL_STAGE_GEOMETRY,
                              .bends = true,
                              .stream = 47,
                              .arguments = {{ALPHA("alpha_x")},
                                            {ALPHA("alpha_y")},
                                            {SIGMA("sigma_x")},
                                            {SIGMA("sigma_y")},
                                            {"interpolation", SL_NUMBER_WORD, false, 0, SL_BILINEAR,
                                             SL_BILINEAR, sl_resize_words},
                                            SL_ARG_FILL(0)},
                              .mismatch = elastic_transform_mismatch,
                              .draw = draw_elastic_transform};
