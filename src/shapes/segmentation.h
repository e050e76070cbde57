/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segmentation: reads the text that describes the shapes of a sample's instances.
 *
 * Purpose: the text is a JSON array with an element for each annotation of the image, in their
 * order, each in the form of COCO's "segmentation":
 * - polygons: [[x, y, x, y, ...], ...], one for each part of the instance;
 * - a mask: {"size": [height, width], "counts": [...] or "..."}, run_lengths.h;
 * - null, or []: no shape.
 * Blanks may be between any two tokens. It has its own reader: the text is nearly all numbers, and
 * building a JSON tree of them takes seven times as long.
 * Memory: from scratch: 16 bytes per point, 16 per polygon, 4 per run, 32 per annotation.
 * Threads: pure.
 */
#ifndef SL_SEGMENTATION_H
#define SL_SEGMENTATION_H

#include "instances.h"

/*
 * `instances` is in scratch, and valid until that is reset. Errors: CORRUPT (which annotation, why,
 * and the offset in `text`), NOMEM, CANCELED (work->stop; nothing is charged, as the time depends
 * on the text alone).
 */
sluice_status sl_segmentation_read(sl_bytes text, sl_scratch *scratch, const sl_work *work,
                                   sl_instances *instances, sluice_error *error);
/* Returns NULL if `text` is one element of such a text, or a literal: why it is not. */
const char *sl_segmentation_check(sl_bytes text);

#endif
