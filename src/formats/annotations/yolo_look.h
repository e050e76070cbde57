/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_look: recognises folders of YOLO labels and images by the names of their files.
 *
 * Purpose: folders named images and labels are enough, even if no label file can be read or none
 * has the base name of an image; opening them then reports the problem. Reads no file. Threads:
 * any.
 */
#ifndef SL_YOLO_LOOK_H
#define SL_YOLO_LOOK_H

#include <stdbool.h>

/* Returns whether a file is a label file by its name: .txt, in upper or lower case. */
bool sl_yolo_is_label_named(const char *name);
/*
 * Returns whether the first files include label files, and no masks or annotations; `deep`: also in
 * sub-folders.
 */
bool sl_yolo_has_labels(const char *folder, bool deep);
/* Returns whether the first files include an image, likewise. */
bool sl_yolo_has_pictures(const char *folder, bool deep);

#endif
