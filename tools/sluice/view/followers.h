/* SPDX-License-Identifier: Apache-2.0 */
/* followers: the fields that follow a dataset's image (boxes with their labels, points, a mask),
 * shown on a sheet without a request. Main thread. */
#ifndef TOOL_FOLLOWERS_H
#define TOOL_FOLLOWERS_H

#include "column_set.h"

/* Fills in the columns of a dataset with one image and fields that follow it. Changes nothing
 * for other datasets, or if columns were requested. */
void followers_add(struct column_set *set, const sluice_dataset *dataset);

#endif
