/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings of fields: which are valid, which remain when fields are selected, and their texts. */
#include "meaning.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { IMAGE, BOXES, LABELS, POINTS, SHAPES, MASK, WIDTH, HEIGHT, FIELDS };

/* COCO's fields. */
static const sl_field coco[FIELDS] = {
    [IMAGE] = {.name = "image",
               .type = SLUICE_FIELD_IMAGE,
               .meaning.orientation = SLUICE_ORIENTATION_BY_SIZE},
    [BOXES] = {.name = "boxes",
               .type = SLUICE_FIELD_TENSOR,
               .dtype = SLUICE_F32,
               .dims = 2,
               .shape = {0, 4},
               .meaning = {.role = SLUICE_ROLE_BOXES,
                           .box_format = SLUICE_BOX_XYWH,
                           .coordinates = SLUICE_COORDINATES_PIXELS,
                           .orientation = SLUICE_ORIENTATION_BY_SIZE}},
    [LABELS] = {.name = "labels",
                .type = SLUICE_FIELD_TENSOR,
                .dtype = SLUICE_I64,
                .dims = 1,
                .meaning.per_box = true},
    [POINTS] = {.name = "points",
                .type = SLUICE_FIELD_TENSOR,
                .dtype = SLUICE_F32,
                .dims = 3,
                .shape = {0, 17, 3},
                .meaning = {.role = SLUICE_ROLE_POINTS,
                            .coordinates = SLUICE_COORDINATES_INDICES,
                            .orientation = SLUICE_ORIENTATION_BY_SIZE,
                            .per_box = true,
                            .of = "boxes"}},
    [SHAPES] = {.name = "segmentation",
                .type = SLUICE_FIELD_TEXT,
                .meaning = {.role = SLUICE_ROLE_SHAPES, .per_box = true}},
    [MASK] = {.name = "mask",
              .type = SLUICE_FIELD_IMAGE,
              .meaning = {.role = SLUICE_ROLE_MASK, .orientation = SLUICE_ORIENTATION_BY_SIZE}},
    [WIDTH] = {.name = "width", .type = SLUICE_FIELD_INT, .meaning.role = SLUICE_ROLE_WIDTH},
    [HEIGHT] = {.name = "height", .type = SLUICE_FIELD_INT, .meaning.role = SLUICE_ROLE_HEIGHT},
};

TEST(fields_of_coco_can_be)
{
    sluice_error error;
    assert_int_equal(sl_meanings_check(coco, FIELDS, &error), SLUICE_OK);
    assert_false(sl_meaning_is_empty(&coco[LABELS].meaning));
    assert_true(sl_meaning_is_empty(&(sl_meaning){.role = SLUICE_ROLE_NONE}));
    assert_true(sl_meaning_is_same(&coco[BOXES].meaning, &coco[BOXES].meaning));
    assert_false(sl_meaning_is_same(&coco[BOXES].meaning, &coco[POINTS].meaning));
}

/* Changes one of COCO's fields, and expects an error with these words. */
static void expect_refusal(uint32_t number, sl_field changed, const char *words)
{
    sl_field fields[FIELDS];
    sluice_error error;
    memcpy(fields, coco, sizeof(fields));
    fields[number] = changed;
    assert_int_equal(sl_meanings_check(fields, FIELDS, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, words));
}

#define EXPECT_REFUSAL(number, member, value, words) \
    do {                                             \
        sl_field changed = coco[number];             \
        changed.member = value;                      \
        expect_refusal(number, changed, words);      \
    } while (0)

TEST(a_role_wants_a_type)
{
    EXPECT_REFUSAL(BOXES, shape[1], 5, "shape [0, 4]");
    EXPECT_REFUSAL(BOXES, dims, 1, "shape [0, 4]");
    EXPECT_REFUSAL(BOXES, dtype, SLUICE_BOOL, "shape [0, 4]");
    EXPECT_REFUSAL(BOXES, type, SLUICE_FIELD_TEXT, "shape [0, 4]");
    EXPECT_REFUSAL(POINTS, dims, 1, "at least 2 dimensions");
    EXPECT_REFUSAL(SHAPES, type, SLUICE_FIELD_BYTES, "shapes must be a text");
    EXPECT_REFUSAL(MASK, type, SLUICE_FIELD_INT, "an image or a tensor");
    EXPECT_REFUSAL(WIDTH, type, SLUICE_FIELD_FLOAT, "must be an int");
    EXPECT_REFUSAL(WIDTH, meaning.role, (sluice_role)7, "not a sluice_role");
}

TEST(members_want_a_role)
{
    EXPECT_REFUSAL(POINTS, meaning.box_format, SLUICE_BOX_XYXY, "can have a box format");
    EXPECT_REFUSAL(MASK, meaning.coordinates, SLUICE_COORDINATES_PIXELS, "can have coordinates");
    EXPECT_REFUSAL(LABELS, meaning.orientation, SLUICE_ORIENTATION_STORED,
                   "can have an orientation");
    EXPECT_REFUSAL(WIDTH, meaning.orientation, SLUICE_ORIENTATION_STORED,
                   "can have an orientation");
    EXPECT_REFUSAL(BOXES, meaning.per_box, true, "not boxes itself");
    EXPECT_REFUSAL(WIDTH, meaning.per_box, true, "must be a tensor");
    EXPECT_REFUSAL(HEIGHT, meaning.role, SLUICE_ROLE_NONE, "the role of a width and one with");
}

static sl_field of_field(uint32_t number, const char *of)
{
    sl_field field = coco[number];
    (void)snprintf(field.meaning.of, sizeof(field.meaning.of), "%s", of);
    return field;
}

TEST(of_names_a_field_of_its_kind)
{
    expect_refusal(LABELS, of_field(LABELS, "image"), "does not refer to a field of boxes");
    expect_refusal(LABELS, of_field(LABELS, "nothing"), "does not refer to a field of boxes");
    expect_refusal(LABELS, of_field(LABELS, "labels"), "does not refer to a field of boxes");
    expect_refusal(BOXES, of_field(BOXES, "labels"), "does not refer to an image");
    expect_refusal(BOXES, of_field(BOXES, "mask"), "does not refer to an image");
    expect_refusal(IMAGE, of_field(IMAGE, "image"), "only a field with a role");
    sl_field other = coco[HEIGHT];
    other.type = SLUICE_FIELD_IMAGE;
    other.meaning = (sl_meaning){.role = SLUICE_ROLE_NONE};
    sl_field two[FIELDS];
    sluice_error error;
    memcpy(two, coco, sizeof(two));
    two[SHAPES] = other;
    assert_int_equal(sl_meanings_check(two, FIELDS, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "several images"));
    assert_null(sl_meaning_refuse(two, FIELDS, BOXES)); /* only the description must be exact */
    memcpy(two, coco, sizeof(two));
    two[POINTS] = coco[BOXES];
    (void)snprintf(two[POINTS].name, sizeof(two[POINTS].name), "more");
    assert_int_equal(sl_meanings_check(two, FIELDS, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "several fields of boxes"));
    EXPECT_REFUSAL(BOXES, meaning, (sl_meaning){.role = SLUICE_ROLE_NONE}, "field of boxes");
}

/* Selecting fields drops meanings that no longer hold, and nothing else. */
TEST(a_choice_keeps_what_is_true)
{
    sl_field chosen[4] = {coco[IMAGE], coco[LABELS], coco[POINTS], coco[MASK]};
    sl_meanings_keep(chosen, 4);
    assert_int_equal(chosen[0].meaning.orientation, SLUICE_ORIENTATION_BY_SIZE);
    assert_false(chosen[1].meaning.per_box);
    assert_false(chosen[2].meaning.per_box);
    assert_string_equal(chosen[2].meaning.of, "");
    assert_int_equal(chosen[2].meaning.role, SLUICE_ROLE_POINTS);
    assert_int_equal(chosen[2].meaning.coordinates, SLUICE_COORDINATES_INDICES);
    assert_int_equal(chosen[2].meaning.orientation, SLUICE_ORIENTATION_BY_SIZE);
    assert_int_equal(chosen[3].meaning.orientation, SLUICE_ORIENTATION_BY_SIZE);
    sl_field all[FIELDS];
    memcpy(all, coco, sizeof(all));
    sl_meanings_keep(all, FIELDS);
    for (uint32_t i = 0; i < FIELDS; i++) {
        assert_true(sl_meaning_is_same(&all[i].meaning, &coco[i].meaning));
    }
}

TEST(words)
{
    static const char of_points[] = "points, in pixel numbers, one per box, of the stored or "
                                    "upright image, by width and height, of \"boxes\"";
    static const char *const wanted[FIELDS] = {
        [IMAGE] = "annotated as stored or upright, by width and height",
        [BOXES] = "boxes, xywh in pixels, of the stored or upright image, by width and height",
        [LABELS] = "one per box",
        [POINTS] = of_points,
        [SHAPES] = "shapes, one per box",
        [MASK] = "mask, of the stored or upright image, by its own size",
        [WIDTH] = "width",
        [HEIGHT] = "height",
    };
    char text[200];
    for (uint32_t i = 0; i < FIELDS; i++) {
        sl_meaning_text(&coco[i], text, sizeof(text));
        assert_string_equal(text, wanted[i]);
    }
    sl_meaning_text(&coco[BOXES], text, 12);
    assert_string_equal(text, "boxes, xywh");
    sl_field unknown = coco[BOXES];
    unknown.meaning = (sl_meaning){.role = SLUICE_ROLE_BOXES};
    sl_meaning_text(&unknown, text, sizeof(text));
    assert_string_equal(text, "boxes, of unknown format in unknown units");
    unknown.meaning = (sl_meaning){.role = SLUICE_ROLE_NONE};
    sl_meaning_text(&unknown, text, sizeof(text));
    assert_string_equal(text, "");
}
