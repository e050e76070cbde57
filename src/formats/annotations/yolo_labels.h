/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_labels: reads one YOLO label file with an object per line.
 *
 * Purpose: a line is "class x y width height" with the box's centre, or "class x1 y1 x2 y2 x3 y3
 * ..." with a polygon, reduced to its bounding box; all values are in 0..1. If the dataset
 * specifies keypoints, a line is a box and its points. Any other line is an error; none is skipped
 * silently. Memory: the file's bytes, at most SL_YOLO_BYTES_MAX, and the kept values. Threads:
 * pure.
 */
#ifndef SL_YOLO_LABELS_H
#define SL_YOLO_LABELS_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_YOLO_BYTES_MAX   ((uint64_t)16 << 20)
#define SL_YOLO_CLASSES_MAX 65536U
/* How far values may exceed 0..1, as in ultralytics. */
#define SL_YOLO_TOLERANCE 0.01

/* Rules of the dataset for its labels. */
typedef struct sl_yolo_rules {
    uint32_t classes; /* number of classes; class numbers are below */
    uint32_t points;  /* points of each object; 0: boxes and polygons */
    uint32_t dims;    /* values per point: 2, or 3 with visibility */
} sl_yolo_rules;

typedef struct sl_yolo_object {
    float box[4]; /* centre x, y, width, height */
    uint32_t class;
} sl_yolo_object;

/* Contents of a label file; zeroed before use, released by sl_yolo_page_close. */
typedef struct sl_yolo_page {
    sl_yolo_object *objects;
    float *points; /* rules->points x rules->dims values per object */
    uint64_t count, capacity, point_capacity;
    bool is_there; /* true if the file exists */
} sl_yolo_page;

/*
 * Reads a label file; a missing one has no objects. Errors: IO; CORRUPT (an invalid line, with its
 * number); UNSUPPORTED (too large); NOMEM.
 */
sluice_status sl_yolo_labels_read(sl_yolo_page *page, const sl_yolo_rules *rules, const char *path,
                                  sluice_error *error);
void sl_yolo_page_close(sl_yolo_page *page);

/* Returns whether a file begins like a label file, or is empty. */
bool sl_yolo_labels_look(const char *path);

#endif
