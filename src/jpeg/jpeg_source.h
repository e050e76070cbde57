/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_source: feeds libjpeg from bytes in memory, with no copy, and knows when they ended.
 *
 * Purpose: past the end, libjpeg is given an end-of-image marker forever, so it always terminates.
 * If nothing may follow the end (headers, all scans of an image that needs them all),
 * sl_jpeg_past_end makes that an error at once. Threads: those of the decompressor. The bytes are
 * borrowed until the next begin.
 */
#ifndef SL_JPEG_SOURCE_H
#define SL_JPEG_SOURCE_H

#include "view.h"

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

/* The result of reading past the end. */
typedef enum sl_jpeg_past_end {
    SL_JPEG_PAST_END_ERROR,     /* an error */
    SL_JPEG_PAST_END_LAST_SCAN, /* an end marker in the last scan (jpeg_ending.h), else an error */
    SL_JPEG_PAST_END_MARKER     /* an end marker */
} sl_jpeg_past_end;

typedef struct sl_jpeg_source {
    struct jpeg_source_mgr pub; /* first: libjpeg returns it through cinfo->src */
    sl_bytes bytes;
    sl_jpeg_past_end past_end;
    bool ended; /* libjpeg requested more bytes than exist */
} sl_jpeg_source;

void sl_jpeg_source_begin(sl_jpeg_source *source, j_decompress_ptr cinfo, sl_bytes bytes);
/* Gives libjpeg an end marker next, regardless of the remaining bytes. */
void sl_jpeg_source_end(j_decompress_ptr cinfo);
/* Returns the byte that libjpeg is about to read, approximately: it reads ahead within an MCU. */
int64_t sl_jpeg_source_offset(const sl_jpeg_source *source);

#endif
