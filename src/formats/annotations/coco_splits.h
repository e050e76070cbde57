/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_splits: chooses the annotation file of a split.
 *
 * Purpose: "instances_val2017.json" is the split "instances_val2017". It is also "val2017" and
 * "val" if no other file belongs to that split, or if the others are for other tasks
 * ("captions_val2017.json"). Threads: pure.
 */
#ifndef SL_COCO_SPLITS_H
#define SL_COCO_SPLITS_H

#include "omissions.h"

#include <sluice/common.h>

/* Implements sl_format.choose_split. */
sluice_status sl_coco_choose_split(const char *const *paths, uint32_t count, const char *wanted,
                                   uint32_t *number, sl_omissions *passed, sluice_error *error);

#endif
