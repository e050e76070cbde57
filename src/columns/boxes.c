/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of a sample, on the worker that makes its row. */
#include "boxes.h"

#include "error.h"
#include "instances.h"
#include "memory.h"
#include "philox.h"

#include <math.h>
#include <string.h>

#define ROUNDING 1e-9 /* rounding error of an area, through a warp and back */

sluice_status sl_boxes_open(sl_box_list *list, uint64_t most, sluice_error *error)
{
    *list = (sl_box_list){.most = (uint32_t)most};
    list->boxes = sl_calloc(most, sizeof(*list->boxes));
    list->moved = sl_calloc(most, sizeof(*list->moved));
    list->whole = sl_calloc(most, sizeof(*list->whole));
    list->kept = sl_calloc(most, 1);
    list->left_out = sl_calloc(most, 1);
    list->shown = sl_calloc(most, sizeof(*list->shown));
    if (list->left_out != NULL && list->shown != NULL && list->boxes != NULL &&
        list->moved != NULL && list->whole != NULL && list->kept != NULL) {
        return SLUICE_OK;
    }
    sl_boxes_close(list);
    return sl_no_memory(error, "columns", "for %llu boxes", (unsigned long long)most);
}

void sl_boxes_close(sl_box_list *list)
{
    sl_free(list->boxes);
    sl_free(list->moved);
    sl_free(list->whole);
    sl_free(list->kept);
    sl_free(list->left_out);
    sl_free(list->shown);
    *list = (sl_box_list){.count = 0};
}

/* ---- rows and members ---- */

void sl_boxes_begin_row(sl_box_list *list)
{
    list->kept_count = 0;
    list->seen = 0;
}

void sl_boxes_begin_member(sl_box_list *list)
{
    list->before = list->kept_count;
    list->overflows = false;
    list->count = 0;
    list->stored = 0;
    list->added = 0;
}

void sl_boxes_add(sl_box_list *list, uint64_t stored, uint64_t count)
{
    list->stored = stored;
    list->count = (uint32_t)count;
    list->added = count;
    list->seen += count;
}

void sl_boxes_leave_out(sl_box_list *list, uint32_t number, bool leaves)
{
    list->left_out[number] = leaves;
    list->added -= leaves;
    list->seen -= leaves;
}

void sl_boxes_unsee(sl_box_list *list)
{
    list->seen -= list->added;
    list->added = 0;
}

/* ---- formats ---- */

const char *sl_box_format_word(sluice_box_format format)
{
    static const char *const words[] = {"auto", "xyxy", "xywh", "cxcywh"};
    return words[format];
}

static void box_from(const float from[4], sluice_box_format format, float box[4])
{
    const float half[2] = {from[2] / 2, from[3] / 2};
    memcpy(box, from, 4 * sizeof(*box));
    if (format == SLUICE_BOX_CXCYWH) {
        box[0] = from[0] - half[0];
        box[1] = from[1] - half[1];
        box[2] = from[0] + half[0];
        box[3] = from[1] + half[1];
    } else if (format == SLUICE_BOX_XYWH) {
        box[2] = from[0] + from[2];
        box[3] = from[1] + from[3];
    }
}

static void box_to(const float box[4], sluice_box_format format, float to[4])
{
    const float size[2] = {box[2] - box[0], box[3] - box[1]};
    memcpy(to, box, 4 * sizeof(*to));
    if (format == SLUICE_BOX_CXCYWH) {
        to[0] = (box[0] + box[2]) / 2;
        to[1] = (box[1] + box[3]) / 2;
    }
    if (format == SLUICE_BOX_XYWH || format == SLUICE_BOX_CXCYWH) {
        to[2] = size[0];
        to[3] = size[1];
    }
}

static bool box_is_finite(const float box[4])
{
    return isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) && isfinite(box[3]);
}

/* A fault of a box and its remedy. */
#define CORRECT \
    "correct it, or write " SL_OPTION("on_bad_sample mask") " to continue without its sample"
static const sl_box_fault not_finite = {.text = "contains a number that is not finite",
                                        .advice = CORRECT};
static const sl_box_fault not_finite_pixels = {.text =
                                                   "contains a number that is not finite in pixels",
                                               .advice = CORRECT};
static const sl_box_fault negative = {.text = "has a width or height below 0", .advice = CORRECT};
/* Its corners would be valid in another format. */
static const sl_box_fault disordered = {
    .text = "has its right edge left of the left one, or its lower edge above the upper one",
    .advice = "if that is left, top, width, height, write " SL_OPTION("box_format xywh")};
static const sl_box_fault disordered_shares = {
    .text = "has its right edge left of the left one, or its lower edge above the upper one",
    .advice = "if that is center, width, height, write " SL_OPTION("box_format cxcywh")};

static const sl_box_fault *order_fault(const sl_box_rule *rule)
{
    if (rule->format > SLUICE_BOX_XYXY) {
        return &negative;
    }
    return rule->relative ? &disordered_shares : &disordered;
}

const sl_box_fault *sl_boxes_take(sl_box_list *list, const sl_box_rule *rule, uint32_t *which)
{
    const sl_box_fault *first = NULL;
    list->faults = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        float *box = list->boxes[i];
        const float stored[4] = {box[0], box[1], box[2], box[3]};
        box_from(stored, rule->format, box);
        const sl_box_fault *fault = !box_is_finite(box)                  ? &not_finite
                                    : box[2] < box[0] || box[3] < box[1] ? order_fault(rule)
                                                                         : NULL;
        if (fault != NULL) {
            memcpy(box, stored, sizeof(stored));
        }
        if (fault != NULL && list->faults++ == 0) {
            first = fault;
            *which = i;
        }
    }
    return first;
}

void sl_boxes_turn(sl_box_list *list, const sl_turn *turn)
{
    for (uint32_t i = 0; i < list->count; i++) {
        sl_turn_box(turn, list->boxes[i]);
    }
}

const sl_box_fault *sl_boxes_scale(sl_box_list *list, uint32_t width, uint32_t height,
                                   uint32_t *which)
{
    const float sides[2] = {(float)width, (float)height};
    for (uint32_t i = 0; i < list->count; i++) {
        float scaled[4];
        for (size_t k = 0; k < 4; k++) {
            scaled[k] = list->boxes[i][k] * sides[k % 2];
        }
        if (!box_is_finite(scaled)) {
            *which = i;
            return &not_finite_pixels;
        }
        memcpy(list->boxes[i], scaled, sizeof(scaled));
    }
    return NULL;
}

const float (*sl_boxes_show(const sl_box_list *list, uint32_t *count))[4]
{
    *count = list->count;
    if (!list->leaves_out) {
        return (const float(*)[4])list->boxes;
    }
    *count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->left_out[i] == 0) {
            memcpy(list->shown[(*count)++], list->boxes[i], sizeof(*list->shown));
        }
    }
    return (const float(*)[4])list->shown;
}

/* ---- moving ---- */

static double box_area(const double box[4])
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

/* In doubles, for the box in the output; but its visible fraction uses `seen`, before rounding, so
 * that it is 1 for a whole box. */
static bool box_is_kept(const sl_box_rule *rule, const float box[4], double seen, double whole)
{
    const double width = (double)box[2] - (double)box[0];
    const double height = (double)box[3] - (double)box[1];
    if (!(width >= rule->min_size && height >= rule->min_size &&
          width * height >= rule->min_area)) {
        return false;
    }
    if (rule->max_aspect > 0 && fmax(width / height, height / width) > rule->max_aspect) {
        return false;
    }
    return seen >= rule->min_visibility * whole * (1 - ROUNDING);
}

/* The visible part of shapes. */
typedef struct box_view {
    sl_shape_view view;
    double corners[SL_TRAIL_SHOWN_MAX][2];
} box_view;

static void box_view_of(box_view *v, const sl_trail *trail)
{
    memcpy(v->view.matrix, trail->matrix, sizeof(v->view.matrix));
    v->view.seen_corners = sl_trail_shown(trail, v->corners);
    v->view.seen = (const double(*)[2])v->corners;
}

static bool has_shape(const sl_box_list *list, uint32_t number)
{
    const sl_instance *shape = list->shapes != NULL ? &list->shapes->of[number] : NULL;
    return shape != NULL && (shape->runs.width > 0 || shape->polygons > 0);
}

/* Moves a shape. `*shown`: whether anything of it is visible. */
static sluice_status move_shape(const sl_box_list *list, uint32_t number, const box_view *v,
                                sl_trail_box *to, bool *shown, sluice_error *error)
{
    sl_shape_box box;
    const sluice_status status =
        sl_instances_box(list->shapes, number, &v->view, list->scratch, &box, error);
    if (status != SLUICE_OK) {
        return status;
    }
    memcpy(to->box, box.seen, sizeof(to->box));
    memcpy(to->whole, box.whole, sizeof(to->whole));
    *shown = box.seen[2] > box.seen[0];
    return SLUICE_OK;
}

static bool keep_box(sl_box_list *list, const sl_box_rule *rule, const sl_trail_box *to)
{
    float moved[4];
    for (size_t k = 0; k < 4; k++) {
        moved[k] = (float)to->box[k];
    }
    if (!box_is_kept(rule, moved, box_area(to->box), box_area(to->whole))) {
        return false;
    }
    if (list->kept_count == list->most) {
        list->overflows = true;
        return false;
    }
    memcpy(list->moved[list->kept_count], moved, sizeof(moved));
    memcpy(list->whole[list->kept_count], to->whole, sizeof(to->whole));
    return true;
}

static bool box_is_chosen(const sl_box_list *list, uint32_t number)
{
    const sl_box_choice *choice = &list->choice;
    const double unit =
        (double)(sl_philox_u64(choice->key, choice->stream, number) >> 11) * 0x1p-53;
    return has_shape(list, number) && unit < choice->chance;
}

sluice_status sl_boxes_move(sl_box_list *list, const sl_box_rule *rule, const sl_trail *trail,
                            sluice_error *error)
{
    box_view v = {.view = {.width = 0}};
    sluice_status status = SLUICE_OK;
    if (list->shapes != NULL) {
        box_view_of(&v, trail);
        v.view.work = list->work;
    }
    list->kept_count = list->before;
    list->overflows = false;
    for (uint32_t i = 0; i < list->count && status == SLUICE_OK; i++) {
        sl_trail_box to;
        bool kept = false;
        if ((list->leaves_out && list->left_out[i] != 0) ||
            (list->chooses && !box_is_chosen(list, i))) {
            list->kept[i] = 0;
            continue;
        }
        if (has_shape(list, i)) {
            status = move_shape(list, i, &v, &to, &kept, error);
        } else {
            kept = sl_trail_move_box(trail, list->boxes[i], &to);
        }
        kept = kept && status == SLUICE_OK && keep_box(list, rule, &to);
        list->kept[i] = kept;
        list->kept_count += kept;
    }
    return status;
}

bool sl_boxes_cut(sl_box_list *list, const sl_box_rule *rule, uint32_t number, const double left[4])
{
    float *box = list->moved[number];
    double cut[4];
    for (size_t k = 0; k < 4; k++) {
        cut[k] = k < 2 ? fmax(box[k], left[k]) : fmin(box[k], left[k]);
        box[k] = (float)cut[k];
    }
    return cut[2] > cut[0] && cut[3] > cut[1] &&
           box_is_kept(rule, box, box_area(cut), box_area(list->whole[number]));
}

void sl_boxes_drop(sl_box_list *list, const uint8_t *gone, uint32_t count)
{
    uint32_t to = 0;
    for (uint32_t i = 0; i < list->kept_count; i++) {
        if (i < count && gone[i] != 0) {
            continue;
        }
        memmove(list->moved[to], list->moved[i], sizeof(list->moved[i]));
        memmove(list->whole[to++], list->whole[i], sizeof(list->whole[i]));
    }
    list->kept_count = to;
}

void sl_boxes_write(const sl_box_list *list, const sl_box_rule *rule, uint32_t width,
                    uint32_t height, float (*out)[4])
{
    const float sides[2] = {(float)width, (float)height};
    for (uint32_t i = 0; i < list->kept_count; i++) {
        box_to(list->moved[i], rule->out_format, out[i]);
        for (size_t k = 0; rule->out_relative && k < 4; k++) {
            out[i][k] /= sides[k % 2];
        }
    }
}
