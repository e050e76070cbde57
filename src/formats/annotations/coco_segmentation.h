/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_segmentation: the shapes of COCO's annotations, as texts.
 *
 * Purpose: the field "segmentation" is a JSON array of what the annotations of a picture have in
 * "segmentation" (segmentation.h of shapes reads it), so it is kept as it is written, but for
 * blanks, and nothing of it is parsed but once, to check it. Those of a large dataset take more
 * memory than all else, so it is a field only where it is chosen. Threads: pure.
 */
#ifndef SL_COCO_SEGMENTATION_H
#define SL_COCO_SEGMENTATION_H

#include "view.h"

#include <sluice/dataset.h>

#include <stdbool.h>

#define SL_COCO_SEGMENTATION "segmentation"

/* Whether a choice is of it. */
bool sl_coco_wants_segmentation(const sluice_dataset_options *options);
/* Copies what an annotation has to `to`, where there is space for all of it: `*bytes`, 0 of null.
 * NULL, or a literal: why it is none. */
const char *sl_coco_take_segmentation(sl_bytes written, uint8_t *to, size_t *bytes);

#endif
