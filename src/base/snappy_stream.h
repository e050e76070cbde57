/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snappy_stream: one block of the snappy format, of any size, piece by piece.
 *
 * Purpose: files of one such block (google/snappy, format_description.txt), as snappy_compress
 * makes them of whole files, without memory for the whole output. Its writers cut their input into
 * pieces of 64 KiB, and no copy reaches over their edges; the format would allow it, so a copy from
 * farther back has an error of its own. snappy.h unpacks whole blocks in memory. Threads: one at a
 * time. Memory: 64 KiB.
 */
#ifndef SL_SNAPPY_STREAM_H
#define SL_SNAPPY_STREAM_H

#include "error.h"
#include "unpack_step.h"

#include <stdbool.h>

typedef struct sl_snappy_stream sl_snappy_stream;

/* Opens a stream; NULL: no memory. */
sl_snappy_stream *sl_snappy_stream_open(void);
/* Closes a stream; NULL is a no-op. */
void sl_snappy_stream_close(sl_snappy_stream *stream);

/* Unpacks until the input is used up or the space is full; a refusal, after which the stream can
 * only be closed, is about the beginning of step->in. */
sl_refusal sl_snappy_stream_run(sl_snappy_stream *stream, sl_unpack_step *step);
/* Returns whether the block was unpacked to its full size. */
bool sl_snappy_stream_ended(const sl_snappy_stream *stream);

#endif
