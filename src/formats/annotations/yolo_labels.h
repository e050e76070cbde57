/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_labels: one label file of YOLO's kind: a line an object.
 *
 * Purpose: "class x y width height" with the box's centre, or "class x1 y1 x2 y2 x3 y3 ..." with a
 * polygon, whose bounding box counts, all from 0 to 1; or a box and its points, where the dataset
 * says how many these are. Nothing else is taken for an object, nor left out without a word.
 * Memory: the file's bytes, SL_YOLO_BYTES_MAX at most, and what is kept. Threads: pure.
 */
#ifndef SL_YOLO_LABELS_H
#define SL_YOLO_LABELS_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_YOLO_BYTES_MAX   ((uint64_t)16 << 20)
#define SL_YOLO_CLASSES_MAX 65536U
/* How far outside of the picture numbers may be, as ultralytics has it. */
#define SL_YOLO_TOLERANCE 0.01

/* What the dataset says of its labels. */
typedef struct sl_yolo_rules {
    uint32_t classes; /* numbers of classes are below this */
    uint32_t points;  /* that each object has; 0: boxes and polygons */
    uint32_t dims;    /* numbers of a point: 2, or 3 with its visibility */
} sl_yolo_rules;

typedef struct sl_yolo_object {
    float box[4]; /* centre x, y, width, height */
    uint32_t class;
} sl_yolo_object;

/* Zeroed before; ended by sl_yolo_page_close. */
typedef struct sl_yolo_page {
    sl_yolo_object *objects;
    float *points; /* rules->points x rules->dims an object */
    uint64_t count, capacity, point_capacity;
    bool is_there; /* there is a file */
} sl_yolo_page;

/* No file: no objects. Errors: IO; CORRUPT (a line that is no object, by its number); UNSUPPORTED
 * (too large); NOMEM. */
sluice_status sl_yolo_labels_read(sl_yolo_page *page, const sl_yolo_rules *rules, const char *path,
                                  sluice_error *error);
void sl_yolo_page_close(sl_yolo_page *page);

/* Whether a file begins as such labels do, or is empty. */
bool sl_yolo_labels_look(const char *path);

#endif
