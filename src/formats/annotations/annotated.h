/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotated: determines the dataset's folder, in which the images of annotations may be.
 *
 * Purpose: annotations and images are usually in folders beside each other, so the dataset begins
 * somewhere above the annotations. It is the folder above one named annotations ("Annotations",
 * "annotations_v2") that contains the annotations, directly or one folder deeper. Without such a
 * folder, it is the annotations' own folder, or an image folder beside that with a usual name
 * (images, Images, JPEGImages). Threads: pure.
 */
#ifndef SL_ANNOTATED_H
#define SL_ANNOTATED_H

#include "listed.h"

/*
 * Requires images at `place`, a path relative to the annotations' folder ("../images"), to be in
 * the dataset's folder; sets own->boundary and own->depth. `*inside` false: `place` is outside;
 * own->boundary is set all the same, for errors. Errors: those of sl_boundary_open.
 */
sluice_status sl_annotated_bound(sl_listed *own, const char *folder, const char *place,
                                 bool *inside, sluice_error *error);

#endif
