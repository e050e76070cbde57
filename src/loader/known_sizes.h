/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_sizes: the sizes of a field's images, as far as the dataset names them.
 *
 * Purpose: a column of images of several sizes takes its space from them (columns/sizes.h). Sizes
 * are known of packed images, whose records have them, and of images that are files, if their
 * annotations have roles of width and height. Nothing is decoded, and no file of an image is
 * opened. Of a packed sample the head is read (sample_head.h), once for all fields of images, and
 * the rest only where it names a size that no sample before had: its checksum then says whether
 * that is true. What was found is kept with the dataset, for the loaders that it has later, unless
 * a sample could not be read. A sample that cannot be read ends opening as it would end an epoch
 * (on_bad_sample); else it will be a bad sample, and does not count. Images that EXIF may turn
 * count either way up. So do annotated ones, even where EXIF is ignored: annotations may mean the
 * image turned or not.
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
    bool skips;       /* True if the loader goes on where a sample cannot be read */
    sl_bounds *found; /* of this opening, by field; NULL: nothing was looked for */
    uint64_t known;   /* fields that `found` has, a bit for each */
} sl_known_sizes;

/* Adds the sizes to empty bounds, or leaves them any: one of them is not known. An sl_image_sizes'
 * `find`, whose ctx is an sl_known_sizes. Errors: IO, NOMEM, CANCELED. */
sluice_status sl_known_sizes_find(void *ctx, uint32_t field, sl_bounds *bounds,
                                  sluice_error *error);
void sl_known_sizes_close(sl_known_sizes *sizes);

#endif
