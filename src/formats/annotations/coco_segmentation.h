/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_segmentation: the shapes of COCO annotations, as texts.
 *
 * Purpose: the field "segmentation" is a JSON array of the "segmentation" values of an image's
 * annotations, which segmentation.h of shapes reads. The values are stored as in the file, without
 * blanks, and parsed only once, to check them. In a large dataset they need more memory than
 * everything else, so the field exists only if it is chosen. Threads: pure.
 */
#ifndef SL_COCO_SEGMENTATION_H
#define SL_COCO_SEGMENTATION_H

#include "view.h"

#include <sluice/dataset.h>

#include <stdbool.h>

#define SL_COCO_SEGMENTATION "segmentation"

/* Returns whether the options choose the field. */
bool sl_coco_wants_segmentation(const sluice_dataset_options *options);
/*
 * Copies an annotation's value to `to`, which has enough space; `*bytes` is 0 for null. Returns
 * NULL, or a literal: why it is not a segmentation.
 */
const char *sl_coco_take_segmentation(sl_bytes written, uint8_t *to, size_t *bytes);

#endif
