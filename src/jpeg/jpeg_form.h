/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_form: the form in which a JPEG is to be stored: its Huffman tables and restart interval.
 *
 * Purpose: tables of a picture's own make it smallest, but the decoder has to make them anew, which
 * it does not for codes that other pictures have as well (jpeg_table_cache.h). Intervals let it
 * leave out what a crop does not need and decode two at a time, but have to be set up. So large
 * pictures get both, and small ones are better off with the usual tables (ITU-T T.81, K.3), the
 * smallest without intervals, or as they are.
 * The fastest form is the one with the least estimated CPU time of a random resized crop; its
 * constants were measured (docs/measurements/decoding.md, "Small JPEGs"). It depends on the picture
 * alone. A change of what is chosen changes what a pack writes, and so SL_JPEG_FASTEST_RULE
 * (jpeg_retile.h).
 * Threads: those of the codec objects.
 */
#ifndef SL_JPEG_FORM_H
#define SL_JPEG_FORM_H

#include "jpeg_counts.h"
#include "scratch.h"
#include "view.h"

/* As far as it decides what a decode takes. */
typedef struct sl_jpeg_form {
    uint64_t coded_bytes; /* entropy-coded, in all intervals, without what is stuffed */
    uint64_t least_bytes; /* the same with the shortest codes for the picture */
    uint32_t own_sets;    /* pairs of Huffman codes, DC and AC, that no other picture has */
    bool tiled;           /* several restart intervals */
} sl_jpeg_form;

/* Picoseconds, above what all forms of the picture take. */
uint64_t sl_jpeg_form_cost(const sl_jpeg_form *form);

/* The picture at hand. */
typedef struct sl_jpeg_subject {
    sl_bytes jpeg;
    j_decompress_ptr in; /* has read its coefficients */
    jvirt_barray_ptr *coefficients;
    j_compress_ptr out;     /* has its parameters and the usual tables */
    sl_jpeg_counts *counts; /* to work with */
    sl_scratch *scratch;
    uint32_t interval; /* MCUs between restart markers, as re-tiling wants it */
    bool drop;         /* metadata is not to be stored */
} sl_jpeg_subject;

typedef enum sl_jpeg_verdict {
    SL_JPEG_WRITE,  /* as `out` now says, interval and tables */
    SL_JPEG_LEAVE,  /* nothing is faster than the picture as it came */
    SL_JPEG_TOO_BIG /* a value is too large for 8-bit sequential coding */
} sl_jpeg_verdict;

/* The smallest form: tables of its own, and that interval. */
sl_jpeg_verdict sl_jpeg_form_smallest(const sl_jpeg_subject *subject);
sl_jpeg_verdict sl_jpeg_form_fastest(const sl_jpeg_subject *subject);

#endif
