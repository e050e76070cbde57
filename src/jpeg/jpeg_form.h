/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_form: the form in which a JPEG is stored: its Huffman tables and restart interval.
 *
 * Purpose: an image is smallest with its own tables, but the decoder must build them, unlike codes
 * that it knows from other images (jpeg_table_cache.h). Intervals let it skip the part outside a
 * crop and decode two at a time, but must be set up. So large images get both, and small ones are
 * better off with the usual tables (ITU-T T.81, K.3), the smallest without intervals, or unchanged.
 * The fastest form is the one with the least estimated CPU time of a random resized crop; its
 * constants were measured (docs/measurements/decoding.md, "Small JPEGs"). It depends on the image
 * alone. A change of this choice changes the output of a pack, and so must change
 * SL_JPEG_FASTEST_RULE (jpeg_retile.h).
 * Threads: those of the codec objects.
 */
#ifndef SL_JPEG_FORM_H
#define SL_JPEG_FORM_H

#include "jpeg_counts.h"
#include "scratch.h"
#include "view.h"

/* A form, as far as it affects the decoding time. */
typedef struct sl_jpeg_form {
    uint64_t coded_bytes; /* entropy-coded, in all intervals, without stuffing */
    uint64_t least_bytes; /* the same with the shortest codes for the image */
    uint32_t own_sets;    /* pairs of Huffman codes, DC and AC, that no other image has */
    bool tiled;           /* several restart intervals */
} sl_jpeg_form;

/* Returns picoseconds, above the time that all forms of the image take. */
uint64_t sl_jpeg_form_cost(const sl_jpeg_form *form);

/* The current image. */
typedef struct sl_jpeg_subject {
    sl_bytes jpeg;
    j_decompress_ptr in; /* has read its coefficients */
    jvirt_barray_ptr *coefficients;
    j_compress_ptr out;     /* has its parameters and the usual tables */
    sl_jpeg_counts *counts; /* working memory */
    sl_scratch *scratch;
    uint32_t interval; /* MCUs between restart markers, as wanted by re-tiling */
    bool drop;         /* metadata is not to be stored */
} sl_jpeg_subject;

typedef enum sl_jpeg_verdict {
    SL_JPEG_WRITE,  /* write with the interval and tables now in `out` */
    SL_JPEG_LEAVE,  /* nothing is faster than the original image */
    SL_JPEG_TOO_BIG /* a value is too large for 8-bit sequential coding */
} sl_jpeg_verdict;

/* Returns the smallest form: tables of its own, and that interval. */
sl_jpeg_verdict sl_jpeg_form_smallest(const sl_jpeg_subject *subject);
sl_jpeg_verdict sl_jpeg_form_fastest(const sl_jpeg_subject *subject);

#endif
