/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of all EXIF orientations and their annotations: the orientation in which they are decoded,
 * and boxes, points, shapes and masks that are rotated with them. The oracle is a table of where
 * each pixel goes.
 */
#include "columns_rig.h"
#include "error.h"
#include "png_make.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { W = 9, H = 6, PIXELS = W * H };
enum { IMAGE, BOXES, POINTS, TEXT, FLAT, WIDE, HIGH, FIELDS };

typedef struct turned_rig {
    sl_field fields[FIELDS];
    columns_rig *rig;
    png_file picture;
} turned_rig;

static sl_field tensor_of(const char *name, uint32_t dims, uint32_t inner)
{
    sl_field field = {
        .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = dims, .shape = {0, inner}};
    (void)snprintf(field.name, sizeof(field.name), "%s", name);
    return field;
}

static int turned_setup(void **state)
{
    turned_rig *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    t->fields[IMAGE] = (sl_field){.name = "image", .type = SLUICE_FIELD_IMAGE};
    t->fields[BOXES] = tensor_of("boxes", 2, 4);
    t->fields[POINTS] = tensor_of("points", 2, 3);
    t->fields[TEXT] = (sl_field){.name = "shapes", .type = SLUICE_FIELD_TEXT};
    t->fields[FLAT] = tensor_of("flat", 2, 0);
    t->fields[WIDE] = (sl_field){.name = "width", .type = SLUICE_FIELD_INT};
    t->fields[WIDE].meaning.role = SLUICE_ROLE_WIDTH;
    t->fields[HIGH] = (sl_field){.name = "height", .type = SLUICE_FIELD_INT};
    t->fields[HIGH].meaning.role = SLUICE_ROLE_HEIGHT;
    t->rig = columns_rig_open(t->fields, FIELDS, 2);
    t->rig->notices = sl_notices_open();
    assert_non_null(t->rig->notices);
    *state = t;
    return 0;
}

static void unbind(columns_rig *rig)
{
    sl_row_close(&rig->set, rig->row);
    sl_columns_close(&rig->set);
    for (size_t i = 0; i < SL_PARTS_MAX; i++) {
        free(rig->parts[i]);
        rig->parts[i] = NULL;
    }
    rig->asked->count = 0;
}

static int turned_teardown(void **state)
{
    turned_rig *t = *state;
    void *rig = t->rig;
    columns_rig_close(&rig);
    png_make_free(&t->picture);
    free(t);
    return 0;
}

/* ---- the oracle ---- */

static bool exchanges(int orientation)
{
    return orientation >= 5;
}

/* Finds the stored pixel shown at (x, y) of the upright image, from the stored size. */
static void stored_of(int orientation, int w, int h, int x, int y, int stored[2])
{
    const int table[9][2] = {{0, 0},         {x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y},
                             {x, h - 1 - y}, {y, x}, {y, h - 1 - x}, {w - 1 - y, h - 1 - x},
                             {w - 1 - y, x}};
    memcpy(stored, table[orientation], sizeof(table[orientation]));
}

/* Does the reverse by searching. */
static void upright_of(int orientation, int w, int h, int x, int y, int upright[2])
{
    const int columns = exchanges(orientation) ? h : w;
    for (int i = 0; i < PIXELS; i++) {
        int found[2];
        stored_of(orientation, w, h, i % columns, i / columns, found);
        if (found[0] == x && found[1] == y) {
            upright[0] = i % columns;
            upright[1] = i / columns;
            return;
        }
    }
    fail_msg("no pixel becomes %d, %d", x, y);
}

/* ---- requests ---- */

typedef struct asked {
    sluice_exif exif;
    sluice_orientation field, column; /* of the image and its followers; of columns */
} asked;

static void add(const turned_rig *t, sluice_column column)
{
    sluice_error error = SLUICE_ERROR_INIT;
    column.struct_size = sizeof(column);
    if (sluice_columns_add(t->rig->asked, &column) != SLUICE_OK) {
        sluice_columns_get_error(t->rig->asked, &error);
        fail_msg("%s", error.text);
    }
}

static void add_image(const turned_rig *t, const char *name)
{
    add(t, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                           .field = "image",
                           .name = name,
                           .dtype = SLUICE_U8,
                           .sizes = SLUICE_SIZES_PADDED,
                           .max_width = W,
                           .max_height = W});
}

static void bind_all(turned_rig *t, const asked *how)
{
    t->fields[IMAGE].meaning.orientation = how->field;
    for (uint32_t i = BOXES; i <= FLAT; i++) {
        t->fields[i].meaning.orientation = how->field;
    }
    t->fields[POINTS].meaning.coordinates = SLUICE_COORDINATES_INDICES;
    t->rig->exif = how->exif;
    add_image(t, "image");
    add(t, (sluice_column){
               .kind = SLUICE_COLUMN_BOXES, .field = "boxes", .orientation = (int32_t)how->column});
    add(t, (sluice_column){.kind = SLUICE_COLUMN_POINTS,
                           .field = "points",
                           .orientation = (int32_t)how->column});
    add(t, (sluice_column){.kind = SLUICE_COLUMN_INSTANCES,
                           .field = "shapes",
                           .length = 2,
                           .orientation = (int32_t)how->column});
    add(t, (sluice_column){
               .kind = SLUICE_COLUMN_MASK, .field = "flat", .orientation = (int32_t)how->column});
    add(t, (sluice_column){.kind = SLUICE_COLUMN_GEOMETRY, .name = "g"});
    must_bind(t->rig);
}

static void give_tensor(const turned_rig *t, uint32_t field, const void *numbers, uint64_t rows,
                        uint64_t inner)
{
    set_bytes(t->rig, field, numbers, rows * inner * sizeof(float));
    value(t->rig, field)->shape[0] = rows;
    value(t->rig, field)->shape[1] = inner;
}

static void give_side(const turned_rig *t, uint32_t field, int64_t side)
{
    *value(t->rig, field) = (sl_value){.present = true, .integer = side};
}

static void give_image(turned_rig *t, int w, int h, int orientation)
{
    png_make_free(&t->picture);
    t->picture = png_make((uint32_t)w, (uint32_t)h, 1,
                          &(png_options){.colour = 2, .orientation = orientation});
    set_bytes(t->rig, IMAGE, t->picture.data, t->picture.size);
}

/* Annotations in the upright image or in the stored one: a box, a point, the box as run lengths and
 * as a polygon, and a mask with the number of each stored pixel. */
enum { LEFT = 1, TOP = 2, RIGHT = 4, BOTTOM = 5, POINT_X = 3, POINT_Y = 0 };

typedef struct sample {
    float box[4], point[3], flat[PIXELS];
    char text[256];
} sample;

static void give_sample(turned_rig *t, sample *s, int orientation, bool upright)
{
    const int w = upright && exchanges(orientation) ? H : W;
    const int h = upright && exchanges(orientation) ? W : H;
    give_image(t, W, H, orientation);
    *s = (sample){.box = {LEFT, TOP, RIGHT, BOTTOM}, .point = {POINT_X, POINT_Y, 2}};
    give_tensor(t, BOXES, s->box, 1, 4);
    give_tensor(t, POINTS, s->point, 1, 3);
    for (int i = 0; i < PIXELS; i++) {
        int stored[2] = {i % w, i / w};
        if (upright) {
            stored_of(orientation, W, H, i % w, i / w, stored);
        }
        s->flat[i] = (float)(stored[1] * W + stored[0]);
    }
    give_tensor(t, FLAT, s->flat, (uint64_t)h, (uint64_t)w);
    const int up = BOTTOM - TOP;
    (void)snprintf(s->text, sizeof(s->text),
                   "[{\"size\":[%d,%d],\"counts\":[%d,%d,%d,%d,%d,%d,%d]},"
                   "[[%d,%d,%d,%d,%d,%d,%d,%d]]]",
                   h, w, LEFT * h + TOP, up, h - up, up, h - up, up, (w - RIGHT) * h + h - BOTTOM,
                   LEFT, TOP, RIGHT, TOP, RIGHT, BOTTOM, LEFT, BOTTOM);
    set_bytes(t->rig, TEXT, s->text, strlen(s->text));
    give_side(t, WIDE, w);
    give_side(t, HIGH, h);
}

/* Maps a pixel of the annotated image to its position in the decoded image. */
static void moved_to(int orientation, bool annotated, bool decoded, int x, int y, int to[2])
{
    to[0] = x;
    to[1] = y;
    if (annotated && !decoded) {
        stored_of(orientation, W, H, x, y, to);
    } else if (!annotated && decoded) {
        upright_of(orientation, W, H, x, y, to);
    }
}

/* A mask holds the stored position of each of its pixels. */
static void check_mask(const turned_rig *t, const char *name, int orientation, bool decoded)
{
    const float *flat = array(t->rig, name);
    const int w = decoded && exchanges(orientation) ? H : W;
    for (int i = 0; i < PIXELS; i++) {
        int stored[2] = {i % w, i / w};
        if (decoded) {
            stored_of(orientation, W, H, i % w, i / w, stored);
        }
        assert_true(flat[i] == (float)(stored[1] * W + stored[0]));
    }
}

static void check_sizes(const turned_rig *t, int w, int h)
{
    const int32_t *size = array(t->rig, "image.sizes");
    const int64_t *geometry = array(t->rig, "g.size");
    assert_true(size[0] == h && size[1] == w && geometry[0] == h && geometry[1] == w);
}

static void check_sample(const turned_rig *t, int orientation, bool annotated, bool decoded)
{
    const int w = decoded && exchanges(orientation) ? H : W;
    const float *box = array(t->rig, "boxes");
    const float *point = array(t->rig, "points");
    const uint8_t *masks = array(t->rig, "shapes");
    uint8_t expected[PIXELS] = {0};
    int to[2];
    check_sizes(t, w, W + H - w);
    for (int y = TOP; y < BOTTOM; y++) {
        for (int x = LEFT; x < RIGHT; x++) {
            moved_to(orientation, annotated, decoded, x, y, to);
            expected[to[1] * w + to[0]] = 1;
        }
    }
    assert_memory_equal(masks, expected, PIXELS);
    assert_memory_equal(masks + PIXELS, expected, PIXELS);
    for (int i = 0; i < PIXELS; i++) {
        const int x = i % w;
        const int y = i / w;
        const bool inside =
            (float)x >= box[0] && (float)x < box[2] && (float)y >= box[1] && (float)y < box[3];
        assert_int_equal(inside, expected[i]);
    }
    check_mask(t, "flat", orientation, decoded);
    moved_to(orientation, annotated, decoded, POINT_X, POINT_Y, to);
    assert_true(point[0] == (float)to[0] && point[1] == (float)to[1] && point[2] == 2);
}

/* Tests all orientations; `decoded`, `annotated`: upright. */
static void turn_all(turned_rig *t, const asked *how, bool annotated, bool decoded)
{
    sample s;
    bind_all(t, how);
    for (int orientation = 1; orientation <= 8; orientation++) {
        const bool told = exchanges(orientation) || orientation == 1;
        if (how->field == SLUICE_ORIENTATION_BY_SIZE && !told) {
            continue; /* below */
        }
        give_sample(t, &s, orientation, annotated);
        must_make(t->rig, 0);
        check_sample(t, orientation, annotated, decoded && orientation > 1);
    }
    unbind(t->rig);
}

#define AUTO    SLUICE_EXIF_AUTO
#define APPLY   SLUICE_EXIF_APPLY
#define IGNORE  SLUICE_EXIF_IGNORE
#define UNKNOWN SLUICE_ORIENTATION_AUTO
#define STORED  SLUICE_ORIENTATION_STORED
#define UPRIGHT SLUICE_ORIENTATION_UPRIGHT
#define BY_SIZE SLUICE_ORIENTATION_BY_SIZE

TEST_WITH(images_are_decoded_as_they_were_annotated, turned_setup, turned_teardown)
{
    turn_all(*state, &(asked){AUTO, UNKNOWN, UNKNOWN}, false, false);
    turn_all(*state, &(asked){AUTO, STORED, UNKNOWN}, false, false);
    turn_all(*state, &(asked){AUTO, UPRIGHT, UNKNOWN}, true, true);
    turn_all(*state, &(asked){AUTO, BY_SIZE, UNKNOWN}, true, true);
    turn_all(*state, &(asked){AUTO, BY_SIZE, UNKNOWN}, false, false);
}

TEST_WITH(what_was_annotated_the_other_way_up_is_turned, turned_setup, turned_teardown)
{
    turn_all(*state, &(asked){IGNORE, UPRIGHT, UNKNOWN}, true, false);
    turn_all(*state, &(asked){APPLY, STORED, UNKNOWN}, false, true);
    turn_all(*state, &(asked){APPLY, UPRIGHT, UNKNOWN}, true, true);
    turn_all(*state, &(asked){IGNORE, BY_SIZE, UNKNOWN}, true, false);
    turn_all(*state, &(asked){APPLY, BY_SIZE, UNKNOWN}, false, true);
    turn_all(*state, &(asked){APPLY, BY_SIZE, UNKNOWN}, true, true);
    turn_all(*state, &(asked){AUTO, UNKNOWN, UPRIGHT}, true, false);
    turn_all(*state, &(asked){APPLY, UNKNOWN, STORED}, false, true);
    turn_all(*state, &(asked){AUTO, UPRIGHT, STORED}, false, true);
}

/* ---- ambiguous sizes ---- */

static void fails(turned_rig *t, const char *words)
{
    sluice_error error;
    assert_int_equal(make(t->rig, 0, &error), SLUICE_CORRUPT);
    assert_ptr_equal(t->rig->row->blame, value(t->rig, IMAGE));
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
}

TEST_WITH(a_size_that_fits_neither_way_up, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    bind_all(t, &(asked){AUTO, BY_SIZE, UNKNOWN});
    give_sample(t, &s, 6, true);
    give_side(t, WIDE, 640);
    fails(t, "9 x 6 (width x height) as stored, 6 x 9 upright, but was annotated as 640 x 9");
    give_image(t, W, H, 1);
    give_side(t, HIGH, 480);
    fails(t, "the image is 9 x 6 (width x height), but was annotated as 640 x 480");
}

/* A half turn, and a square image. */
TEST_WITH(a_size_that_fits_both_ways_up, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    bind_all(t, &(asked){AUTO, BY_SIZE, UNKNOWN});
    give_sample(t, &s, 3, true);
    fails(t,
          "its annotated size does not show which way up it was annotated: give column \"boxes\"");
    fails(t, "orientation upright or stored");
    value(t->rig, HIGH)->present = false;
    fails(t, "no annotated size shows which way up it was annotated");
    give_image(t, W, H, 1); /* nothing to be decided */
    must_make(t->rig, 0);
    unbind(t->rig);
    bind_all(t, &(asked){AUTO, BY_SIZE, UPRIGHT});
    give_sample(t, &s, 3, true);
    must_make(t->rig, 0);
    check_sample(t, 3, true, false);
    unbind(t->rig);
    t->fields[IMAGE].meaning.orientation = BY_SIZE; /* nothing follows it: kept as stored */
    add_image(t, "image");
    must_bind(t->rig);
    must_make(t->rig, 0);
    give_image(t, H, H, 6);
    give_side(t, WIDE, H);
    give_side(t, HIGH, H);
    must_make(t->rig, 0);
}

TEST_WITH(nobody_knows_the_size, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sluice_error notice;
    sample s;
    t->fields[HIGH].meaning.role = SLUICE_ROLE_NONE;
    bind_all(t, &(asked){AUTO, BY_SIZE, UNKNOWN});
    assert_true(sl_notices_get(t->rig->notices, 0, &notice));
    assert_non_null(
        strstr(notice.text, "the dataset has no fields of them; images are decoded as stored"));
    give_sample(t, &s, 6, false);
    must_make(t->rig, 0);
    check_sample(t, 6, false, false);
}

/* A mask has the decoded image's size, or that size rotated by a quarter turn, or is unusable. */
TEST_WITH(a_mask_goes_by_its_own_size, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sluice_error error;
    sample s;
    for (int upright = 0; upright < 2; upright++) {
        t->rig->exif = upright ? APPLY : AUTO;
        add_image(t, "image");
        add(t, (sluice_column){.kind = SLUICE_COLUMN_MASK, .field = "flat"});
        must_bind(t->rig);
        for (int k = 0; k < 8; k++) {
            give_sample(t, &s, 5 + k / 2, k % 2 != 0);
            must_make(t->rig, 0);
            check_mask(t, "flat", 5 + k / 2, upright != 0);
        }
        give_sample(t, &s, 1, false);
        give_tensor(t, FLAT, s.flat, W, H);
        assert_int_equal(make(t->rig, 0, &error), SLUICE_UNSUPPORTED);
        assert_non_null(strstr(error.text, "\"flat\" is 9 x 6 (height x width)"));
        unbind(t->rig);
    }
}

static void bind_sized_mask(turned_rig *t, sluice_exif exif, sluice_orientation column)
{
    t->fields[FLAT].meaning = (sl_meaning){.role = SLUICE_ROLE_MASK, .orientation = BY_SIZE};
    t->rig->exif = exif;
    add_image(t, "image");
    add(t, (sluice_column){.kind = SLUICE_COLUMN_MASK,
                           .field = "flat",
                           .name = "m",
                           .missing = SLUICE_MISSING_BLANK,
                           .orientation = (int32_t)column});
    must_bind(t->rig);
}

static void give_square(turned_rig *t, sample *s, int orientation)
{
    give_sample(t, s, orientation, false);
    give_image(t, H, H, orientation);
    give_tensor(t, FLAT, s->flat, H, H);
}

/* A dataset of masks declares their orientation. */
TEST_WITH(a_mask_whose_size_does_not_tell, turned_setup, turned_teardown)
{
    static const sluice_exif ways[] = {AUTO, APPLY, IGNORE};
    turned_rig *t = *state;
    sample s;
    for (int i = 0; i < 3 * 8; i++) {
        const int orientation = i % 8 + 1;
        bind_sized_mask(t, ways[i / 8], UNKNOWN);
        for (int upright = 0; upright < 2; upright++) {
            const bool decoded = orientation > 1 && ways[i / 8] == APPLY;
            give_sample(t, &s, orientation, upright != 0);
            if (orientation == 1 || exchanges(orientation)) {
                must_make(t->rig, 0);
                check_mask(t, "m", orientation, decoded);
            } else {
                fails(t, "the size of \"flat\" does not show which way up it was drawn: give "
                         "column \"m\" orientation upright or stored");
            }
        }
        give_square(t, &s, orientation);
        if (orientation == 1) {
            must_make(t->rig, 0);
        } else {
            fails(t, "\"image\" is 6 x 6 and has the EXIF orientation");
        }
        value(t->rig, FLAT)->present = false; /* no mask could be misplaced */
        must_make(t->rig, 0);
        unbind(t->rig);
    }
}

TEST_WITH(a_mask_that_is_said_to_be_one_way_up, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    for (int i = 0; i < 2 * 2 * 8; i++) {
        const int orientation = i % 8 + 1;
        const bool upright = i / 8 % 2 != 0;
        const bool decoded = i / 16 != 0;
        bind_sized_mask(t, decoded ? APPLY : IGNORE, upright ? UPRIGHT : STORED);
        give_sample(t, &s, orientation, upright);
        must_make(t->rig, 0);
        check_mask(t, "m", orientation, decoded && orientation > 1);
        give_square(t, &s, orientation);
        must_make(t->rig, 0);
        unbind(t->rig);
    }
}

/* Two views share one image. */
TEST_WITH(views_are_the_same_way_up, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    t->fields[IMAGE].meaning.orientation = BY_SIZE;
    add_image(t, "one");
    add_image(t, "two");
    add(t, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes", .follows = "two"});
    must_bind(t->rig);
    assert_int_not_equal(t->rig->set.columns[0].views, 0);
    for (int annotated = 0; annotated < 2; annotated++) {
        give_sample(t, &s, 8, annotated != 0);
        must_make(t->rig, 0);
        const int32_t *one = array(t->rig, "one.sizes");
        assert_true(one[0] == (annotated ? W : H) && one[1] == (annotated ? H : W));
        assert_memory_equal(one, array(t->rig, "two.sizes"), 8);
        assert_memory_equal(array(t->rig, "one"), array(t->rig, "two"), (size_t)PIXELS * 3);
        assert_memory_equal(array(t->rig, "boxes"), s.box, sizeof(s.box));
    }
    give_sample(t, &s, 4, true); /* column one is made, and two then reports the error */
    fails(t, "give column \"boxes\"");
}

/* Fractions refer to the annotated image. */
TEST_WITH(shares_are_of_what_was_annotated, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    t->fields[BOXES].meaning =
        (sl_meaning){.coordinates = SLUICE_COORDINATES_RELATIVE, .orientation = UPRIGHT};
    t->fields[POINTS].meaning = t->fields[BOXES].meaning;
    add_image(t, "image");
    add(t, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .field = "boxes"});
    add(t, (sluice_column){.kind = SLUICE_COLUMN_POINTS, .field = "points"});
    must_bind(t->rig);
    give_sample(t, &s, 6, true);
    const float box[4] = {0.5F, 0, 1, 0.25F}; /* of 6 x 9: 3, 0, 6, 2.25 */
    const float point[3] = {0.25F, 0.5F, 1};  /* 1.5, 4.5 */
    give_tensor(t, BOXES, box, 1, 4);
    give_tensor(t, POINTS, point, 1, 3);
    must_make(t->rig, 0);
    /* x = y', y = 6 - x' */
    assert_memory_equal(array(t->rig, "boxes"), ((const float[]){0, 0, 2.25F, 3}), 16);
    assert_memory_equal(array(t->rig, "points"), ((const float[]){4.5F, 4.5F, 1}), 12);
}

/* ---- numbers of pixels ---- */

/* numpy: index w - 1 - x; column and row 0 stay visible. */
TEST_WITH(numbers_of_pixels_are_flipped_as_such, turned_setup, turned_teardown)
{
    turned_rig *t = *state;
    sample s;
    const float points[][3] = {{0, 0, 2}, {W - 1, H - 1, 2}, {3, 2, 1}, {W, 2, 2}, {5, 5, 0}};
    const float flipped[][3] = {
        {W - 1, H - 1, 2}, {0, 0, 2}, {W - 1 - 3, H - 1 - 2, 1}, {0, 0, 0}, {5, 5, 0}};
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "random_flip", (const double[]){1}, 1), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "random_vertical_flip", (const double[]){1}, 1),
                     SLUICE_OK);
    t->fields[POINTS].meaning.coordinates = SLUICE_COORDINATES_INDICES;
    add(t, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                           .field = "image",
                           .recipe = recipe,
                           .sizes = SLUICE_SIZES_PADDED,
                           .max_width = W,
                           .max_height = W});
    sluice_augment_destroy(recipe);
    add(t, (sluice_column){.kind = SLUICE_COLUMN_POINTS, .field = "points"});
    add(t, (sluice_column){
               .kind = SLUICE_COLUMN_POINTS, .field = "points", .name = "r", .out_relative = 1});
    must_bind(t->rig);
    give_sample(t, &s, 1, false);
    give_tensor(t, POINTS, points, 5, 3);
    must_make(t->rig, 0);
    assert_memory_equal(array(t->rig, "points"), flipped, sizeof(flipped));
    const float *shares = array(t->rig, "r");
    assert_true(shares[0] == (float)((W - 0.5) / W) && shares[1] == (float)((H - 0.5) / H));
    assert_true(shares[3] == (float)(0.5 / W) && shares[4] == (float)(0.5 / H));
}
