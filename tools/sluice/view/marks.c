/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which ---- */

static uint32_t find_picture(const struct view *view, const char *name)
{
    for (uint32_t i = 0; i < view->picture_count; i++) {
        if (strcmp(view->pictures[i], name) == 0) {
            return i;
        }
    }
    return view->picture_count;
}

static const struct column_spec *find_boxes(const struct column_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->specs[i].kind == SLUICE_COLUMN_BOXES && strcmp(set->specs[i].name, name) == 0) {
            return &set->specs[i];
        }
    }
    return NULL;
}

/* The number of the picture that a column goes by; without a name it is the only one before it. A
 * name that there is not is refused by the loader. */
static uint32_t picture_of(const struct view *view, const struct column_set *set,
                           const struct column_spec *spec)
{
    const struct column_spec *boxes = find_boxes(set, spec->follows);
    const char *name = boxes != NULL ? boxes->follows : spec->follows;
    return name[0] == '\0' ? 0 : find_picture(view, name);
}

void marks_find(struct view *view, const struct column_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (spec->kind == SLUICE_COLUMN_MASK || spec->kind == SLUICE_COLUMN_BOXES ||
            spec->kind == SLUICE_COLUMN_POINTS || spec->kind == SLUICE_COLUMN_INSTANCES) {
            view->marks[view->mark_count++] = (struct view_mark){
                .spec = spec,
                .picture = picture_of(view, set, spec),
                .values = {.column = spec->name, .is_padded = spec->follower.padded != 0}};
            view->box_count += spec->kind == SLUICE_COLUMN_BOXES;
        }
    }
}

bool marks_are_drawn_only(const struct column_spec *spec)
{
    return spec->kind == SLUICE_COLUMN_MASK || spec->kind == SLUICE_COLUMN_INSTANCES;
}

/* ---- drawing ---- */

/* The class of a pixel; of several values the first that is not 0, by its place. */
static uint64_t class_of(const sluice_tensor *tensor, uint64_t pixel, uint64_t channels)
{
    for (uint64_t i = 0; i < channels; i++) {
        const double value = floor(fabs(values_number(tensor, pixel * channels + i)));
        if (value > 0) {
            return channels == 1 && value < 0x1p53 ? (uint64_t)value : i + 1;
        }
    }
    return 0;
}

/* What a batch has of a column, and the sides that its numbers are multiplied with. */
struct drawn {
    const sluice_column *how;
    sluice_tensor tensor;
    uint64_t count; /* of numbers */
    struct picture_size size;
    double across, down;
};

static void draw_mask(const struct overlay *tile, const struct drawn *drawn)
{
    const uint64_t width = drawn->size.width;
    const uint64_t pixels = width * drawn->size.height;
    const uint64_t channels = pixels > 0 ? drawn->count / pixels : 0;
    for (uint32_t y = 0; channels > 0 && y < tile->height; y++) {
        for (uint32_t x = 0; x < tile->width; x++) {
            const uint64_t number = class_of(&drawn->tensor, y * width + x, channels);
            if (number > 0) {
                overlay_tint(tile, x, y, overlay_color(number - 1));
            }
        }
    }
}

static void draw_instance(const struct overlay *tile, const uint8_t *mask, uint64_t width,
                          const uint8_t color[3])
{
    for (uint32_t y = 0; y < tile->height; y++) {
        for (uint32_t x = 0; x < tile->width; x++) {
            if (mask[y * width + x] != 0) {
                overlay_tint(tile, x, y, color);
            }
        }
    }
}

/* Each in the colour of its box. */
static void draw_instances(const struct overlay *tile, const struct drawn *drawn)
{
    const uint64_t pixels = drawn->size.width * drawn->size.height;
    const uint8_t *masks = drawn->tensor.data;
    for (uint64_t i = 0; pixels > 0 && i < drawn->count / pixels; i++) {
        draw_instance(tile, masks + i * pixels, drawn->size.width, overlay_color(i));
    }
}

static void draw_boxes(const struct overlay *tile, const struct drawn *drawn)
{
    const sluice_column *how = drawn->how;
    const float *values = drawn->tensor.data;
    for (uint64_t i = 0; i + 4 <= drawn->count; i += 4) {
        double box[4];
        for (size_t k = 0; k < 4; k++) {
            box[k] = (double)values[i + k] * (k % 2 == 0 ? drawn->across : drawn->down);
        }
        if (how->out_format == SLUICE_BOX_CXCYWH) {
            box[0] -= box[2] / 2;
            box[1] -= box[3] / 2;
        }
        if (how->out_format == SLUICE_BOX_CXCYWH || how->out_format == SLUICE_BOX_XYWH) {
            box[2] += box[0];
            box[3] += box[1];
        }
        overlay_box(tile, box, overlay_color(i / 4));
    }
}

/* Numbers of a row: what stands behind the dimension of rows, or behind those of a padded one. */
static uint64_t row_values(const sluice_tensor *tensor, bool is_padded)
{
    uint64_t values = 1;
    for (uint32_t i = is_padded ? 2 : 1; i < tensor->dims; i++) {
        values *= (uint64_t)tensor->shape[i];
    }
    return values;
}

static void draw_points(const struct overlay *tile, const struct drawn *drawn)
{
    const sluice_column *how = drawn->how;
    const uint64_t row = row_values(&drawn->tensor, how->padded != 0);
    const uint64_t each = how->point_values != 0 ? how->point_values : row % 3 == 0 ? 3 : 2;
    const float *values = drawn->tensor.data;
    for (uint64_t i = 0; i + each <= drawn->count; i += each) {
        if (each == 2 || values[i + 2] != 0) {
            overlay_point(tile, (double)values[i] * drawn->across,
                          (double)values[i + 1] * drawn->down, overlay_color(i / row));
        }
    }
}

static sluice_status draw_mark(const struct view_mark *mark, const sluice_batch *batch,
                               const struct overlay *tile, struct picture_size size)
{
    const bool relative = mark->spec->follower.out_relative != 0;
    struct drawn drawn = {.how = &mark->spec->follower,
                          .tensor = SLUICE_TENSOR_INIT,
                          .size = size,
                          .across = relative ? (double)size.width : 1,
                          .down = relative ? (double)size.height : 1};
    const sluice_status status = values_take(batch, &mark->values, &drawn.tensor, &drawn.count);
    if (status < 0) {
        return status;
    }
    if (mark->spec->kind == SLUICE_COLUMN_MASK) {
        draw_mask(tile, &drawn);
    } else if (mark->spec->kind == SLUICE_COLUMN_INSTANCES) {
        draw_instances(tile, &drawn);
    } else if (mark->spec->kind == SLUICE_COLUMN_BOXES) {
        draw_boxes(tile, &drawn);
    } else {
        draw_points(tile, &drawn);
    }
    return status;
}

sluice_status marks_draw(const struct view *view, const sluice_batch *batch, uint32_t picture,
                         const struct overlay *tile, struct picture_size size)
{
    static const int order[] = {SLUICE_COLUMN_MASK, SLUICE_COLUMN_INSTANCES, SLUICE_COLUMN_BOXES,
                                SLUICE_COLUMN_POINTS};
    sluice_status status = SLUICE_OK;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (uint32_t i = 0; i < view->mark_count && status >= 0; i++) {
            const struct view_mark *mark = &view->marks[i];
            if (mark->spec->kind == order[k] && mark->picture == picture) {
                status = draw_mark(mark, batch, tile, size);
            }
        }
    }
    return status;
}

/* ---- what is said of boxes ---- */

/* A number of each box, such as its label. */
static bool belongs_to(const struct column_spec *spec, const struct column_spec *boxes)
{
    return (spec->kind == SLUICE_COLUMN_RAGGED || spec->kind == SLUICE_COLUMN_PADDED) &&
           strcmp(spec->follows, boxes->name) == 0;
}

static size_t put(char *text, size_t bytes, size_t used, const char *more)
{
    const int length = used < bytes ? snprintf(text + used, bytes - used, "%s", more) : 0;
    return used + (length > 0 ? (size_t)length : 0);
}

/* "7 dog" of labels, "area=12" of others. */
static void describe_number(const struct view *view, const struct column_spec *spec, double value,
                            char *text, size_t bytes)
{
    const bool is_label = strcmp(spec->field, "labels") == 0 || strcmp(spec->field, "label") == 0;
    const char *name = is_label && value >= 0 && value < 0x1p31
                           ? sluice_dataset_class_name(view->dataset, (int64_t)value)
                           : NULL;
    if (is_label) {
        snprintf(text, bytes, " %.15g%s%.80s", value, name != NULL ? " " : "",
                 name != NULL ? name : "");
    } else {
        snprintf(text, bytes, " %s=%.6g", spec->name, value);
    }
    for (char *at = text; *at != '\0'; at++) {
        *at = (char)((unsigned char)*at < ' ' ? ' ' : *at); /* a name may hold anything */
    }
}

static const struct view_mark *boxes_of(const struct view *view, uint32_t number)
{
    for (uint32_t i = 0; i < view->mark_count; i++) {
        if (view->marks[i].spec->kind == SLUICE_COLUMN_BOXES && number-- == 0) {
            return &view->marks[i];
        }
    }
    return NULL;
}

/* What belongs to box `box`. */
static sluice_status describe_box(const struct view *view, const sluice_batch *batch,
                                  const struct column_spec *boxes, uint64_t box, char *text,
                                  size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < view->columns->count; i++) {
        const struct column_spec *spec = &view->columns->specs[i];
        const struct values_source source = {.column = spec->name,
                                             .is_padded = spec->kind == SLUICE_COLUMN_PADDED};
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        uint64_t count = 0;
        if (!belongs_to(spec, boxes)) {
            continue;
        }
        const sluice_status status = values_take(batch, &source, &tensor, &count);
        if (status < 0) {
            return status;
        }
        if (row_values(&tensor, source.is_padded) == 1 && box < count) {
            char one[160];
            describe_number(view, spec, values_number(&tensor, box), one, sizeof one);
            used = put(text, bytes, used, one);
        }
    }
    return SLUICE_OK;
}

sluice_status marks_describe(const struct view *view, const sluice_batch *batch, uint32_t number,
                             char *text, size_t bytes)
{
    const struct view_mark *boxes = boxes_of(view, number);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    uint64_t count = 0;
    size_t used = 0;
    sluice_status status = values_take(batch, &boxes->values, &tensor, &count);
    text[0] = '\0';
    for (uint64_t i = 0; i < count / 4 && status >= 0 && used < bytes; i++) {
        char one[256];
        status = describe_box(view, batch, boxes->spec, i, one, sizeof one);
        used = put(text, bytes, used, i > 0 ? "\n" : "");
        if (one[0] == '\0') {
            snprintf(one, sizeof one, " %" PRIu64, i);
        }
        used = put(text, bytes, used, one + 1);
    }
    return status;
}
