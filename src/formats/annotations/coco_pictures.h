/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_pictures: where the pictures of COCO's annotations are.
 *
 * Purpose: annotations name them without folders, or from one of several; the folder is the first
 * of the usual ones that has the first picture. Threads: pure.
 */
#ifndef SL_COCO_PICTURES_H
#define SL_COCO_PICTURES_H

#include "coco_opener.h"

/*
 * Makes own->root, the folder of the annotations, that of their pictures; of panoptic annotations,
 * whose files of segments are elsewhere, paths stay relative to it, with o->prefix before those of
 * pictures. Pictures that are missing are passed over, but one has to be found. Unless `anywhere`,
 * they get a boundary. Errors: INVALID (none is in one of the folders, or that is outside), IO,
 * NOMEM.
 */
sluice_status sl_coco_find_pictures(sl_coco_opener *o, bool anywhere, sluice_error *error);

#endif
