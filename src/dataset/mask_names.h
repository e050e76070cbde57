/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_names: how label masks are named after their images (docs/formats/images.md).
 *
 * Purpose: one list for the format that reads such pairs and for the format that must not take
 * them for classes. Lists of string literals, for initializers.
 */
#ifndef SL_MASK_NAMES_H
#define SL_MASK_NAMES_H

/* Endings that the folder of the masks adds to the name of the folder of images beside it. */
#define SL_MASK_FOLDER_ENDS "_masks", "_mask", "annot", "_labels"
/* Endings that a mask may add to the base name of its image. */
#define SL_MASK_FILE_ENDS \
    "", "_mask", "_masks", "_segmentation", "_seg", "_gt", "_label", "_labels", "_L"

#endif
