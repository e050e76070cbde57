/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pictures: whether a row's picture is made of what it should be.
 *
 * Purpose: pictures are of one colour each (data.h), so each pixel of a row must be one of its
 * samples', the fill, or a blend of two in the share that the batch says. Where tiles meet is
 * drawn, and not known here: rows.c compares runs. Any difference ends the program (sim_fail).
 * Threads: fibers.
 */
#ifndef SIM_PICTURES_H
#define SIM_PICTURES_H

#include "cases.h"

/* `samples`: those of the row, as many as it has members; NULL: it has none. */
void sim_picture_check(const sim_case *of, const sluice_batch *batch, uint32_t row,
                       const int64_t *samples);
/* Of the row's pixels; 0 where the case has no pictures. */
uint64_t sim_picture_digest(const sim_case *of, const sluice_batch *batch, uint32_t row);

#endif
