/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: the compressed files of a set of objects, a few of them open at a time.
 *
 * Purpose: read any of them by its number. Two are open, so that memory does not depend on their
 * number, and going on to the next does not end readers of the one before; the least recently used
 * is closed first. Bytes are known to be right only once the end of their file was seen, where its
 * checksums are: so a file is read on to its end before it is closed, and sl_streams_finish does
 * that for the open ones. A file with an error has failed as a whole: which of its samples are
 * wrong is unknown. Threads: any; one reads at a time, since unpacking goes from front to back
 * anyway. Lock: its own mutex, held while reading: a caller that waits for a server delays those
 * that want the same files. Memory: at most 64 MiB and two unpackers' (stream.h), a byte a file,
 * and 2 KiB for one that has failed.
 */
#ifndef SL_STREAMS_H
#define SL_STREAMS_H

#include "stream.h"

typedef struct sl_streams sl_streams;

/* Opens streams for `count` objects. Errors: NOMEM. */
sluice_status sl_streams_open(sl_streams **streams, uint32_t count, sluice_error *error);
/* NULL is fine. */
void sl_streams_close(sl_streams *streams);

/* A file: its number among the objects, and its packing. */
typedef struct sl_streamed {
    uint32_t object;
    const char *path;
    sl_packed packed;
} sl_streamed;

/* Reads like sl_stream_open and sl_stream_read. */
sluice_status sl_streams_read(sl_streams *streams, const sl_streamed *of, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error);

/* Reads all files that were read from on to their ends. Returns the error of the first one that has
 * failed, if any: IO, CORRUPT, UNSUPPORTED, NOMEM. Blocks. */
sluice_status sl_streams_finish(sl_streams *streams, sluice_error *error);
/* Returns whether a part of a file that was read to its end has no checksum in it. */
bool sl_streams_lack_checksum(sl_streams *streams);
/* Returns failure `number`, from 0, in the order they were found, and its object; false: there are
 * no more. Both may be NULL. */
bool sl_streams_failure(sl_streams *streams, uint32_t number, uint32_t *object,
                        sluice_error *error);

#endif
