/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds: the tables of all kinds of columns, each defined in its column_x.c. Constant.
 */
#ifndef SL_KINDS_H
#define SL_KINDS_H

#include "column.h"

extern const sl_column_kind sl_column_image, sl_column_number, sl_column_one_hot, sl_column_tensor,
    sl_column_window, sl_column_ragged, sl_column_padded, sl_column_mask, sl_column_boxes,
    sl_column_points, sl_column_geometry, sl_column_instances, sl_column_packed;
/* For a TENSOR of a field of media; for a MASK of a field of shapes. */
extern const sl_column_kind sl_column_samples, sl_column_class_map;

#endif
