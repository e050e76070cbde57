/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segmentation: the text that a sample has of its instances' shapes, read.
 *
 * Purpose: the text is a JSON array with an element for each annotation of the picture, in their
 * order, each as COCO has it in "segmentation":
 * - polygons: [[x, y, x, y, ...], ...], one for each part of the instance;
 * - a mask: {"size": [height, width], "counts": [...] or "..."}, run_lengths.h;
 * - null, or []: no shape.
 * Blanks may be anywhere between. Read by a reader of its own: numbers are nearly all of it, and a
 * tree of them takes seven times as long.
 * Memory: of scratch, by what is there: 16 bytes a point, 16 a polygon, 4 a run, 32 an annotation.
 * Threads: pure.
 */
#ifndef SL_SEGMENTATION_H
#define SL_SEGMENTATION_H

#include "instances.h"

/*
 * `instances` is in scratch, until that is reset. Errors: CORRUPT (which annotation, why, and the
 * offset in `text`), NOMEM, CANCELED (work->stop; nothing is charged, as its time is the text's).
 */
sluice_status sl_segmentation_read(sl_bytes text, sl_scratch *scratch, const sl_work *work,
                                   sl_instances *instances, sluice_error *error);
/* Whether `text` is one element of such a text. NULL, or a literal: why it is not. */
const char *sl_segmentation_check(sl_bytes text);

#endif
