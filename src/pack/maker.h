/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker: turns the values of one sample, from any source, into a record.
 *
 * Purpose: the single implementation for the writer API and for packs: unpacks frames, re-tiles
 * JPEGs or decodes images, and packs everything according to the plan. Threads: one owner.
 * Ownership: results are in sl_made, or in the values' original memory.
 */
#ifndef SL_MAKER_H
#define SL_MAKER_H

#include "jpeg_retile.h"
#include "piece.h"
#include "pixels.h"
#include "record.h"

typedef struct sl_maker_config {
    const sl_record_plan *plan;
    bool keep_bytes; /* true if JPEGs are kept; otherwise they are re-tiled: */
    sl_jpeg_retile_options retile;
    bool raw;          /* true if images may be requested as pixels */
    uint32_t max_side; /* larger images are downscaled and re-encoded; 0: none */
    uint32_t quality;  /* JPEG quality of these */
} sl_maker_config;

typedef struct sl_maker {
    sl_maker_config config;
    sl_jpeg_retiler *retiler; /* NULL: JPEGs are kept */
    sl_pixels pixels;         /* closed: not needed */
} sl_maker;

/* The result for a sample. */
typedef struct sl_made {
    sl_record record;
    uint8_t *pieces[SL_FIELDS_MAX]; /* owned; unpacked, re-tiled or decoded data */
    uint32_t jpegs[SL_JPEG_OUTCOMES];
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
    uint32_t decoded; /* number of images stored as pixels */
    uint64_t decoded_bytes_before, decoded_bytes_after;
    uint32_t resized; /* number of images downscaled, which are not counted in `jpegs` */
    uint64_t resized_bytes_before, resized_bytes_after;
    sluice_error kept; /* negative status: why a JPEG was kept that should have been re-tiled */
    sl_value blame;    /* on failure: the value at fault; not present: no field */
} sl_made;

/* Errors: NOMEM. */
sluice_status sl_maker_open(sl_maker *maker, const sl_maker_config *config, sluice_error *error);
/* Releases `maker`, which may be zeroed. */
void sl_maker_close(sl_maker *maker);

/*
 * Makes the record of `values`, which are replaced by the stored ones; with `as_pixels`, which
 * requires a config with `raw`, images are stored as pixels. `made` is zeroed; `allowance` NULL:
 * none. Errors: as sl_record_make; for other obstacles: CORRUPT, UNSUPPORTED, CANCELED.
 */
sluice_status sl_maker_make(sl_maker *maker, sl_values *values, bool as_pixels,
                            const sl_allowance *allowance, sl_made *made, sluice_error *error);
/* Frees and zeroes. */
void sl_made_close(sl_made *made);

#endif
