/* SPDX-License-Identifier: Apache-2.0 */
/* pictures: checks the origin of a row's image.
 *
 * Purpose: each image has one colour (data.h), so each pixel of a row must be the colour of one of
 * its samples, the fill, or a blend of two with the batch's share. The borders between tiles are
 * drawn at random and unknown here: rows.c compares runs. Any difference ends the program
 * (sim_fail). Threads: fibers. */
#ifndef SIM_PICTURES_H
#define SIM_PICTURES_H

#include "cases.h"

/* `samples`: the row's samples, one per member; NULL: it has none. */
void sim_picture_check(const sim_case *of, const sluice_batch *batch, uint32_t row,
                       const int64_t *samples);
/* Returns a digest of the row's pixels; 0 if the case has no images. */
uint64_t sim_picture_digest(const sim_case *of, const sluice_batch *batch, uint32_t row);

#endif
