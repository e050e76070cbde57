/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_row: how a steps_*.c file defines a step of recipes, and functions that several of them
 * share.
 *
 * A step is in one place: the numbers of its arguments (an enum), its draw, and its row,
 * SL_STEP(name) = {...}. The line STEPS in CMakeLists.txt names all rows in the order of the table.
 * Functions of a row get arguments that are in range, in the row's order. Threads: pure.
 */
#ifndef SL_STEP_ROW_H
#define SL_STEP_ROW_H

#include "operations.h"
#include "steps.h"

#include <float.h>
#include <math.h>

/* Defines the row of a step. */
#define SL_STEP(name)                         \
    extern const sl_step_kind sl_step_##name; \
    const sl_step_kind sl_step_##name

/* ---- arguments: each is the initialiser of an sl_argument ---- */

enum { SL_SIDE_MAX = 16384 };

/* Far more than the rounding of a bound's sides (sl_step_kind.largest), far less than a pixel. */
#define SL_SIDE_SLACK 1e-6

/* A default: there is none, it must be given. */
#define SL_ARG_GIVEN                            ((double)NAN)
#define SL_ARG_REAL(name, least, most, preset)  name, SL_NUMBER_REAL, false, least, most, preset
#define SL_ARG_WHOLE(name, least, most, preset) name, SL_NUMBER_WHOLE, false, least, most, preset
#define SL_ARG_FLAG(name)                       SL_ARG_WHOLE(name, 0, 1, 0)
#define SL_ARG_SIDE(name)                       SL_ARG_WHOLE(name, 1, SL_SIDE_MAX, SL_ARG_GIVEN)
#define SL_ARG_BORDER(name)                     SL_ARG_WHOLE(name, 0, SL_SIDE_MAX, 0)
#define SL_ARG_PROBABILITY(preset)              SL_ARG_REAL("probability", 0, 1, preset)
/* Above 0. */
#define SL_ARG_SCALE(name, preset) name, SL_NUMBER_REAL, true, 0, 1, preset
#define SL_ARG_RATIO(name, preset) name, SL_NUMBER_REAL, true, 0, DBL_MAX, preset
/* Pixels scaled by more than 1000 are a picture no longer, and must fit in a float. */
#define SL_ARG_FACTOR(name, preset) name, SL_NUMBER_REAL, false, 0, 1000, preset
/* Beyond 1e9 a beta distribution is 1/2. */
#define SL_ARG_ALPHA(preset) "alpha", SL_NUMBER_REAL, true, 0, 1e9, preset
#define SL_ARG_END_EPOCH     "end_epoch", SL_NUMBER_WHOLE, false, 0, UINT32_MAX, 0
/* `words`: an array that ends with NULL. */
#define SL_ARG_WORD(name, words, preset) \
    name, SL_NUMBER_WORD, false, 0, SL_ARG_LAST_OF(words), preset, words
#define SL_ARG_LAST_OF(words)  (double)(int)(sizeof(words) / sizeof((words)[0]) - 2)
#define SL_ARG_RESIZED(preset) SL_ARG_WORD("interpolation", sl_resize_words, preset)
/* Warps lack Lanczos. */
#define SL_ARG_WARPED(preset) \
    "interpolation", SL_NUMBER_WORD, false, 0, SL_BICUBIC, preset, sl_resize_words
/* A list of 1 to `most_numbers` numbers, which must be given, as a step's last argument. */
#define SL_ARG_WHOLE_LIST(name, least, most, most_numbers) \
    name, SL_NUMBER_WHOLE, false, least, most, SL_ARG_GIVEN, NULL, most_numbers
/* Three arguments; sl_draw_fill reads them. */
#define SL_ARG_FILL(preset)                              \
    {"fill_r", SL_NUMBER_WHOLE, false, 0, 255, preset},  \
        {"fill_g", SL_NUMBER_WHOLE, false, -1, 255, -1}, \
    {                                                    \
        "fill_b", SL_NUMBER_WHOLE, false, -1, 255, -1    \
    }

/* In the order of sl_interpolation and of sl_pad_mode. */
extern const char *const sl_resize_words[5];
extern const char *const sl_pad_words[5];

/* ---- functions of rows ---- */

/* Returns the size after a step whose first two arguments are width and height. */
void sl_step_size_given(const double *arguments, uint32_t *width, uint32_t *height);
/* The size after a step depends on the draw. */
void sl_step_size_unknown(const double *arguments, uint32_t *width, uint32_t *height);
/* Returns the operations of a step that adds at most two: a crop and a resize, or a crop and a
 * border. */
uint32_t sl_step_two_operations(const double *arguments);

/* ---- parts of draws ---- */

/* Returns how many numbers a list has, at most `most`. */
static inline uint32_t sl_draw_list_count(const double *list, uint32_t most)
{
    uint32_t count = 0;
    while (count < most && !isnan(list[count])) {
        count++;
    }
    return count;
}

/* Returns true if an event of that probability happens. */
static inline bool sl_draw_happens(sl_drawing *drawing, double probability)
{
    return sl_random_unit(&drawing->random) < probability;
}

/* Reads a colour from three arguments, 0 to 255; the second and third may be -1: as the first. */
static inline void sl_draw_fill(const double *arguments, uint8_t fill[3])
{
    for (int c = 0; c < 3; c++) {
        const double value = arguments[c] < 0 ? arguments[0] : arguments[c];
        fill[c] = value > 0 ? (uint8_t)value : 0;
    }
}

/* Pixels around the image. */
typedef struct sl_padding {
    uint32_t left, top, right, bottom;
    sl_pad_mode mode;
    uint8_t fill[3];
} sl_padding;

/* Adds a padding, as one operation. UNSUPPORTED: too large. */
sluice_status sl_draw_padding(sl_drawing *drawing, const sl_padding *padding);

/* Computes the matrix of a rotation of a canvas of that size about its centre, from output to
 * input, like Pillow and torchvision; counterclockwise. */
void sl_rotation_matrix(double degrees, uint32_t width, uint32_t height, double matrix[9]);

#endif
