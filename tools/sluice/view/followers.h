/* SPDX-License-Identifier: Apache-2.0 */
/*
 * followers: what a dataset knows to follow its image (boxes with their labels, points, a mask),
 * which a sheet shows without being asked. Main thread.
 */
#ifndef TOOL_FOLLOWERS_H
#define TOOL_FOLLOWERS_H

#include "column_set.h"

/* Fills in the columns of a dataset with one image and something that follows it. Changes nothing
 * for any other dataset, and where columns were asked for. */
void followers_add(struct column_set *set, const sluice_dataset *dataset);

#endif
