/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include "safe_text.h"
#include "tag.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEEN = 256 };

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
        if (set->specs[i].column.kind == SLUICE_COLUMN_BOXES &&
            strcmp(set->specs[i].name, name) == 0) {
            return &set->specs[i];
        }
    }
    return NULL;
}

static const char *follows_of(const struct column_spec *spec)
{
    return column_spec_text(spec, offsetof(sluice_column, follows));
}

/* Returns the number of the image that a column follows; without a name, the only one before it.
 * The loader rejects unknown names. */
static uint32_t picture_of(const struct view *view, const struct column_set *set,
                           const struct column_spec *spec)
{
    const struct column_spec *boxes = find_boxes(set, follows_of(spec));
    const char *name = follows_of(boxes != NULL ? boxes : spec);
    return name[0] == '\0' ? 0 : find_picture(view, name);
}

bool marks_are_drawn(const struct column_spec *spec)
{
    return marks_are_drawn_only(spec) || spec->column.kind == SLUICE_COLUMN_BOXES ||
           spec->column.kind == SLUICE_COLUMN_POINTS;
}

/* Returns whether the dataset knows that a field has an element for each box of another. */
static bool field_is_of(const sluice_dataset *dataset, const char *name, const char *boxes)
{
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        if (strcmp(field.name, name) == 0) {
            return field.per_box != 0 && (field.of[0] == '\0' || strcmp(field.of, boxes) == 0);
        }
    }
    return false;
}

/* Returns whether a column has a number for each box, such as its label. */
static bool belongs_to(const struct view *view, const struct column_spec *spec,
                       const struct column_spec *boxes)
{
    if (spec->column.kind != SLUICE_COLUMN_RAGGED && spec->column.kind != SLUICE_COLUMN_PADDED) {
        return false;
    }
    const char *follows = follows_of(spec);
    return follows[0] != '\0' ? strcmp(follows, boxes->name) == 0
                              : field_is_of(view->dataset, spec->field, boxes->field);
}

bool marks_are_of_boxes(const struct view *view, const struct column_set *set,
                        const struct column_spec *spec)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->specs[i].column.kind == SLUICE_COLUMN_BOXES &&
            belongs_to(view, spec, &set->specs[i])) {
            return true;
        }
    }
    return false;
}

bool marks_have_legend(const struct column_spec *spec)
{
    return spec->column.kind == SLUICE_COLUMN_BOXES || spec->column.kind == SLUICE_COLUMN_MASK;
}

void marks_find(struct view *view, const struct column_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (marks_are_drawn(spec)) {
            view->marks[view->mark_count++] = (struct view_mark){
                .spec = spec,
                .picture = picture_of(view, set, spec),
                .legend = view->legend_count,
                .values = {.column = spec->name, .is_padded = spec->column.padded != 0}};
            view->legend_count += marks_have_legend(spec);
        }
    }
}

bool marks_are_drawn_only(const struct column_spec *spec)
{
    return spec->column.kind == SLUICE_COLUMN_MASK || spec->column.kind == SLUICE_COLUMN_INSTANCES;
}

/* ---- drawing ---- */

/* Returns the class of a pixel; of several values the index of the first that is not 0. */
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

/* A batch's data of a column, and the sides that its numbers are multiplied with. */
struct drawn {
    const sluice_column *how;
    sluice_tensor tensor;
    uint64_t count; /* of numbers */
    struct picture_size size;
    double across, down;
    bool seen[SEEN]; /* numbers of a mask, from 1 on */
};

/* Returns 1 + the number of a pixel's colour, or 0: from a map of `detail` channels, or instance
 * number `detail`. */
typedef uint64_t number_at(const struct drawn *drawn, uint64_t detail, uint32_t x, uint32_t y);

static uint64_t class_at(const struct drawn *drawn, uint64_t detail, uint32_t x, uint32_t y)
{
    return class_of(&drawn->tensor, y * drawn->size.width + x, detail);
}

static uint64_t instance_at(const struct drawn *drawn, uint64_t detail, uint32_t x, uint32_t y)
{
    const uint8_t *mask = drawn->tensor.data;
    const uint64_t pixel = (detail * drawn->size.height + y) * drawn->size.width + x;
    return mask[pixel] != 0 ? detail + 1 : 0;
}

/* Returns whether one of a pixel's neighbours in the tile has another number. */
static bool is_edge(const struct overlay *tile, const struct drawn *drawn, number_at *at,
                    uint64_t detail, const uint32_t place[2])
{
    const uint64_t number = at(drawn, detail, place[0], place[1]);
    for (int i = 0; i < 4; i++) {
        const int64_t x = (int64_t)place[0] + (i == 0) - (i == 1);
        const int64_t y = (int64_t)place[1] + (i == 2) - (i == 3);
        if (x >= 0 && x < tile->width && y >= 0 && y < tile->height &&
            at(drawn, detail, (uint32_t)x, (uint32_t)y) != number) {
            return true;
        }
    }
    return false;
}

static void paint(const struct overlay *tile, struct drawn *drawn, number_at *at, uint64_t detail)
{
    for (uint32_t y = 0; y < tile->height; y++) {
        for (uint32_t x = 0; x < tile->width; x++) {
            const uint64_t number = at(drawn, detail, x, y);
            if (number == 0) {
                continue;
            }
            drawn->seen[number < SEEN ? number : 0] = true;
            if (overlay_is_large(tile) && is_edge(tile, drawn, at, detail, (uint32_t[]){x, y})) {
                overlay_dot(tile, x, y, overlay_color(number - 1));
            } else {
                overlay_tint(tile, x, y, overlay_color(number - 1));
            }
        }
    }
}

static void draw_mask(const struct overlay *tile, struct drawn *drawn)
{
    const uint64_t pixels = drawn->size.width * drawn->size.height;
    const uint64_t channels = pixels > 0 ? drawn->count / pixels : 0;
    if (channels > 0) {
        paint(tile, drawn, class_at, channels);
    }
}

/* Draws each instance in the colour of its box. */
static void draw_instances(const struct overlay *tile, struct drawn *drawn)
{
    const uint64_t pixels = drawn->size.width * drawn->size.height;
    for (uint64_t i = 0; pixels > 0 && i < drawn->count / pixels; i++) {
        paint(tile, drawn, instance_at, i);
    }
}

/* Computes left, top, right and bottom of a box, in the tile. */
static void place_box(const struct drawn *drawn, uint64_t number, double box[4])
{
    const sluice_column *how = drawn->how;
    const float *values = (const float *)drawn->tensor.data + number * 4;
    for (size_t k = 0; k < 4; k++) {
        box[k] = (double)values[k] * (k % 2 == 0 ? drawn->across : drawn->down);
    }
    if (how->out_format == SLUICE_BOX_CXCYWH) {
        box[0] -= box[2] / 2;
        box[1] -= box[3] / 2;
    }
    if (how->out_format == SLUICE_BOX_CXCYWH || how->out_format == SLUICE_BOX_XYWH) {
        box[2] += box[0];
        box[3] += box[1];
    }
}

static void draw_boxes(const struct overlay *tile, const struct drawn *drawn)
{
    for (uint64_t i = 0; i < drawn->count / 4; i++) {
        double box[4];
        place_box(drawn, i, box);
        overlay_box(tile, box, overlay_color(i));
    }
}

/* Returns the number of values of a row: after the dimension of rows, or after those of a padded
 * one. */
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

/* ---- texts about boxes ---- */

static bool is_label(const struct column_spec *spec)
{
    return strcmp(spec->field, "labels") == 0 || strcmp(spec->field, "label") == 0;
}

static const char *class_name(const struct view *view, double label)
{
    return label >= 0 && label < 0x1p31 ? sluice_dataset_class_name(view->dataset, (int64_t)label)
                                        : NULL;
}

static size_t put(char *text, size_t bytes, size_t used, const char *more)
{
    const int length = used < bytes ? snprintf(text + used, bytes - used, "%s", more) : 0;
    return used + (length > 0 ? (size_t)length : 0);
}

/* Makes a name one line; it may contain anything. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)((unsigned char)*text < ' ' ? ' ' : *text);
    }
}

/* A text about a box, and its length so far. */
struct saying {
    char *text;
    size_t bytes, used;
};

typedef void say_number(const struct view *view, const struct column_spec *spec, double value,
                        struct saying *to);

/* Appends " 7 dog" for labels, " area=12" for others. */
static void describe_number(const struct view *view, const struct column_spec *spec, double value,
                            struct saying *to)
{
    const char *name = is_label(spec) ? class_name(view, value) : NULL;
    char text[160];
    if (is_label(spec)) {
        snprintf(text, sizeof text, " %.15g%s%.80s", value, name != NULL ? " " : "",
                 name != NULL ? name : "");
    } else {
        snprintf(text, sizeof text, " %s=%.6g", spec->name, value);
    }
    make_one_line(text);
    to->used = put(to->text, to->bytes, to->used, text);
}

/* Writes the name of a label's class, or its number; the last label counts. */
static void name_number(const struct view *view, const struct column_spec *spec, double value,
                        struct saying *to)
{
    if (is_label(spec)) {
        const char *name = class_name(view, value);
        char number[32];
        snprintf(number, sizeof number, "%.15g", value);
        to->used = put(to->text, to->bytes, 0, name != NULL ? name : number);
    }
}

/* Finds number `box` of a column that belongs to boxes, if it has one for each. */
static sluice_status value_of_box(const sluice_batch *batch, const struct column_spec *spec,
                                  uint64_t box, bool *found, double *value)
{
    const struct values_source source = {.column = spec->name,
                                         .is_padded = spec->column.kind == SLUICE_COLUMN_PADDED};
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    uint64_t count = 0;
    const sluice_status status = values_take(batch, &source, &tensor, &count);
    *found = status >= 0 && row_values(&tensor, source.is_padded) == 1 && box < count;
    *value = *found ? values_number(&tensor, box) : 0;
    return status;
}

/* Writes each number that belongs to box `box`; "" without any. */
static sluice_status say_box(const struct view *view, const sluice_batch *batch,
                             const struct column_spec *boxes, uint64_t box, say_number *say,
                             struct saying to)
{
    sluice_status status = SLUICE_OK;
    to.text[0] = '\0';
    for (uint32_t i = 0; i < view->columns->count && status >= 0; i++) {
        const struct column_spec *spec = &view->columns->specs[i];
        bool found = false;
        double value = 0;
        if (belongs_to(view, spec, boxes)) {
            status = value_of_box(batch, spec, box, &found, &value);
        }
        if (found) {
            say(view, spec, value, &to);
        }
    }
    return status;
}

/* Writes a line for each of `count` boxes, cut to the space. */
static sluice_status describe_boxes(const struct view *view, const sluice_batch *batch,
                                    const struct column_spec *boxes, uint64_t count, char *text)
{
    size_t used = 0;
    sluice_status status = SLUICE_OK;
    text[0] = '\0';
    for (uint64_t i = 0; i < count && status >= 0 && used < LEGEND_SHOWN; i++) {
        char one[256];
        char line[300];
        status =
            say_box(view, batch, boxes, i, describe_number, (struct saying){one, sizeof one, 0});
        if (one[0] == '\0') {
            snprintf(one, sizeof one, " %" PRIu64, i);
        }
        snprintf(line, sizeof line, "%s%" PRIu64 "\t%s", i > 0 ? "\n" : "", i, one + 1);
        used = put(text, LEGEND_SHOWN, used, line);
    }
    return status;
}

/* Writes a line for each visible class of a map. Only a map made of shapes has the dataset's
 * classes. */
static void describe_classes(const struct view *view, const struct view_mark *mark,
                             const struct drawn *drawn, char *text)
{
    const bool named = column_spec_text(mark->spec, offsetof(sluice_column, labels))[0] != '\0';
    size_t used = 0;
    text[0] = '\0';
    for (uint64_t i = 1; i < SEEN; i++) {
        const char *name = named ? class_name(view, (double)i) : NULL;
        char one[96];
        char line[160];
        if (drawn->seen[i]) {
            snprintf(one, sizeof one, "%.80s", name != NULL ? name : "");
            make_one_line(one);
            snprintf(line, sizeof line, "%s%" PRIu64 "\tclass %" PRIu64 "%s%s",
                     used > 0 ? "\n" : "", i - 1, i, name != NULL ? " " : "", one);
            used = put(text, LEGEND_SHOWN, used, line);
        }
    }
}

/* ---- all marks of an image ---- */

static sluice_status draw_tags(const struct view *view, const sluice_batch *batch,
                               const struct column_spec *boxes, const struct overlay *tile,
                               const struct drawn *drawn)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; i < drawn->count / 4 && status >= 0; i++) {
        double box[4];
        char name[80];
        status = say_box(view, batch, boxes, i, name_number, (struct saying){name, sizeof name, 0});
        place_box(drawn, i, box);
        tag_draw(tile, box, SAFE(name), overlay_color(i));
    }
    return status;
}

static sluice_status draw_mark(const struct view *view, const struct view_mark *mark,
                               const sluice_batch *batch, struct sheet_place at,
                               struct picture_size size)
{
    const bool relative = mark->spec->column.out_relative != 0;
    const struct overlay tile = sheet_tile(&view->sheet, at);
    char *legend = view_legend(view, at.row, at.draw, mark->legend);
    struct drawn drawn = {.how = &mark->spec->column,
                          .tensor = SLUICE_TENSOR_INIT,
                          .size = size,
                          .across = relative ? (double)size.width : 1,
                          .down = relative ? (double)size.height : 1};
    sluice_status status = values_take(batch, &mark->values, &drawn.tensor, &drawn.count);
    if (status < 0) {
        return status;
    }
    if (mark->spec->column.kind == SLUICE_COLUMN_MASK) {
        draw_mask(&tile, &drawn);
        describe_classes(view, mark, &drawn, legend);
    } else if (mark->spec->column.kind == SLUICE_COLUMN_INSTANCES) {
        draw_instances(&tile, &drawn);
    } else if (mark->spec->column.kind == SLUICE_COLUMN_BOXES) {
        draw_boxes(&tile, &drawn);
        status = draw_tags(view, batch, mark->spec, &tile, &drawn);
        return status < 0 ? status
                          : describe_boxes(view, batch, mark->spec, drawn.count / 4, legend);
    } else {
        draw_points(&tile, &drawn);
    }
    return status;
}

sluice_status marks_draw(const struct view *view, const sluice_batch *batch, struct sheet_place at,
                         struct picture_size size)
{
    static const int order[] = {SLUICE_COLUMN_MASK, SLUICE_COLUMN_INSTANCES, SLUICE_COLUMN_BOXES,
                                SLUICE_COLUMN_POINTS};
    sluice_status status = SLUICE_OK;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (uint32_t i = 0; i < view->mark_count && status >= 0; i++) {
            const struct view_mark *mark = &view->marks[i];
            if (mark->spec->column.kind == order[k] && mark->picture == at.number) {
                status = draw_mark(view, mark, batch, at, size);
            }
        }
    }
    return status;
}
