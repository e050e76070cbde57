/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_boxes: any numbers as the boxes of an image, in any format, as many as their shape claims.
 * The result is a bad sample with a reason, or finite boxes inside the output, within their
 * column's bounds, with a label each. There are never more boxes than the column holds, and a good
 * sample afterwards is unaffected.
 *
 * An input is a head (the column, the recipe, and the claims of shapes), then the numbers. */
#include "fuzz.h"

#include "columns.h"
#include "draw_memory.h"
#include "memory.h"
#include "png_make.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 40, HEIGHT = 30, SIDE = 24, LENGTH = 6, GUARD = 64, SLACK = 1, KINDS = 64 };
enum { FIELD_IMAGE, FIELD_BOXES, FIELD_PRECISE, FIELD_LABELS, FIELDS };
/* Bytes of the head. */
enum { AT_KIND, AT_SEED, AT_LIE, AT_COUNT, AT_LABELS = AT_COUNT + 8, HEAD = AT_LABELS + 8 };
/* Bits of the kind: the stored format is the kind modulo 3. */
enum { RELATIVE = 1, PADDED = 2, PRECISE = 4, STRICT = 8, TURNS = 16, TRUNCATES = 32 };

static const sl_field fields[FIELDS] = {
    {.name = "image", .type = SLUICE_FIELD_IMAGE},
    {.name = "boxes", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2, .shape = {0, 4}},
    {.name = "precise",
     .type = SLUICE_FIELD_TENSOR,
     .dtype = SLUICE_F64,
     .dims = 2,
     .shape = {0, 4}},
    {.name = "labels", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I64, .dims = 1},
};

/* Columns of one kind, and the arrays of a slot of one row. */
typedef struct box_rig {
    sl_column_set set;
    sl_row row;
    uint8_t *parts[SL_PARTS_MAX];
    png_file picture;
} box_rig;

static sluice_augment *recipe_of(unsigned kind)
{
    sluice_augment *recipe = NULL;
    bool fine = sluice_augment_create(&recipe) == SLUICE_OK;
    if ((kind & TURNS) != 0) {
        fine = fine && sluice_augment_add(recipe, "random_rotation", (const double[]){-60, 60},
                                          2) == SLUICE_OK;
    }
    fine = fine && sluice_augment_add(recipe, "random_flip", (const double[]){0.5}, 1) == SLUICE_OK;
    fine =
        fine && sluice_augment_add(recipe, "resize", (const double[]){SIDE, SIDE}, 2) == SLUICE_OK;
    fuzz_expect(fine, "a recipe");
    return recipe;
}

static void add_column(sluice_columns *columns, sluice_column column)
{
    column.struct_size = sizeof(column);
    fuzz_expect(sluice_columns_add(columns, &column) == SLUICE_OK, "a column");
}

static void add_columns(sluice_columns *columns, unsigned kind, const sluice_augment *recipe)
{
    const bool strict = (kind & STRICT) != 0;
    const int32_t too_long =
        (kind & TRUNCATES) != 0 ? SLUICE_TOO_LONG_TRUNCATE : SLUICE_TOO_LONG_BAD;
    add_column(columns, (sluice_column){.kind = SLUICE_COLUMN_IMAGE,
                                        .field = "image",
                                        .recipe = recipe,
                                        .dtype = SLUICE_U8});
    add_column(columns, (sluice_column){.kind = SLUICE_COLUMN_BOXES,
                                        .field = (kind & PRECISE) != 0 ? "precise" : "boxes",
                                        .name = "b",
                                        .length = LENGTH,
                                        .too_long = too_long,
                                        .box_format = (int32_t)(kind % 3) + 1,
                                        .relative = (kind & RELATIVE) != 0,
                                        .padded = (kind & PADDED) != 0,
                                        .at_least_one = strict,
                                        .min_size = strict ? 2 : 0,
                                        .min_visibility = strict ? 0.5 : 0,
                                        .max_aspect = strict ? 4 : 0});
    add_column(columns, (sluice_column){.kind = SLUICE_COLUMN_PADDED,
                                        .field = "labels",
                                        .length = LENGTH,
                                        .too_long = too_long,
                                        .follows = "b"});
}

static box_rig *rig_open(unsigned kind)
{
    sluice_columns *columns = NULL;
    box_rig *rig = calloc(1, sizeof(*rig));
    sluice_augment *recipe = recipe_of(kind);
    const sl_decoder_config config = {.max_pixels = 1 << 16, .max_unpacked_bytes = 1 << 16};
    fuzz_expect(rig != NULL && sluice_columns_create(&columns) == SLUICE_OK &&
                    sl_decoder_open(&rig->row.decoder, &config, NULL) == SLUICE_OK,
                "memory");
    add_columns(columns, kind, recipe);
    const sl_columns_config asked = {.asked = columns, .fields = fields, .field_count = FIELDS};
    fuzz_expect(sl_columns_bind(&rig->set, &asked, NULL) == SLUICE_OK, "columns");
    void *draws = calloc(1, sl_draw_memory_bytes(&rig->set));
    fuzz_expect(draws != NULL, "memory");
    sl_draw_memory_place(&rig->set, &rig->row, draws);
    fuzz_expect(sl_row_open(&rig->set, &rig->row, NULL) == SLUICE_OK, "memory");
    for (uint32_t i = 0; i < rig->set.part_count; i++) {
        rig->parts[i] = malloc(sl_part_bytes(&rig->set.parts[i], 1) + GUARD);
        fuzz_expect(rig->parts[i] != NULL, "memory");
    }
    rig->picture = png_make(WIDTH, HEIGHT, 1, &(png_options){.filter = 1});
    sluice_augment_destroy(recipe);
    sluice_columns_destroy(columns);
    return rig;
}

/* ---- samples ---- */

static void set_value(box_rig *rig, uint32_t field, const void *bytes, size_t size, uint64_t rows)
{
    rig->row.values.of[field] = (sl_value){
        .present = true, .bytes = {bytes, size}, .shape = {rows, field == FIELD_LABELS ? 1 : 4}};
}

static sluice_status make_row(box_rig *rig, sluice_error *error)
{
    set_value(rig, FIELD_IMAGE, rig->picture.data, rig->picture.size, 0);
    for (uint32_t i = 0; i < rig->set.part_count; i++) {
        memset(rig->parts[i], 0xA5, sl_part_bytes(&rig->set.parts[i], 1) + GUARD);
    }
    rig->row.at = (sl_row_place){.index = 5};
    return sl_columns_make(&rig->set, &rig->row, rig->parts, error);
}

static const void *box_part(const box_rig *rig, const char *name)
{
    for (uint32_t i = 0; i < rig->set.part_count; i++) {
        if (strcmp(rig->set.parts[i].name, name) == 0) {
            return rig->parts[i];
        }
    }
    fuzz_expect(false, "a part of that name");
    return NULL;
}

static void check_guards(const box_rig *rig)
{
    for (uint32_t i = 0; i < rig->set.part_count; i++) {
        const uint8_t *end = rig->parts[i] + sl_part_bytes(&rig->set.parts[i], 1);
        for (int k = 0; k < GUARD; k++) {
            fuzz_expect(end[k] == 0xA5, "nothing is written behind a row");
        }
    }
}

static void check_box(const float box[4], bool strict)
{
    const double least = strict ? 2 : 1;
    for (int k = 0; k < 4; k++) {
        fuzz_expect(box[k] >= 0 && box[k] <= SIDE, "a box is in the output, and finite");
    }
    const double width = (double)box[2] - (double)box[0];
    const double height = (double)box[3] - (double)box[1];
    fuzz_expect(width >= least && height >= least, "a box is as large as it has to be");
    fuzz_expect(!strict || (width <= 4 * height && height <= 4 * width), "a box is not too long");
}

static void check_row(const box_rig *rig, unsigned kind, const int64_t *labels, uint64_t stored)
{
    const float *boxes = box_part(rig, "b");
    const int64_t *made = box_part(rig, "labels");
    const int64_t count = *(const int64_t *)box_part(rig, "labels.lengths");
    fuzz_expect(count >= 0 && count <= LENGTH, "no more than there is space for");
    if ((kind & PADDED) != 0) {
        fuzz_expect(*(const int64_t *)box_part(rig, "b.lengths") == count, "a label for each box");
    }
    uint64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        check_box(boxes + 4 * i, (kind & STRICT) != 0);
        while (at < stored && labels[at] != made[i]) {
            at++;
        }
        fuzz_expect(at++ < stored, "labels are stored ones, in their order");
    }
}

static void check_good_sample(box_rig *rig, unsigned kind)
{
    static const float whole[3][4] = {{0, 0, 1, 1}, {0, 0, 1, 1}, {.5F, .5F, 1, 1}};
    static const int64_t label = 77;
    sluice_error error = SLUICE_ERROR_INIT;
    double box[4];
    float single[4];
    for (int k = 0; k < 4; k++) {
        const int side = k % 2 == 0 ? WIDTH : HEIGHT;
        single[k] = whole[kind % 3][k] * (float)((kind & RELATIVE) != 0 ? 1 : side);
        box[k] = single[k];
    }
    set_value(rig, FIELD_BOXES, single, sizeof(single), 1);
    set_value(rig, FIELD_PRECISE, box, sizeof(box), 1);
    set_value(rig, FIELD_LABELS, &label, sizeof(label), 1);
    fuzz_expect(make_row(rig, &error) == SLUICE_OK, "a good sample is made");
    check_row(rig, kind, &label, 1);
    fuzz_expect(*(const int64_t *)box_part(rig, "labels.lengths") == 1, "its box is kept");
}

/* ---- inputs ---- */

/* The number of boxes that a shape claims: the true one, or any. */
static uint64_t claimed(const uint8_t *head, uint32_t at, bool lies, uint64_t there)
{
    uint64_t claim = 0;
    memcpy(&claim, head + at, sizeof(claim));
    return lies ? claim : there;
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static box_rig *rigs[KINDS];
    if (size < HEAD || size > FUZZ_INPUT_MAX)
        return 0;
    const unsigned kind = data[AT_KIND] % KINDS;
    if (rigs[kind] == NULL)
        rigs[kind] = rig_open(kind);
    box_rig *rig = rigs[kind];
    const size_t bytes = size - HEAD;
    const size_t box_bytes = 4 * ((kind & PRECISE) != 0 ? sizeof(double) : sizeof(float));
    const uint64_t boxes = claimed(data, AT_COUNT, (data[AT_LIE] & 1) != 0, bytes / box_bytes);
    const uint64_t there = claimed(data, AT_LABELS, (data[AT_LIE] & 2) != 0, bytes / box_bytes);
    const size_t kept = (data[AT_LIE] & 1) != 0 ? bytes : bytes / box_bytes * box_bytes;
    const size_t numbers = there < bytes + 2 * (size_t)LENGTH ? (size_t)there : LENGTH;
    uint8_t *values = malloc(kept + SLACK); /* of exactly that size: overreads are detected */
    int64_t *labels = malloc((numbers + SLACK) * sizeof(*labels));
    sluice_error error = SLUICE_ERROR_INIT;
    fuzz_expect(values != NULL && labels != NULL, "memory");
    memcpy(values, data + HEAD, kept);
    for (size_t i = 0; i < numbers; i++)
        labels[i] = (int64_t)(1000 + i);
    rig->row.seed = data[AT_SEED];
    set_value(rig, (kind & PRECISE) != 0 ? FIELD_PRECISE : FIELD_BOXES, values, kept, boxes);
    set_value(rig, FIELD_LABELS, labels, numbers * sizeof(*labels), there);
    const sluice_status status = make_row(rig, &error);
    if (status == SLUICE_OK) {
        check_row(rig, kind, labels, numbers);
    } else {
        fuzz_expect((status == SLUICE_CORRUPT || status == SLUICE_UNSUPPORTED) &&
                        error.text[0] != '\0' && rig->row.blame != NULL,
                    "a bad sample has a reason, and a field");
    }
    check_guards(rig);
    free(values);
    free(labels);
    check_good_sample(rig, kind);
    return 0;
}

/* ---- seeds ---- */

static const double seed_boxes[][4] = {
    {4, 5, 12, 14},
    {0, 0, 40, 30},
    {.1, .2, .5, .75},
    {12, 3, 4, 9}, /* inverted */
    {-30, -20, 400, 300},
    {5, 5, 5, 5},
    {39.5, 29, 80, 60},
    {0, 0, 1e30, 1e30},
    {NAN, 0, 1, 1},
    {0, INFINITY, 3, 3},
    {1e-40, 1e-42, 3e38, 2e38},
};
enum { SEED_BOXES = sizeof(seed_boxes) / sizeof(*seed_boxes) };

/* For each kind, a seed with good boxes, then one with all boxes, with their shapes' claims. */
size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= 2 * KINDS) {
        return 0;
    }
    const unsigned kind = index / 2;
    const bool all = index % 2 == 1;
    const uint64_t claims[] = {index % 4 == 1 ? SEED_BOXES : UINT64_MAX / 4, UINT64_C(1) << 61};
    size_t size = HEAD;
    memset(buffer, 0, HEAD);
    buffer[AT_KIND] = (uint8_t)kind;
    buffer[AT_SEED] = (uint8_t)(index * 7);
    buffer[AT_LIE] = all ? (uint8_t)(index / 2 % 4) : 0;
    memcpy(buffer + AT_COUNT, claims, sizeof(claims));
    for (size_t i = 0; i < (all ? SEED_BOXES : 3); i++) {
        for (size_t k = 0; k < 4; k++) {
            const double number = seed_boxes[i][k];
            const float single = (float)number;
            const bool precise = (kind & PRECISE) != 0;
            memcpy(buffer + size, precise ? (const void *)&number : (const void *)&single,
                   precise ? sizeof(number) : sizeof(single));
            size += precise ? sizeof(number) : sizeof(single);
        }
    }
    return size;
}
