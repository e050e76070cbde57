/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: the compressed files of a set of objects, a few of them open at a time.
 *
 * Purpose: a read of any of them by its number. Two are open, so that memory does not depend on how
 * many there are, and going from one to the next does not end what still reads the one before; the
 * least recently used is closed first. Threads: any; one reads at a time, since unpacking goes from
 * front to back anyway. Lock: its own mutex, held while reading: who waits for a server waits with
 * those that want the same files. Memory: at most 64 MiB and two unpackers' (stream.h).
 */
#ifndef SL_STREAMS_H
#define SL_STREAMS_H

#include "stream.h"

typedef struct sl_streams sl_streams;

/* Errors: NOMEM. */
sluice_status sl_streams_open(sl_streams **streams, sluice_error *error);
/* NULL is fine. */
void sl_streams_close(sl_streams *streams);

/* Which file: its number among the objects, and what it is. */
typedef struct sl_streamed {
    uint32_t object;
    const char *path;
    sl_packed packed;
} sl_streamed;

/* As sl_stream_open and sl_stream_read. */
sluice_status sl_streams_read(sl_streams *streams, const sl_streamed *of, uint64_t offset, void *to,
                              size_t bytes, sluice_error *error);

#endif
