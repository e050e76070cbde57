/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_pictures: where the pictures of COCO's annotations are.
 *
 * Purpose: annotations name them without folders, or from one of several; the folder is the first
 * of the usual ones that has the first picture. Threads: pure.
 */
#ifndef SL_COCO_PICTURES_H
#define SL_COCO_PICTURES_H

#include "listed.h"

/*
 * Makes own->root, the folder of the annotations at `path`, that of their pictures. `first` is the
 * path of one; unless `anywhere`, they get a boundary. Errors: INVALID (it is in none of the
 * folders, or in one that is outside), IO, NOMEM.
 */
sluice_status sl_coco_find_pictures(sl_listed *own, const char *path, sl_bytes first, bool anywhere,
                                    sluice_error *error);

#endif
