/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_sink: where libjpeg writes a picture: memory that grows and is used again.
 *
 * Threads: those of the compressor. A zeroed sink may be closed.
 */
#ifndef SL_JPEG_SINK_H
#define SL_JPEG_SINK_H

#include "view.h"

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_sink {
    struct jpeg_destination_mgr pub; /* first: libjpeg hands it back through cinfo->dest */
    uint8_t *bytes;
    size_t room, limit;
    bool no_memory; /* growing failed; libjpeg's error followed */
} sl_jpeg_sink;

/*
 * Makes room for `expected` bytes, never more than `limit` (a picture that needs more is libjpeg's
 * error). False: no memory.
 */
bool sl_jpeg_sink_open(sl_jpeg_sink *sink, size_t expected, size_t limit);
/* Becomes the destination of `cinfo`, empty. */
void sl_jpeg_sink_begin(sl_jpeg_sink *sink, j_compress_ptr cinfo);
/* What was written, when the picture is complete; until the next begin. */
sl_bytes sl_jpeg_sink_bytes(const sl_jpeg_sink *sink);
void sl_jpeg_sink_close(sl_jpeg_sink *sink);

#endif
