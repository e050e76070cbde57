/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses each allocation and each system call once, for columns of each kind
 * (tests/support/refused_runs.h).
 */
#include "photo_folder.h"
#include "refused_runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 24, HEIGHT = 16, SAMPLES = 5, BOXES = 2, TOKENS_MOST = 40 };
enum {
    F_IMAGE,
    F_LABEL,
    F_SCORE,
    F_MATRIX,
    F_TOKENS,
    F_TEXT,
    F_BOXES,
    F_KINDS,
    F_POINTS,
    F_SHAPES,
    F_MASK,
    FIELDS
};

/* ---- the dataset ---- */

static const struct {
    const char *name;
    sluice_field_type type;
    sluice_dtype dtype;
    uint32_t dims;
    int64_t shape[2];
    sluice_role role;
    bool per_box;
} fields_of[FIELDS] = {
    [F_IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [F_LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
    [F_SCORE] = {.name = "score", .type = SLUICE_FIELD_FLOAT},
    [F_MATRIX] = {"matrix", SLUICE_FIELD_TENSOR, SLUICE_F32, 2, {3, 4}, SLUICE_ROLE_NONE, false},
    [F_TOKENS] = {"tokens", SLUICE_FIELD_TENSOR, SLUICE_U16, 1, {0}, SLUICE_ROLE_NONE, false},
    [F_TEXT] = {.name = "text", .type = SLUICE_FIELD_TEXT},
    [F_BOXES] = {"boxes", SLUICE_FIELD_TENSOR, SLUICE_F32, 2, {0, 4}, SLUICE_ROLE_BOXES, false},
    [F_KINDS] = {"kinds", SLUICE_FIELD_TENSOR, SLUICE_I64, 1, {0}, SLUICE_ROLE_NONE, true},
    [F_POINTS] = {"points", SLUICE_FIELD_TENSOR, SLUICE_F32, 2, {0, 2}, SLUICE_ROLE_POINTS, false},
    [F_SHAPES] = {.name = "shapes",
                  .type = SLUICE_FIELD_TEXT,
                  .role = SLUICE_ROLE_SHAPES,
                  .per_box = true},
    [F_MASK] =
        {"mask", SLUICE_FIELD_TENSOR, SLUICE_U8, 2, {HEIGHT, WIDTH}, SLUICE_ROLE_MASK, false},
};

static void make_fields(sluice_field *fields)
{
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = (sluice_field)SLUICE_FIELD_INIT;
        (void)snprintf(fields[i].name, sizeof(fields[i].name), "%s", fields_of[i].name);
        fields[i].type = (int32_t)fields_of[i].type;
        fields[i].dtype = (int32_t)fields_of[i].dtype;
        fields[i].dims = fields_of[i].dims;
        memcpy(fields[i].shape, fields_of[i].shape, sizeof(fields_of[i].shape));
        fields[i].role = (int32_t)fields_of[i].role;
        fields[i].per_box = fields_of[i].per_box;
    }
    fields[F_BOXES].box_format = SLUICE_BOX_XYXY;
    fields[F_BOXES].coordinates = SLUICE_COORDINATES_PIXELS;
    fields[F_POINTS].coordinates = SLUICE_COORDINATES_PIXELS;
}

static sluice_value value_of(const void *data, size_t bytes)
{
    sluice_value value = SLUICE_VALUE_INIT;
    value.data = data;
    value.bytes = bytes;
    return value;
}

static void add_sample(sluice_writer *writer, uint32_t number)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    static uint8_t mask[WIDTH * HEIGHT];
    static const float boxes[BOXES][4] = {{1, 2, 14, 12}, {6, 3, 20, 15}};
    static const int64_t kinds[BOXES] = {1, 2};
    static const float points[3][2] = {{3, 4}, {10, 9}, {22, 1}};
    static const char shapes[] = "[[[1,2,14,2,14,12,1,12]],[[6,3,20,3,20,15,6,15]]]";
    float matrix[12];
    uint16_t tokens[TOKENS_MOST];
    char text[32];
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)(i * (number + 3) / 5);
        mask[i / 3] = (uint8_t)(i / 90 % 4);
    }
    for (uint32_t i = 0; i < 12; i++) {
        matrix[i] = (float)(i * number);
    }
    for (uint32_t i = 0; i < TOKENS_MOST; i++) {
        tokens[i] = (uint16_t)(number * 100 + i);
    }
    (void)snprintf(text, sizeof(text), "sample %u", number);
    sluice_value values[FIELDS] = {
        [F_IMAGE] = value_of(pixels, sizeof(pixels)),
        [F_LABEL] = value_of(NULL, 0),
        [F_SCORE] = value_of(NULL, 0),
        [F_MATRIX] = value_of(matrix, sizeof(matrix)),
        [F_TOKENS] = value_of(tokens, sizeof(tokens[0]) * (10 + number * 7)),
        [F_TEXT] = value_of(text, strlen(text)),
        [F_BOXES] = value_of(boxes, sizeof(boxes)),
        [F_KINDS] = value_of(kinds, sizeof(kinds)),
        [F_POINTS] = value_of(points, sizeof(points)),
        [F_SHAPES] = value_of(shapes, strlen(shapes)),
        [F_MASK] = value_of(mask, sizeof(mask)),
    };
    values[F_IMAGE].raw_width = WIDTH;
    values[F_IMAGE].raw_height = HEIGHT;
    values[F_LABEL].integer = number % 3;
    values[F_SCORE].number = number / 4.0;
    assert(sluice_writer_add_values(writer, values, FIELDS, NULL) == SLUICE_OK);
}

static void finish(sluice_writer *writer)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_writer_finish(writer, &error) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        abort();
    }
}

/* Windows are taken from tensors stored plain, with only numbers beside them. */
static void make_tokens(const char *path)
{
    sluice_field fields[FIELDS];
    sluice_writer *writer = NULL;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    make_fields(fields);
    options.fields = &fields[F_TOKENS];
    options.field_count = 1;
    options.zstd_level = SLUICE_ZSTD_OFF;
    assert(sluice_writer_open(&writer, path, &options, NULL) == SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint16_t tokens[TOKENS_MOST];
        for (uint32_t k = 0; k < TOKENS_MOST; k++) {
            tokens[k] = (uint16_t)(i * 100 + k);
        }
        const sluice_value value = value_of(tokens, sizeof(tokens));
        assert(sluice_writer_add_values(writer, &value, 1, NULL) == SLUICE_OK);
    }
    finish(writer);
}

static void make_dataset(const char *path)
{
    sluice_field fields[FIELDS];
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    make_fields(fields);
    options.fields = fields;
    options.field_count = FIELDS;
    if (sluice_writer_open(&writer, path, &options, &error) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        abort();
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        add_sample(writer, i);
    }
    finish(writer);
}

/* ---- columns ---- */

typedef struct column_set {
    refused_case base;
    const char *step; /* step of the image's recipe; NULL: no image */
    double arguments[4];
    uint32_t argument_count;
    const char *more; /* a second step; NULL: none */
    const sluice_column *columns;
    uint32_t count;
} column_set;

static const sluice_column plain[] = {
    {.struct_size = sizeof(sluice_column), .kind = SLUICE_COLUMN_NUMBER, .field = "label"},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_NUMBER,
     .field = "score",
     .dtype = SLUICE_F32},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_ONE_HOT,
     .field = "label",
     .name = "target",
     .length = 3},
    {.struct_size = sizeof(sluice_column), .kind = SLUICE_COLUMN_TENSOR, .field = "matrix"},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_RAGGED,
     .field = "text",
     .length = 64},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_PADDED,
     .field = "tokens",
     .length = 64},
};

static const sluice_column following[] = {
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_MASK,
     .field = "mask",
     .name = "segments"},
    {.struct_size = sizeof(sluice_column), .kind = SLUICE_COLUMN_BOXES, .field = "boxes"},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_RAGGED,
     .field = "kinds",
     .length = 8,
     .follows = "boxes"},
    {.struct_size = sizeof(sluice_column), .kind = SLUICE_COLUMN_POINTS, .field = "points"},
    {.struct_size = sizeof(sluice_column), .kind = SLUICE_COLUMN_GEOMETRY, .name = "geometry"},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_INSTANCES,
     .field = "shapes",
     .length = 8,
     .follows = "boxes"},
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_MASK,
     .field = "shapes",
     .name = "classes",
     .labels = "kinds"},
};

static const sluice_column windows[] = {
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_WINDOW,
     .field = "tokens",
     .length = 8},
};

static const sluice_column packed[] = {
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_PACKED,
     .field = "tokens",
     .length = 48,
     .max_documents = 4},
};

static const sluice_column pasted[] = {
    {.struct_size = sizeof(sluice_column),
     .kind = SLUICE_COLUMN_BOXES,
     .field = "boxes",
     .length = 16,
     .padded = 1},
};

static sluice_status add_picture(const column_set *set, sluice_columns *columns)
{
    sluice_augment *recipe = NULL;
    sluice_status status = sluice_augment_create(&recipe);
    if (status == SLUICE_OK) {
        status = sluice_augment_add(recipe, set->step, set->arguments, set->argument_count);
    }
    if (status == SLUICE_OK && set->more != NULL) {
        status = sluice_augment_add(recipe, set->more, NULL, 0);
    }
    if (status == SLUICE_OK) {
        status = sluice_columns_image(columns, "image", recipe, SLUICE_F32, SLUICE_NCHW);
    }
    sluice_augment_destroy(recipe);
    return status;
}

static sluice_status make_columns(const refused_case *self, const sluice_dataset *dataset,
                                  sluice_columns **columns)
{
    const column_set *set = (const column_set *)self;
    sluice_status status = sluice_columns_create(columns);
    if (status == SLUICE_OK && set->step != NULL) {
        status = add_picture(set, *columns);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < set->count; i++) {
        status = sluice_columns_add(*columns, &set->columns[i]);
    }
    (void)dataset;
    return status;
}

int main(void)
{
    char folder[256];
    char paths[2][300];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(paths[0], sizeof(paths[0]), "%s/packed", folder);
    (void)snprintf(paths[1], sizeof(paths[1]), "%s/tokens", folder);
    make_dataset(paths[0]);
    make_tokens(paths[1]);
    const column_set sets[] = {
        {{.name = "plain"}, "random_resized_crop", {12, 10}, 2, "color_jitter", plain, 6},
        {{.name = "mixed"}, "random_resized_crop", {12, 10}, 2, "mixup", plain, 3},
        {{.name = "following"}, "random_resized_crop", {12, 10}, 2, "random_flip", following, 7},
        {{.name = "mosaic"}, "mosaic", {20}, 1, NULL, pasted, 1},
        {{.name = "windows"}, NULL, {0}, 0, NULL, windows, 1},
        {{.name = "packed"}, NULL, {0}, 0, NULL, packed, 1},
    };
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        column_set set = sets[i];
        set.base.path = paths[set.columns == windows];
        set.base.columns = make_columns;
        refused_check(&set.base);
    }
    remove_tree(folder);
    return refused_findings() > 0;
}
