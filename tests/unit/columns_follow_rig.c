/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "columns_follow_rig.h"

#include "error.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

const sl_field follow_fields[FIELDS] = {
    [IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [MASK] = {.name = "mask", .type = SLUICE_FIELD_IMAGE},
    [WIDE_MAP] = {.name = "wide",
                  .type = SLUICE_FIELD_TENSOR,
                  .dtype = SLUICE_F64,
                  .dims = 3,
                  .shape = {0, 0, WIDE}},
    [FLAT] = {.name = "flat", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2},
    [BOXES] = {.name = "boxes",
               .type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 2,
               .shape = {0, 4}},
    [PRECISE] = {.name = "precise",
                 .type = SLUICE_FIELD_TENSOR,
                 .dtype = SLUICE_F64,
                 .dims = 2,
                 .shape = {0, 4}},
    [LABELS] = {.name = "labels", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I64, .dims = 1},
    [POINTS] = {.name = "points",
                .type = SLUICE_FIELD_TENSOR,
                .dtype = SLUICE_F32,
                .dims = 2,
                .shape = {0, 2}},
};

int follow_setup(void **state)
{
    follow_rig *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->rig = columns_rig_open(follow_fields, FIELDS, ROWS);
    f->picture = png_make(WIDTH, HEIGHT, 1, &(png_options){.colour = 2});
    f->mask = png_make(WIDTH, HEIGHT, 2, &(png_options){.is_grey = true});
    set_bytes(f->rig, IMAGE, f->picture.data, f->picture.size);
    set_bytes(f->rig, MASK, f->mask.data, f->mask.size);
    *state = f;
    return 0;
}

int follow_teardown(void **state)
{
    follow_rig *f = *state;
    void *rig = f->rig;
    columns_rig_close(&rig);
    png_make_free(&f->picture);
    png_make_free(&f->mask);
    free(f);
    return 0;
}

void add(const follow_rig *f, sluice_column column)
{
    sluice_error error = SLUICE_ERROR_INIT;
    column.struct_size = sizeof(column);
    if (sluice_columns_add(f->rig->asked, &column) != SLUICE_OK) {
        sluice_columns_get_error(f->rig->asked, &error);
        fail_msg("%s", error.text);
    }
}

void add_image(const follow_rig *f, const char *step, double first, double second)
{
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, step, (const double[]){first, second}, 2),
                     SLUICE_OK);
    add(f, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                           .field = "image",
                           .recipe = recipe,
                           .dtype = SLUICE_U8,
                           .missing = SLUICE_MISSING_BLANK});
    sluice_augment_destroy(recipe);
}

void add_whole_image(const follow_rig *f)
{
    add_image(f, "center_crop", WIDTH, HEIGHT);
}

void set_rows(const follow_rig *f, uint32_t field, const void *numbers, uint64_t count,
              uint64_t inner, size_t element)
{
    set_bytes(f->rig, field, numbers, count * inner * element);
    value(f->rig, field)->shape[0] = count;
    value(f->rig, field)->shape[1] = inner;
}

void set_boxes(const follow_rig *f, const float (*boxes)[4], uint64_t count)
{
    set_rows(f, BOXES, boxes, count, 4, sizeof(float));
}

void set_labels(const follow_rig *f, const int64_t *labels, uint64_t count)
{
    set_rows(f, LABELS, labels, count, 1, sizeof(*labels));
}

void says(const follow_rig *f, sluice_status status, uint32_t field, const char *words)
{
    sluice_error error;
    assert_int_equal(make(f->rig, 0, &error), status);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
    assert_ptr_equal(f->rig->row->blame, value(f->rig, field));
}
