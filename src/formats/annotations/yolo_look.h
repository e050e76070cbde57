/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_look: whether folders look like YOLO's labels and pictures, by the names of their files.
 *
 * Purpose: folders called images and labels say what is meant, also where no label file can be read
 * or none is called like a picture; then opening them says what is wrong. Reads no file.
 * Threads: any.
 */
#ifndef SL_YOLO_LOOK_H
#define SL_YOLO_LOOK_H

#include <stdbool.h>

/* A label file, by its name: .txt, in any case of letters. */
bool sl_yolo_is_label_named(const char *name);
/* Whether there are label files, and no masks or annotations, among the first files; of folders in
 * it, too, where `deep`. */
bool sl_yolo_has_labels(const char *folder, bool deep);
/* Whether there is a picture, likewise. */
bool sl_yolo_has_pictures(const char *folder, bool deep);

#endif
