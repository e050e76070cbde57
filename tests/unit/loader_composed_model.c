/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_composed_rig.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIXELS_MAX = SCENE_SIDE_MAX * SCENE_SIDE_MAX, OBJECTS_MAX = 4 * SCENE_OBJECTS_MAX };
enum { FILL = 114, MASK_FILL = 255, MAP_FILL = 9, MAP_BACKGROUND = 7 };

/* A scene placed in a row: x of the scene is at x * scale[0] + origin[0] of the output. */
typedef struct placed {
    scene of;
    double scale[2], origin[2];
} placed;

/* The content of each pixel: 0, or 1 + place * CODES + object + 1. */
enum { CODES = SCENE_OBJECTS_MAX + 1 };

typedef struct painted {
    uint32_t width, height, count;
    placed places[4];
    uint8_t codes[PIXELS_MAX];
} painted;

/* One row of a batch. `*_pitch`: pixels from one line to the next. */
typedef struct composed_row {
    uint32_t width, height;
    uint32_t image_pitch, pixels_pitch, classes_pitch;
    const uint8_t *image, *pixels;
    const int64_t *classes; /* NULL with `pixels`: not in the batch */
    uint64_t objects;
    const float *boxes, *points;
    const int64_t *labels;
    const uint8_t *instances;
    const double *matrix;
    double share;
    uint32_t ids[COMPOSED_MEMBERS_MAX + 1];
} composed_row;

static sluice_tensor column_tensor(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor;
}

static bool has_column(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    return sluice_batch_tensor(batch, name, &tensor) == SLUICE_OK;
}

/* Finds the first element of a row in a column of consecutive values, and their number. */
static uint64_t row_begin(const sluice_batch *batch, const char *offsets, uint32_t row,
                          uint64_t *count)
{
    const int64_t *at = column_tensor(batch, offsets).data;
    *count = (uint64_t)(at[row + 1] - at[row]);
    return (uint64_t)at[row];
}

static uint64_t objects_begin(const sluice_batch *batch, const char *offsets, uint32_t row,
                              uint64_t expected)
{
    uint64_t count;
    const uint64_t begin = row_begin(batch, offsets, row, &count);
    assert_int_equal(count, expected);
    return begin;
}

/* Finds where the row's plane begins, in pixels, and its pitch. */
static uint64_t plane_begin(const sluice_batch *batch, const composed_case *of, const char *name,
                            uint32_t row, const composed_row *taken, uint32_t *pitch)
{
    char offsets[32];
    (void)snprintf(offsets, sizeof(offsets), "%s.offsets", name);
    if (of->sizes == SLUICE_SIZES_RAGGED) {
        *pitch = taken->width;
        return objects_begin(batch, offsets, row, (uint64_t)taken->width * taken->height);
    }
    const sluice_tensor plane = column_tensor(batch, name);
    assert_true(plane.shape[1] >= taken->height && plane.shape[2] >= taken->width);
    *pitch = (uint32_t)plane.shape[2];
    return (uint64_t)(row * plane.shape[1] * plane.shape[2]);
}

static void take_size(const sluice_batch *batch, const composed_case *of, uint32_t row,
                      composed_row *taken)
{
    if (of->sizes != SLUICE_SIZES_ONE) {
        const int32_t *sizes = column_tensor(batch, "image.sizes").data;
        taken->height = (uint32_t)sizes[(size_t)2 * row];
        taken->width = (uint32_t)sizes[(size_t)2 * row + 1];
        return;
    }
    const sluice_tensor image = column_tensor(batch, "image");
    taken->height = (uint32_t)image.shape[1];
    taken->width = (uint32_t)image.shape[2];
}

static void take_pixels(const sluice_batch *batch, const composed_case *of, uint32_t row,
                        composed_row *taken)
{
    take_size(batch, of, row, taken);
    assert_true(taken->width <= SCENE_SIDE_MAX && taken->height <= SCENE_SIDE_MAX);
    taken->image = (const uint8_t *)column_tensor(batch, "image").data +
                   3 * plane_begin(batch, of, "image", row, taken, &taken->image_pitch);
    taken->matrix = (const double *)column_tensor(batch, "geometry").data + (size_t)9 * row;
    taken->share = has_column(batch, "image.share")
                       ? ((const float *)column_tensor(batch, "image.share").data)[row]
                       : 1;
    if (has_column(batch, "pixels")) {
        taken->pixels = (const uint8_t *)column_tensor(batch, "pixels").data +
                        plane_begin(batch, of, "pixels", row, taken, &taken->pixels_pitch);
        taken->classes = (const int64_t *)column_tensor(batch, "classes").data +
                         plane_begin(batch, of, "classes", row, taken, &taken->classes_pitch);
    }
}

/* All columns that follow the boxes have the same number of values. */
static void take_objects(const sluice_batch *batch, const composed_case *of, uint32_t row,
                         composed_row *taken)
{
    const uint64_t boxes = row_begin(batch, "boxes.offsets", row, &taken->objects);
    const uint64_t count = taken->objects;
    taken->boxes = (const float *)column_tensor(batch, "boxes").data + 4 * boxes;
    taken->labels = (const int64_t *)column_tensor(batch, "labels").data +
                    objects_begin(batch, "labels.offsets", row, count);
    taken->points = (const float *)column_tensor(batch, "points").data +
                    3 * objects_begin(batch, "points.offsets", row, count);
    const uint64_t pixels = (uint64_t)taken->width * taken->height;
    const bool flat = has_column(batch, "instances.shapes"); /* offsets of pixels */
    const uint64_t masks =
        objects_begin(batch, "instances.offsets", row, flat ? count * pixels : count);
    taken->instances =
        (const uint8_t *)column_tensor(batch, "instances").data + (flat ? masks : masks * pixels);
    const sluice_tensor slots = column_tensor(batch, "slots");
    const int64_t *lengths = column_tensor(batch, "slots.lengths").data;
    const int64_t *slot = (const int64_t *)slots.data + row * slots.shape[1];
    assert_int_equal(lengths[row], count);
    for (int64_t i = 0; i < slots.shape[1]; i++) {
        assert_int_equal(slot[i], (uint64_t)i < count ? taken->labels[i] : 0);
    }
    for (uint32_t i = 0; i < of->members; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "id%u", i);
        const int64_t id = ((const int64_t *)column_tensor(batch, name).data)[row];
        assert_in_range(id, 0, SCENES - 1);
        taken->ids[i] = (uint32_t)id;
    }
}

TEST_OWN_MEMORY static void paint(painted *canvas, const placed *place)
{
    const uint32_t number = canvas->count++;
    canvas->places[number] = *place;
    for (uint32_t i = 0; i < canvas->width * canvas->height; i++) {
        const uint32_t column = i % canvas->width;
        const uint32_t line = i / canvas->width;
        const double x = (column + 0.5 - place->origin[0]) / place->scale[0];
        const double y = (line + 0.5 - place->origin[1]) / place->scale[1];
        if (x >= 0 && y >= 0 && x < place->of.width && y < place->of.height) {
            const int32_t object = scene_object_at(&place->of, (int32_t)x, (int32_t)y);
            canvas->codes[i] = (uint8_t)(1 + (int32_t)number * CODES + 1 + object);
        }
    }
}

/* Returns the scene of a code, and its object or -1. */
TEST_OWN_MEMORY static const scene *scene_of_code(const painted *canvas, uint8_t code,
                                                  int32_t *object)
{
    *object = (code - 1) % CODES - 1;
    return &canvas->places[(code - 1) / CODES].of;
}

static placed place_own(const composed_row *row)
{
    const double *m = row->matrix;
    assert_true(m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1);
    return (placed){.of = scene_of(row->ids[0]), .scale = {m[0], m[4]}, .origin = {m[2], m[5]}};
}

/* Places the second image of a row, resized to the output. */
static placed place_partner(const composed_row *row, bool flips, const composed_case *of)
{
    placed place = {.of = scene_of(row->ids[1])};
    const size_t axis = strstr(of->steps[1], "vertical") != NULL ? 1 : 0;
    place.scale[0] = (double)row->width / place.of.width;
    place.scale[1] = (double)row->height / place.of.height;
    if (flips) {
        place.origin[axis] = axis == 0 ? row->width : row->height;
        place.scale[axis] = -place.scale[axis];
    }
    return place;
}

static void paint_mosaic(painted *canvas, const composed_row *row)
{
    const placed own = place_own(row);
    const double meet[2] = {own.scale[0] * own.of.width + own.origin[0],
                            own.scale[1] * own.of.height + own.origin[1]};
    for (uint32_t member = 0; member < 4; member++) {
        placed place = {.of = scene_of(row->ids[member])};
        const uint32_t sides[2] = {place.of.width, place.of.height};
        const double scale = (double)SCENE_SIDE / (sides[0] > sides[1] ? sides[0] : sides[1]);
        for (uint32_t axis = 0; axis < 2; axis++) {
            const bool behind = (member >> axis & 1) != 0;
            place.scale[axis] = own.scale[axis] < 0 ? -scale : scale;
            place.origin[axis] = meet[axis] - (behind ? 0 : place.scale[axis] * sides[axis]);
        }
        if (member == 0) {
            assert_memory_equal(place.scale, own.scale, sizeof(own.scale));
        }
        paint(canvas, &place);
    }
}

/* True if the row has that label. */
static bool has_label(const composed_row *row, int64_t label)
{
    for (uint64_t i = 0; i < row->objects; i++) {
        if (row->labels[i] == label) {
            return true;
        }
    }
    return false;
}

/* Paints the partner's objects whose labels are in the row over the row's own. */
static bool paint_pasted(painted *canvas, const painted *partner, const composed_row *row)
{
    bool any = false;
    canvas->places[canvas->count] = partner->places[0];
    for (uint32_t i = 0; i < canvas->width * canvas->height; i++) {
        int32_t object;
        const scene *of = scene_of_code(partner, partner->codes[i], &object);
        if (object >= 0 && has_label(row, scene_label(of, (uint32_t)object))) {
            canvas->codes[i] = (uint8_t)(partner->codes[i] + canvas->count * CODES);
            any = true;
        }
    }
    canvas->count++;
    return any;
}

TEST_OWN_MEMORY static void colour_at(const painted *canvas, uint32_t i, uint8_t rgb[3])
{
    memset(rgb, FILL, 3);
    if (canvas->codes[i] != 0) {
        int32_t object;
        const scene *of = scene_of_code(canvas, canvas->codes[i], &object);
        scene_colour(of, object, rgb);
    }
}

static const uint8_t *image_at(const composed_row *row, uint32_t i)
{
    return row->image + (size_t)3 * (i / row->width * row->image_pitch + i % row->width);
}

/* True if the image is the blend of both canvases. */
static bool is_blend(const composed_row *row, const painted *own, const painted *other)
{
    const float share = (float)row->share;
    for (uint32_t i = 0; i < row->width * row->height; i++) {
        uint8_t a[3];
        uint8_t b[3];
        colour_at(own, i, a);
        colour_at(other, i, b);
        for (size_t j = 0; j < 3; j++) {
            const float mixed = fmaf(share, (float)a[j], (1 - share) * (float)b[j]);
            if (image_at(row, i)[j] != (uint8_t)nearbyintf(mixed)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_image(const composed_row *row, const painted *canvas)
{
    return is_blend(row, canvas, canvas);
}

static void check_maps(const composed_row *row, const painted *canvas)
{
    for (uint32_t i = 0; row->pixels != NULL && i < row->width * row->height; i++) {
        const uint32_t x = i % row->width;
        const uint32_t y = i / row->width;
        int32_t object = -1;
        const bool shown = canvas->codes[i] != 0;
        const scene *of = shown ? scene_of_code(canvas, canvas->codes[i], &object) : NULL;
        assert_int_equal(row->pixels[y * row->pixels_pitch + x], shown ? object + 1 : MASK_FILL);
        assert_int_equal(row->classes[y * row->classes_pitch + x],
                         !shown       ? MAP_FILL
                         : object < 0 ? MAP_BACKGROUND
                                      : scene_label(of, (uint32_t)object));
    }
}

/* Finds the box around the pixels of a code; false: there are none. */
TEST_OWN_MEMORY static bool bounds_of(const painted *canvas, uint8_t code, float box[4])
{
    bool any = false;
    for (uint32_t i = 0; i < canvas->width * canvas->height; i++) {
        const uint32_t line = i / canvas->width;
        const float x = (float)(i % canvas->width);
        const float y = (float)line;
        if (canvas->codes[i] == code) {
            box[0] = any ? fminf(box[0], x) : x;
            box[1] = any ? fminf(box[1], y) : y;
            box[2] = any ? fmaxf(box[2], x + 1) : x + 1;
            box[3] = any ? fmaxf(box[3], y + 1) : y + 1;
            any = true;
        }
    }
    return any;
}

static void check_point(const float got[3], const placed *place, uint32_t object,
                        const painted *canvas, uint8_t code)
{
    double point[2];
    float expected[3] = {0, 0, 0};
    scene_point(&place->of, object, point);
    const double x = place->scale[0] * point[0] + place->origin[0];
    const double y = place->scale[1] * point[1] + place->origin[1];
    if (x >= 0 && y >= 0 && x < canvas->width && y < canvas->height) {
        const uint8_t there = canvas->codes[(uint32_t)y * canvas->width + (uint32_t)x];
        expected[0] = (float)x;
        expected[1] = (float)y;
        expected[2] = (there - 1) / CODES > (code - 1) / CODES ? 1 : 2;
    }
    assert_memory_equal(got, expected, sizeof(expected));
}

/* Expects the objects of the row from `*next` on to be those of the canvas, in its order. */
static void check_objects(const composed_row *row, const painted *canvas, uint64_t *next)
{
    const uint32_t pixels = row->width * row->height;
    for (uint32_t place = 0; place < canvas->count; place++) {
        const scene *of = &canvas->places[place].of;
        for (uint32_t object = 0; object < of->count; object++) {
            const uint8_t code = (uint8_t)(1 + place * CODES + 1 + object);
            float box[4];
            if (!bounds_of(canvas, code, box)) {
                continue;
            }
            assert_true(*next < row->objects);
            assert_int_equal(row->labels[*next], scene_label(of, object));
            assert_memory_equal(row->boxes + 4 * *next, box, sizeof(box));
            check_point(row->points + 3 * *next, &canvas->places[place], object, canvas, code);
            for (uint32_t i = 0; i < pixels; i++) {
                assert_int_equal(row->instances[*next * pixels + i], canvas->codes[i] == code);
            }
            ++*next;
        }
    }
}

/* Paints the partner's canvas in both orientations until the row fits. True if the row contains any
 * of it. */
static bool check_pair(const composed_row *row, const composed_case *of, painted *own)
{
    static painted partner;
    const painted before = *own;
    const bool pastes = of->model == MODEL_PASTE;
    bool mixed = row->share < 1;
    bool fits = false;
    for (int flips = 0; flips < 2 && !fits; flips++) {
        const placed place = place_partner(row, flips != 0, of);
        *own = before;
        memset(&partner, 0, sizeof(partner));
        partner.width = row->width;
        partner.height = row->height;
        paint(&partner, &place);
        mixed = pastes ? paint_pasted(own, &partner, row) : mixed;
        fits = pastes ? is_image(row, own) : is_blend(row, own, &partner);
    }
    assert_true(fits);
    uint64_t next = 0;
    check_objects(row, own, &next);
    if (!pastes && mixed) {
        check_objects(row, &partner, &next);
    }
    assert_int_equal(next, row->objects);
    return mixed;
}

static bool check_row(const composed_row *row, const composed_case *of)
{
    static painted canvas;
    bool mixed = of->model == MODEL_MOSAIC;
    memset(&canvas, 0, sizeof(canvas));
    canvas.width = row->width;
    canvas.height = row->height;
    if (of->model == MODEL_MOSAIC) {
        paint_mosaic(&canvas, row);
    } else {
        const placed own = place_own(row);
        paint(&canvas, &own);
    }
    if (of->model == MODEL_MIXUP || of->model == MODEL_PASTE) {
        mixed = check_pair(row, of, &canvas);
    } else {
        uint64_t next = 0;
        assert_true(is_image(row, &canvas));
        check_objects(row, &canvas, &next);
        assert_int_equal(next, row->objects);
    }
    check_maps(row, &canvas);
    return mixed;
}

/* A row without a sample is all empty, zero, or fill. */
static void check_blank(const sluice_batch *batch, const composed_case *of, uint32_t row)
{
    uint64_t count;
    static const char *const offsets[] = {"boxes.offsets", "labels.offsets", "points.offsets",
                                          "instances.offsets"};
    for (size_t i = 0; i < 4; i++) {
        (void)row_begin(batch, offsets[i], row, &count);
        assert_int_equal(count, 0);
    }
    assert_int_equal(((const int64_t *)column_tensor(batch, "id0").data)[row], -1);
    if (of->sizes != SLUICE_SIZES_ONE) {
        return;
    }
    const sluice_tensor image = column_tensor(batch, "image");
    const uint64_t bytes = (uint64_t)(image.shape[1] * image.shape[2] * 3);
    for (uint64_t i = 0; i < bytes; i++) {
        assert_int_equal(((const uint8_t *)image.data)[row * bytes + i], 0);
        if (has_column(batch, "pixels") && i < bytes / 3) {
            assert_int_equal(
                ((const uint8_t *)column_tensor(batch, "pixels").data)[row * bytes / 3 + i],
                MASK_FILL);
        }
    }
}

/* Checks the partner rules that the case names. */
static void check_partners(const composed_row *row, const composed_case *of)
{
    if (of->partners != NULL && strcmp(of->partners, "other_class") == 0) {
        assert_int_not_equal(row->ids[0] % SCENE_CLASSES, row->ids[1] % SCENE_CLASSES);
    } else if (of->partners != NULL) {
        assert_int_equal(row->ids[0] % SCENE_CLASSES, row->ids[2] % SCENE_CLASSES);
    }
}

/* Rows of an episode are grouped by class. */
static void check_episode(const sluice_batch *batch, const composed_case *of)
{
    const int64_t *index = column_tensor(batch, "index").data;
    const uint8_t *mask = column_tensor(batch, "mask").data;
    const uint32_t each = of->episode_samples;
    for (uint32_t row = 1; each > 0 && row < sluice_batch_rows(batch); row++) {
        for (uint32_t other = 0; other < row; other++) {
            const bool same = index[row] % SCENE_CLASSES == index[other] % SCENE_CLASSES;
            if (mask[row] != 0 && mask[other] != 0) {
                assert_int_equal(same, row / each == other / each);
                assert_int_not_equal(index[row], index[other]);
            }
        }
    }
}

void composed_check(const sluice_batch *batch, const composed_case *of,
                    uint64_t seen[COMPOSED_SEEN])
{
    const int64_t *index = column_tensor(batch, "index").data;
    const uint8_t *mask = column_tensor(batch, "mask").data;
    const uint8_t *status = column_tensor(batch, "status").data;
    check_episode(batch, of);
    for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
        seen[status[i]]++;
        if (mask[i] == 0) {
            check_blank(batch, of, i);
            continue;
        }
        composed_row row = {.share = 1};
        take_pixels(batch, of, i, &row);
        take_objects(batch, of, i, &row);
        assert_int_equal(row.ids[0], index[i]);
        check_partners(&row, of);
        if (of->model != MODEL_NONE && check_row(&row, of)) {
            seen[COMPOSED_MIXED]++;
        }
    }
}
