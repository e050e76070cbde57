/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_follow_rig: an image of 9 x 6 with a mask and made-up boxes, labels and points, as the
 * values of one row (columns_rig.h).
 */
#ifndef COLUMNS_FOLLOW_RIG_H
#define COLUMNS_FOLLOW_RIG_H

#include "columns_rig.h"
#include "png_make.h"

enum { ROWS = 3, WIDTH = 9, HEIGHT = 6, PIXELS = WIDTH * HEIGHT, BOXES_MAX = 4, WIDE = 64 };
enum { IMAGE, MASK, WIDE_MAP, FLAT, BOXES, PRECISE, LABELS, POINTS, FIELDS };

extern const sl_field follow_fields[FIELDS];

typedef struct follow_rig {
    columns_rig *rig;
    png_file picture, mask;
} follow_rig;

/* Usable as a test's setup and teardown. */
int follow_setup(void **state);
int follow_teardown(void **state);

/* Fails the test if adding fails. */
void add(const follow_rig *f, sluice_column column);
/* Adds the image with one step and two numbers. */
void add_image(const follow_rig *f, const char *step, double first, double second);
/* Adds the image as stored. */
void add_whole_image(const follow_rig *f);

/* Sets `count` rows of `inner` numbers each. */
void set_rows(const follow_rig *f, uint32_t field, const void *numbers, uint64_t count,
              uint64_t inner, size_t element);
void set_boxes(const follow_rig *f, const float (*boxes)[4], uint64_t count);
void set_labels(const follow_rig *f, const int64_t *labels, uint64_t count);
/* Expects making a row to fail so, and the error to name the field. */
void says(const follow_rig *f, sluice_status status, uint32_t field, const char *words);

#endif
