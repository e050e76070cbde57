/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_compressor: libjpeg's compressor, which writes to memory that grows and is reused.
 *
 * Purpose: sets up errors, libjpeg's memory (from a scratch) and the destination in one place for
 * everything that is written. Threads: one owner. A zeroed compressor may be closed.
 */
#ifndef SL_JPEG_COMPRESSOR_H
#define SL_JPEG_COMPRESSOR_H

#include "jpeg_error.h"
#include "jpeg_memory.h"

typedef struct sl_jpeg_compressor {
    sl_jpeg_errors errors; /* first: libjpeg returns it through cinfo->err */
    struct jpeg_compress_struct cinfo;
    struct jpeg_destination_mgr destination;
    struct jpeg_progress_mgr progress;
    sl_jpeg_memory memory;
    const char *stage; /* of errors */
    uint8_t *bytes;
    size_t capacity, limit;
    bool no_memory; /* growing failed; libjpeg's error follows */
} sl_jpeg_compressor;

/* Allocates space for `expected` bytes, never more than `limit` (a larger image is libjpeg's
 * error). False: no memory. */
bool sl_jpeg_compressor_open(sl_jpeg_compressor *compressor, size_t expected, size_t limit);
/*
 * Runs work(argument), which writes an image by `cinfo`; `cinfo` exists meanwhile, and its
 * destination is empty. Errors, by `stage`: UNSUPPORTED (libjpeg cannot write it), NOMEM, CANCELED
 * (the thread's stop, stop.h).
 */
sluice_status sl_jpeg_compressor_run(sl_jpeg_compressor *compressor, const char *stage,
                                     sl_scratch *scratch, void (*work)(void *argument),
                                     void *argument, sluice_error *error);
/* Returns the written bytes, valid until the next run. */
sl_bytes sl_jpeg_compressor_bytes(const sl_jpeg_compressor *compressor);
void sl_jpeg_compressor_close(sl_jpeg_compressor *compressor);

#endif
