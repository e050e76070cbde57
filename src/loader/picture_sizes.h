/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_sizes: the size of each sample's image, before any of them is loaded.
 *
 * Purpose: the index has it, or the image's header: of an image that is a file of its own the first
 * 64 KiB are read, and all of it if that is too little; of a packed dataset the sample.
 *
 * Threads: opening only; blocks, with as many threads as the options have workers. `found` is
 * called on any of them, once for each sample.
 */
#ifndef SL_PICTURE_SIZES_H
#define SL_PICTURE_SIZES_H

#include "dataset.h"

#include <sluice/loader.h>

typedef struct sl_picture_sizes {
    const sluice_loader_options *options; /* with defaults: workers, exif, max_sample_bytes */
    const sl_dataset *dataset;
    uint32_t field; /* of pictures */
    /* `size`: as a loader decodes the image; NULL: it cannot be read for another reason than the
     * file system's. */
    void (*found)(void *ctx, uint64_t index, const sluice_size *size);
    void *ctx;
} sl_picture_sizes;

/* Errors: IO, NOMEM. */
sluice_status sl_picture_sizes_find(const sl_picture_sizes *wanted, sluice_error *error);

#endif
