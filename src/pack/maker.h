/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker: the values of one sample, from anywhere, made into a record.
 *
 * Purpose: what happens to a sample on its way into a shard, in one place for the writer API and
 * for packs: frames are unpacked, JPEGs re-tiled or pictures decoded, and all is packed as the plan
 * says. Threads: one owner.
 * Ownership: what a maker makes is in sl_made, or where the values came from.
 */
#ifndef SL_MAKER_H
#define SL_MAKER_H

#include "jpeg_retile.h"
#include "piece.h"
#include "pixels.h"
#include "record.h"

typedef struct sl_maker_config {
    const sl_record_plan *plan;
    bool keep_bytes; /* JPEGs stay as they are; otherwise they are re-tiled: */
    sl_jpeg_retile_options retile;
    bool raw;          /* pictures may be asked for as pixels */
    uint32_t max_side; /* larger pictures are made smaller and coded anew; 0: none is */
    uint32_t quality;  /* of JPEGs that are */
} sl_maker_config;

typedef struct sl_maker {
    sl_maker_config config;
    sl_jpeg_retiler *retiler; /* NULL: JPEGs stay as they are */
    sl_pixels pixels;         /* closed: nobody wants any */
} sl_maker;

/* What became of a sample. */
typedef struct sl_made {
    sl_record record;
    uint8_t *pieces[SL_FIELDS_MAX]; /* owned: what was unpacked, re-tiled or decoded */
    uint32_t jpegs[SL_JPEG_OUTCOMES];
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
    uint32_t decoded; /* pictures */
    uint64_t decoded_bytes_before, decoded_bytes_after;
    uint32_t resized; /* pictures, which are none of `jpegs` */
    uint64_t resized_bytes_before, resized_bytes_after;
    sluice_error kept; /* status < 0: why a JPEG was kept that should not have been */
    sl_value blame;    /* of a failure: what it was about; not present: no field */
} sl_made;

/* Errors: NOMEM. */
sluice_status sl_maker_open(sl_maker *maker, const sl_maker_config *config, sluice_error *error);
/* A zeroed maker may be closed. */
void sl_maker_close(sl_maker *maker);

/*
 * Makes the record of `values`, which become what is stored; of pictures the pixels where
 * `as_pixels`, with a config that says `raw`. `made` is zeroed; `allowance` NULL: none. Errors: as
 * sl_record_make, and of what is in the way: CORRUPT, UNSUPPORTED, CANCELED.
 */
sluice_status sl_maker_make(sl_maker *maker, sl_values *values, bool as_pixels,
                            const sl_allowance *allowance, sl_made *made, sluice_error *error);
/* Frees, and zeroes. */
void sl_made_close(sl_made *made);

#endif
