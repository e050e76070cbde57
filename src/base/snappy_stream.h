/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy_stream: one block of the snappy format, of any size, piece by piece.
 *
 * Purpose: files that are one such block (google/snappy, format_description.txt), as
 * snappy_compress makes them of whole files, without memory for all that comes out. Its writers cut
 * what they compress into pieces of 64 KiB, and no copy reaches over their edges; the format would
 * allow it, so a copy from farther back is refused as such. What is a whole block in memory is
 * unpacked by snappy.h. Threads: one at a time. Memory: 64 KiB.
 */
#ifndef SL_SNAPPY_STREAM_H
#define SL_SNAPPY_STREAM_H

#include "error.h"
#include "unpack_step.h"

#include <stdbool.h>

typedef struct sl_snappy_stream sl_snappy_stream;

/* NULL: no memory. */
sl_snappy_stream *sl_snappy_stream_open(void);
/* NULL is fine. */
void sl_snappy_stream_close(sl_snappy_stream *stream);

/* Unpacks until the input is used up or the space is full; the refusal, after which the stream can
 * only be closed, is of what step->in begins with. */
sl_refusal sl_snappy_stream_run(sl_snappy_stream *stream, sl_unpack_step *step);
/* Whether all came out that the block says it holds. */
bool sl_snappy_stream_ended(const sl_snappy_stream *stream);

#endif
