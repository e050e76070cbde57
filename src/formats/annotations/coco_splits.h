/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_splits: which of several files of annotations a split is.
 *
 * Purpose: "instances_val2017.json" is the split "instances_val2017"; "val2017" and "val", too,
 * if no other file is of that split, or if the others have another task: "captions_val2017.json".
 * Threads: pure.
 */
#ifndef SL_COCO_SPLITS_H
#define SL_COCO_SPLITS_H

#include "omissions.h"

#include <sluice/common.h>

/* As sl_format.choose_split has it. */
sluice_status sl_coco_choose_split(const char *const *paths, uint32_t count, const char *wanted,
                                   uint32_t *number, sl_omissions *passed, sluice_error *error);

#endif
