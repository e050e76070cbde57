/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes: those of a sample: their formats, moving them by a program's trail, and which are kept.
 *
 * Purpose: between what is stored and the trail (augment/program/trail.h). A list is a worker's:
 * the boxes of the sample at hand, as left, top, right, bottom in pixels of the picture, and, once
 * they were moved, where they are in the output and whether they are kept. What belongs to them,
 * labels or points, goes by `kept`. Where there are shapes of the objects, boxes are made anew of
 * what is seen of these; those without a shape are moved. Threads: one owner. Memory: of the
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

/* Why four numbers are not a box: "box 3 TEXT: ...; ADVICE". */
typedef struct sl_box_fault {
    const char *text, *advice;
} sl_box_fault;

/* Of some objects a part is taken, each with a chance, by a key and its number; those without a
 * shape are not. */
typedef struct sl_box_choice {
    uint64_t key, stream;
    double chance;
} sl_box_choice;

typedef struct sl_box_list {
    uint64_t stored; /* of the sample; `count` of them are in the list: the column may cut it off */
    uint32_t count, kept_count;
    uint32_t before; /* of kept_count: those of earlier members of the row */
    uint64_t seen;   /* boxes of all members so far, but crowds */
    uint64_t added;  /* of these, the member's at hand */
    uint32_t faults; /* boxes of the sample that are none (sl_boxes_take) */
    uint32_t most;   /* that there is room for */
    bool overflows;  /* more would be kept */
    float (*boxes)[4];
    float (*moved)[4];  /* of those that are kept */
    double (*whole)[4]; /* likewise, also of what is not seen */
    uint8_t *kept;      /* for each, 1 or 0 */
    bool leaves_out;    /* those that `left_out` has 1 for, else 0 */
    uint8_t *left_out;
    float (*shown)[4]; /* sl_boxes_show's */
    bool chooses;      /* else all are taken */
    sl_box_choice choice;
    const struct sl_instances
        *shapes;                /* one for each that is stored, while boxes are moved; NULL: none */
    struct sl_scratch *scratch; /* for these */
    struct sl_work *work;       /* likewise */
} sl_box_list;

/* The option's word for it. */
const char *sl_box_format_word(sluice_box_format format);

/* Room for `most` boxes. NOMEM. A zeroed list may be closed. */
sluice_status sl_boxes_open(sl_box_list *list, uint64_t most, sluice_error *error);
void sl_boxes_close(sl_box_list *list);

/* Begins a row: nothing is kept or seen of it. */
void sl_boxes_begin_row(sl_box_list *list);
/* Begins a member of the row, which has no boxes yet; those of earlier ones stay kept. */
void sl_boxes_begin_member(sl_box_list *list);
/* Adds the member's boxes, `count` of the `stored` ones, which are in `boxes`. */
void sl_boxes_add(sl_box_list *list, uint64_t stored, uint64_t count);
/* Leaves box `number` of the member out, or not; of a list that `leaves_out`. */
void sl_boxes_leave_out(sl_box_list *list, uint32_t number, bool leaves);
/* Takes the member's boxes out of those that are seen: the row has other boxes, too. */
void sl_boxes_unsee(sl_box_list *list);

/* Converts the stored boxes to left, top, right, bottom; `relative` ones stay shares. Returns the
 * fault of box `*which`, the first that is none, else NULL. Such boxes stay as stored. */
const sl_box_fault *sl_boxes_take(sl_box_list *list, const sl_box_rule *rule, uint32_t *which);
/* They were annotated in the picture the other way up. */
void sl_boxes_turn(sl_box_list *list, const sl_turn *turn);
/* Scales shares of the picture's sides to pixels. Returns the fault of box `*which`, which stays
 * as it was, or NULL. */
const sl_box_fault *sl_boxes_scale(sl_box_list *list, uint32_t width, uint32_t height,
                                   uint32_t *which);
/* Those that are not left out, until the next sample's. */
const float (*sl_boxes_show(const sl_box_list *list, uint32_t *count))[4];
/* Fills `moved` behind `before`, `kept` and kept_count. Errors, with shapes: NOMEM (scratch), those
 * of their work. */
sluice_status sl_boxes_move(sl_box_list *list, const sl_box_rule *rule, const sl_trail *trail,
                            sluice_error *error);
/* Of box `number` of those that are kept nothing is seen any more but what is in `left`; false: so
 * it is not to be kept. */
bool sl_boxes_cut(sl_box_list *list, const sl_box_rule *rule, uint32_t number,
                  const double left[4]);
/* Of the first `count` of them only those that `gone` has 0 for are kept. */
void sl_boxes_drop(sl_box_list *list, const uint8_t *gone, uint32_t count);
/* Those that are kept, as `rule` has them out, of an output of that size. */
void sl_boxes_write(const sl_box_list *list, const sl_box_rule *rule, uint32_t width,
                    uint32_t height, float (*out)[4]);

#endif
