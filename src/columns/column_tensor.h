/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_tensor: which part of a tensor a TENSOR column takes. Threads: pure.
 */
#ifndef SL_COLUMN_TENSOR_H
#define SL_COLUMN_TENSOR_H

#include "column.h"
#include "subvolume.h"

/* Returns the part that the column takes of its field. */
sl_subvolume sl_column_subvolume(const sl_column *column);

#endif
