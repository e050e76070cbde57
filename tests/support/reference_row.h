/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference_row: one row of a batch made by hand, one step after another on the caller's
 * thread, with none of the loader's machinery.
 */
#ifndef SL_REFERENCE_ROW_H
#define SL_REFERENCE_ROW_H

#include "loader_setup.h"

/* The row that sample `index` of `photos` must have in `epoch` with the recipe of setup_recipe. */
void reference_row(const photo_folder *photos, const sluice_loader_options *options, uint64_t epoch,
                   uint64_t index, void *row);

#endif
