/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_sizes: the sizes of a field's images, as far as the dataset has them.
 *
 * Purpose: a column of images of several sizes takes its space from them (columns/sizes.h). Sizes
 * are known for packed images, whose records have them, and for images that are files, if their
 * annotations have roles of width and height. Nothing is decoded, and no image file is opened. Of a
 * packed sample the head is read (sample_head.h), once for all fields of images, and the rest only
 * if it has a size that no earlier sample had: its checksum then confirms the size. The result is
 * kept with the dataset, for its later loaders, unless a sample could not be read. An unreadable
 * sample ends opening as it would end an epoch (on_bad_sample); else it will be a bad sample, and
 * does not count. Images that EXIF may turn count in both orientations. So do annotated ones, even
 * if EXIF is ignored: annotations may refer to the turned image or not.
 *
 * Threads: opening only; blocks, and reads with several threads. Memory: 48 bytes for each
 * different size, while the dataset is open, and 32 KiB for each thread; no limit counts them.
 * Shards of version 1 have no heads: their samples are read whole.
 */
#ifndef SL_KNOWN_SIZES_H
#define SL_KNOWN_SIZES_H

#include "dataset.h"
#include "largest_size.h"

#include <sluice/loader.h>

typedef struct sl_known_sizes {
    sl_dataset *dataset;
    sluice_exif exif;
    bool skips;       /* true if the loader continues after an unreadable sample */
    sl_bounds *found; /* of this opening, by field; NULL: not searched yet */
    uint64_t known;   /* fields that `found` has, a bit for each */
} sl_known_sizes;

/* Adds the sizes to empty bounds, or leaves them unbounded: one of them is not known. An
 * sl_image_sizes' `find`, whose ctx is an sl_known_sizes. Errors: IO, NOMEM, CANCELED. */
sluice_status sl_known_sizes_find(void *ctx, uint32_t field, sl_bounds *bounds,
                                  sluice_error *error);
void sl_known_sizes_close(sl_known_sizes *sizes);

#endif
