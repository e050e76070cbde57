/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_brotli: data compressed with Brotli (RFC 7932).
 *
 * Purpose: one stream, of known size, or piece by piece. libbrotlidec is optional: without it all
 * streams are refused. Threads: pure; a stream that is read piece by piece belongs to one. Memory:
 * a stream's window, at most 16 MiB, while it is unpacked.
 */
#ifndef SL_UNPACK_BROTLI_H
#define SL_UNPACK_BROTLI_H

#include "error.h"
#include "unpack_step.h"

#include <stdbool.h>

/* Returns whether the library was built with libbrotlidec. */
bool sl_brotli_is_there(void);
/* Unpacks to `to`, `size` bytes. False: it is damaged, or unpacks to another size. */
bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size);

/* One stream, piece by piece. */
typedef struct BrotliDecoderStateStruct sl_brotli;

/* Opens a stream; NULL: no memory, or no libbrotlidec. */
sl_brotli *sl_brotli_open(void);
/* Closes a stream; NULL is a no-op. */
void sl_brotli_close(sl_brotli *brotli);
/*
 * Unpacks until the input is used up, the space is full or the stream has `*ended`: the remaining
 * input is then behind it. A refusal (CORRUPT, NOMEM) is about the beginning of step->in; the
 * stream can only be closed then.
 */
sl_refusal sl_brotli_run(sl_brotli *brotli, sl_unpack_step *step, bool *ended);

#endif
