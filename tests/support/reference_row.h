/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference_row: makes one row of a batch step by step on the caller's thread, without the loader's
 * machinery.
 */
#ifndef SL_REFERENCE_ROW_H
#define SL_REFERENCE_ROW_H

#include "loader_setup.h"

/* Makes the row that sample `index` of `photos` must have in `epoch` with the recipe of
 * setup_recipe. */
void reference_row(const photo_folder *photos, const sluice_loader_options *options, uint64_t epoch,
                   uint64_t index, void *row);

#endif
