/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes: a sample's boxes: their formats, their movement by a program's trail, and which of them
 * are kept.
 *
 * Purpose: the layer between stored boxes and the trail (augment/program/trail.h). A list is a
 * worker's: the boxes of the current sample, as left, top, right, bottom in pixels of the image,
 * and, once they were moved, their positions in the output and whether they are kept. Labels or
 * points that belong to them go by `kept`. If the objects have shapes, boxes are computed from the
 * visible parts of these; boxes without a shape are moved. Threads: one owner. Memory: the
 * worker's, as many as the column's length.
 */
#ifndef SL_BOXES_H
#define SL_BOXES_H

#include "trail.h"
#include "turn.h"

#include <sluice/columns.h>

struct sl_instances;
struct sl_scratch;
struct sl_work;

/* torchvision's SanitizeBoundingBoxes. */
#define SL_BOX_SIZE_MIN 1.0
#define SL_BOX_AREA_MIN 1.0

typedef struct sl_box_rule {
    sluice_box_format format, out_format;
    bool relative, out_relative;
    bool at_least_one;
    double min_size, min_area, min_visibility;
    double max_aspect; /* 0: any */
} sl_box_rule;

/* Reason four numbers are not a box: "box 3 TEXT: ...; ADVICE". */
typedef struct sl_box_fault {
    const char *text, *advice;
} sl_box_fault;

/* Chooses some objects, each with a probability, by a key and its number; objects without a shape
 * are never chosen. */
typedef struct sl_box_choice {
    uint64_t key, stream;
    double chance;
} sl_box_choice;

typedef struct sl_box_list {
    /* boxes of the sample; `count` of them are in the list: the column may truncate it */
    uint64_t stored;
    uint32_t count, kept_count;
    uint32_t before; /* part of kept_count that belongs to earlier members of the row */
    uint64_t seen;   /* boxes of all members so far, except crowds */
    uint64_t added;  /* of these, the current member's */
    uint32_t faults; /* invalid boxes of the sample (sl_boxes_take) */
    uint32_t most;   /* capacity */
    bool overflows;  /* more boxes would be kept */
    float (*boxes)[4];
    float (*moved)[4];  /* output positions of kept boxes */
    double (*whole)[4]; /* likewise, including the invisible part */
    uint8_t *kept;      /* 1 or 0 for each */
    bool leaves_out;    /* true: boxes with 1 in `left_out` are left out */
    uint8_t *left_out;
    float (*shown)[4]; /* sl_boxes_show's */
    bool chooses;      /* false: all are chosen */
    sl_box_choice choice;
    const struct sl_instances
        *shapes;                /* one for each stored box, while boxes are moved; NULL: none */
    struct sl_scratch *scratch; /* for the shapes */
    struct sl_work *work;       /* likewise */
} sl_box_list;

/* Returns the option's word for the format. */
const char *sl_box_format_word(sluice_box_format format);

/* Opens a list with capacity for `most` boxes. NOMEM. A zeroed list may be closed. */
sluice_status sl_boxes_open(sl_box_list *list, uint64_t most, sluice_error *error);
void sl_boxes_close(sl_box_list *list);

/* Begins a row: no box is kept or seen yet. */
void sl_boxes_begin_row(sl_box_list *list);
/* Begins a member of the row, which has no boxes yet; those of earlier ones stay kept. */
void sl_boxes_begin_member(sl_box_list *list);
/* Adds the member's boxes, `count` of the `stored` ones, which are in `boxes`. */
void sl_boxes_add(sl_box_list *list, uint64_t stored, uint64_t count);
/* Leaves box `number` of the member out, or includes it; only for a list that `leaves_out`. */
void sl_boxes_leave_out(sl_box_list *list, uint32_t number, bool leaves);
/* Removes the member's boxes from those that are seen, since the row has other boxes. */
void sl_boxes_unsee(sl_box_list *list);

/* Converts the stored boxes to left, top, right, bottom; `relative` ones stay fractions. Returns
 * the fault of box `*which`, the first invalid one, else NULL. Invalid boxes stay as stored. */
const sl_box_fault *sl_boxes_take(sl_box_list *list, const sl_box_rule *rule, uint32_t *which);
/* Turns boxes that were annotated in another orientation of the image. */
void sl_boxes_turn(sl_box_list *list, const sl_turn *turn);
/* Scales fractions of the image's sides to pixels. Returns the fault of box `*which`, which is not
 * changed, or NULL. */
const sl_box_fault *sl_boxes_scale(sl_box_list *list, uint32_t width, uint32_t height,
                                   uint32_t *which);
/* Returns the boxes that are not left out, valid until the next sample's. */
const float (*sl_boxes_show(const sl_box_list *list, uint32_t *count))[4];
/* Fills `moved` from `before` on, `kept` and kept_count. Errors, with shapes: NOMEM (scratch),
 * those of their work. */
sluice_status sl_boxes_move(sl_box_list *list, const sl_box_rule *rule, const sl_trail *trail,
                            sluice_error *error);
/* Reduces kept box `number` to `left`, its part that is still visible; false: it must be
 * dropped. */
bool sl_boxes_cut(sl_box_list *list, const sl_box_rule *rule, uint32_t number,
                  const double left[4]);
/* Keeps only boxes with 0 in `gone`, of the first `count`. */
void sl_boxes_drop(sl_box_list *list, const uint8_t *gone, uint32_t count);
/* Writes the kept boxes in `rule`'s output format, for an output of that size. */
void sl_boxes_write(const sl_box_list *list, const sl_box_rule *rule, uint32_t width,
                    uint32_t height, float (*out)[4]);

#endif
