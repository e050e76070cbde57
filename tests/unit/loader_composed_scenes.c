/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_composed_scenes.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE, ID, BOXES, LABELS, POINTS, SHAPES, MASK, FIELDS };

typedef struct scene_bytes {
    uint8_t pixels[SCENE_SIDE_MAX * SCENE_SIDE_MAX * 3];
    uint8_t mask[SCENE_SIDE_MAX * SCENE_SIDE_MAX];
    float boxes[SCENE_OBJECTS_MAX][4];
    float points[SCENE_OBJECTS_MAX][3];
    int64_t labels[SCENE_OBJECTS_MAX];
    char shapes[8192];
} scene_bytes;

static void must(sluice_status status, const sluice_error *error)
{
    char text[1200];
    if (status != SLUICE_OK) {
        (void)sluice_error_format(error, text, sizeof(text));
        (void)fprintf(stderr, "scenes_write: %s\n", text);
        abort();
    }
}

/* xorshift32. */
static uint32_t next_number(uint32_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (*state >> 4) % below;
}

/* Draws an even range of 2 or more inside [begin, begin + length). */
static void draw_range(uint32_t *state, uint32_t begin, uint32_t length, int32_t *from, int32_t *to)
{
    const uint32_t pairs = length / 2;
    const uint32_t first = next_number(state, pairs);
    const uint32_t count = 1 + next_number(state, pairs - first);
    *from = (int32_t)(begin + 2 * first);
    *to = *from + (int32_t)(2 * count);
}

scene scene_of(uint32_t number)
{
    static const uint32_t sides[] = {SCENE_SIDE / 2, SCENE_SIDE, SCENE_SIDE_MAX};
    uint32_t state = 1 + number * 2654435761U;
    for (uint32_t i = 0; i < 8; i++) {
        (void)next_number(&state, 2);
    }
    scene made = {.number = number};
    made.width = sides[next_number(&state, 3)];
    made.height = sides[next_number(&state, 3)];
    made.count = 1 + next_number(&state, SCENE_OBJECTS_MAX);
    for (uint32_t i = 0; i < made.count; i++) { /* each in its own quarter of the image */
        int32_t *object = made.objects[i];
        const uint32_t width = made.width / 2;
        const uint32_t height = made.height / 2;
        draw_range(&state, i % 2 * width, width, &object[0], &object[2]);
        draw_range(&state, i / 2 * height, height, &object[1], &object[3]);
    }
    return made;
}

int32_t scene_object_at(const scene *of, int32_t x, int32_t y)
{
    for (uint32_t i = 0; i < of->count; i++) {
        const int32_t *object = of->objects[i];
        if (object[0] <= x && x < object[2] && object[1] <= y && y < object[3]) {
            return (int32_t)i;
        }
    }
    return -1;
}

void scene_colour(const scene *of, int32_t object, uint8_t rgb[3])
{
    rgb[0] = (uint8_t)(3 + 4 * of->number);
    rgb[1] = (uint8_t)(40 * (object + 1));
    rgb[2] = 200;
}

int64_t scene_label(const scene *of, uint32_t object)
{
    return 100 + SCENE_OBJECTS_MAX * (int64_t)of->number + object;
}

void scene_point(const scene *of, uint32_t object, double point[2])
{
    point[0] = of->objects[object][0] + 1;
    point[1] = of->objects[object][1] + 1;
}

bool scene_is_bad(uint32_t number)
{
    return number % 8 == 5;
}

void scenes_classes(uint32_t classes[SCENES])
{
    for (uint32_t i = 0; i < SCENES; i++) {
        classes[i] = i % SCENE_CLASSES;
    }
}

/* Writes the object as a polygon, or as run lengths down the columns. */
static size_t write_shape(const scene *of, uint32_t object, char *text, size_t bytes)
{
    const int32_t *at = of->objects[object];
    if ((of->number + object) % 2 == 0) {
        return (size_t)snprintf(text, bytes, "[[%d,%d,%d,%d,%d,%d,%d,%d]]", at[0], at[1], at[2],
                                at[1], at[2], at[3], at[0], at[3]);
    }
    const int32_t height = (int32_t)of->height;
    size_t length = (size_t)snprintf(text, bytes, "{\"size\":[%u,%u],\"counts\":[%d", of->height,
                                     of->width, at[0] * height + at[1]);
    for (int32_t x = at[0]; x < at[2]; x++) {
        const int32_t rest =
            x + 1 < at[2] ? height - (at[3] - at[1]) : ((int32_t)of->width - x) * height - at[3];
        length += (size_t)snprintf(text + length, bytes - length, ",%d,%d", at[3] - at[1], rest);
    }
    return length + (size_t)snprintf(text + length, bytes - length, "]}");
}

static void fill_pixels(const scene *of, scene_bytes *bytes)
{
    for (uint32_t i = 0; i < of->width * of->height; i++) {
        const int32_t object =
            scene_object_at(of, (int32_t)(i % of->width), (int32_t)(i / of->width));
        scene_colour(of, object, bytes->pixels + (size_t)3 * i);
        bytes->mask[i] = (uint8_t)(object + 1);
    }
}

static void fill_objects(const scene *of, scene_bytes *bytes)
{
    size_t length = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        double point[2];
        scene_point(of, i, point);
        for (size_t j = 0; j < 4; j++) {
            bytes->boxes[i][j] = (float)of->objects[i][j];
        }
        bytes->points[i][0] = (float)point[0];
        bytes->points[i][1] = (float)point[1];
        bytes->points[i][2] = 2;
        bytes->labels[i] = scene_label(of, i);
        bytes->shapes[length++] = i == 0 ? '[' : ',';
        length += write_shape(of, i, bytes->shapes + length, sizeof(bytes->shapes) - length - 2);
    }
    bytes->shapes[length++] = ']';
    bytes->shapes[length] = 0;
}

static sluice_field tensor_field(const char *name, sluice_dtype dtype, uint32_t dims, int64_t last)
{
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = dtype;
    field.dims = dims;
    field.shape[1] = last;
    return field;
}

static sluice_field plain_field(const char *name, sluice_field_type type)
{
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "%s", name);
    field.type = type;
    return field;
}

static void add_scene(sluice_writer *writer, const scene *of, bool spoil)
{
    static scene_bytes bytes;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_value values[FIELDS];
    memset(&bytes, 0, sizeof(bytes));
    fill_pixels(of, &bytes);
    fill_objects(of, &bytes);
    for (size_t i = 0; i < FIELDS; i++) {
        values[i] = (sluice_value)SLUICE_VALUE_INIT;
    }
    values[IMAGE].data = bytes.pixels;
    values[IMAGE].bytes = (uint64_t)of->width * of->height * 3;
    values[IMAGE].raw_width = of->width;
    values[IMAGE].raw_height = of->height;
    values[ID].integer = of->number;
    values[BOXES].data = bytes.boxes;
    values[BOXES].bytes = of->count * sizeof(bytes.boxes[0]);
    values[LABELS].data = bytes.labels;
    values[LABELS].bytes = of->count * sizeof(bytes.labels[0]);
    values[POINTS].data = bytes.points;
    values[POINTS].bytes = of->count * sizeof(bytes.points[0]);
    values[SHAPES].data = bytes.shapes;
    values[SHAPES].bytes = strlen(bytes.shapes);
    values[MASK].data = bytes.mask;
    values[MASK].bytes = (uint64_t)of->width * of->height;
    values[MASK].shape[0] = of->height;
    values[MASK].shape[1] = of->width;
    if (spoil && of->number % 16 == 5) {
        values[IMAGE].absent = 1;
    } else if (spoil) {
        bytes.boxes[0][2] = bytes.boxes[0][0] - 1;
    }
    must(sluice_writer_add_values(writer, values, FIELDS, &error), &error);
}

void scenes_write(const char *path, bool spoil)
{
    sluice_field fields[FIELDS] = {
        [IMAGE] = plain_field("image", SLUICE_FIELD_IMAGE),
        [ID] = plain_field("id", SLUICE_FIELD_INT),
        [BOXES] = tensor_field("boxes", SLUICE_F32, 2, 4),
        [LABELS] = tensor_field("labels", SLUICE_I64, 1, 0),
        [POINTS] = tensor_field("points", SLUICE_F32, 2, 3),
        [SHAPES] = plain_field("shapes", SLUICE_FIELD_TEXT),
        [MASK] = tensor_field("mask", SLUICE_U8, 2, 0),
    };
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = FIELDS;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer *writer;
    must(sluice_writer_open(&writer, path, &options, &error), &error);
    for (uint32_t i = 0; i < SCENES; i++) {
        const scene made = scene_of(i);
        add_scene(writer, &made, spoil && scene_is_bad(i));
    }
    must(sluice_writer_finish(writer, &error), &error);
}
