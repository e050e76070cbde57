/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_lengths: masks in COCO's run-length encoding.
 *
 * Purpose: a mask of width x height is the lengths of runs of pixels, column by column from the top
 * left, alternately of pixels that are not covered and pixels that are; the first length may be 0.
 * COCO has them as numbers ("counts", uncompressed), or as a text (compressed): each length as
 * groups of 5 bits, the lowest first, a character '0' + group each, + 32 if another one follows;
 * the highest bit of the last one is the sign; from the fourth length on it is the difference to
 * the length two before (rleToString and rleFrString of cocoapi's common/maskApi.c). Stored is
 * where each run ends, so that a pixel is found without decoding.
 *
 * Memory: 4 bytes for each run that was read, the caller's; never an amount that depends on `size`.
 *
 * Threads: pure.
 */
#ifndef SL_RUN_LENGTHS_H
#define SL_RUN_LENGTHS_H

#include "error.h"
#include "mask.h"
#include "view.h"

#include <stdbool.h>

typedef struct sl_run_lengths {
    uint32_t width, height; /* 0: there is no mask */
    uint32_t count;         /* of runs */
    /* the place after each run's last pixel, counted from the first pixel */
    const uint32_t *ends;
} sl_run_lengths;

/* Reads run by run, from unchecked lengths. */
typedef struct sl_run_reader {
    uint64_t end; /* the end of the runs so far */
    uint32_t count;
    int64_t last[3]; /* lengths, the latest one last */
    int64_t value;   /* of the length whose groups are being read */
    uint32_t groups; /* of that length, so far */
    uint32_t *ends;  /* where they are stored; NULL: nowhere */
} sl_run_reader;

/* Returns NULL, or a literal: why the run or character is not valid. */
const char *sl_run_reader_add(sl_run_reader *reader, double length);
const char *sl_run_reader_add_sign(sl_run_reader *reader, uint8_t sign);
/* Does the same at the end: checks that these are the runs of a mask of width x height. */
const char *sl_run_reader_check(const sl_run_reader *reader, double width, double height);

/* Returns the number of covered pixels. */
uint64_t sl_run_lengths_area(const sl_run_lengths *runs);
/* Returns the smallest rectangle with all covered pixels (cocoapi's toBbox); width 0: there are
 * none. */
sl_rect sl_run_lengths_box(const sl_run_lengths *runs);
/* Draws them to a mask of their size. */
void sl_run_lengths_fill(const sl_run_lengths *runs, const sl_mask *mask);
/*
 * Draws them to another mask: a pixel is covered if its centre, moved by `inverse`, is in a covered
 * pixel. `inverse` is a 3 x 3 matrix, row by row, from the mask's coordinates to those of the runs.
 * Time: O(runs + pixels of the mask in the moved box of the covered pixels). Errors: those of
 * mask->work; part of it may be drawn then.
 */
sluice_status sl_run_lengths_sample(const sl_run_lengths *runs, const double inverse[9],
                                    const sl_mask *mask, sluice_error *error);

#endif
