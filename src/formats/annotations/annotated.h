/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotated: where the pictures of annotations may be.
 *
 * Purpose: annotations and pictures mostly are in folders beside each other, and who is to say how
 * far up a dataset goes? The dataset's folder is the one above a folder that is called annotations
 * ("Annotations", "annotations_v2"), in which annotations are, or in a folder of which. Where there
 * is none, it is their own; or, beside that, the one of pictures, if it is called as usual (images,
 * Images, JPEGImages). Threads: pure.
 */
#ifndef SL_ANNOTATED_H
#define SL_ANNOTATED_H

#include "listed.h"

/*
 * Has pictures at `place`, a path from the folder of annotations ("../images"), are in the
 * dataset's folder, as own->boundary and own->depth. `*inside` false: that place does not, and
 * own->boundary is the folder all the same, for errors. Errors: those of sl_boundary_open.
 */
sluice_status sl_annotated_bound(sl_listed *own, const char *folder, const char *place,
                                 bool *inside, sluice_error *error);

#endif
