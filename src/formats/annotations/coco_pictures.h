/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_pictures: finds the images of COCO annotations.
 *
 * Purpose: annotations name images without a folder, or relative to one of several; the folder is
 * the first of the usual ones that contains the first image. Threads: pure.
 */
#ifndef SL_COCO_PICTURES_H
#define SL_COCO_PICTURES_H

#include "coco_opener.h"

/*
 * Sets own->root, the folder of the annotations, to that of their images. For panoptic annotations,
 * whose segments files are elsewhere, paths stay relative to the annotations, with o->prefix before
 * those of images. Missing images are skipped, but one must be found. Sets a boundary unless
 * `anywhere`. Errors: INVALID (no image in any of the folders, or the folder is outside), IO,
 * NOMEM.
 */
sluice_status sl_coco_find_pictures(sl_coco_opener *o, bool anywhere, sluice_error *error);

#endif
