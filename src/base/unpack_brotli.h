/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_brotli: what is compressed by Brotli (RFC 7932).
 *
 * Purpose: one stream, of a size that is known, or piece by piece. libbrotlidec is optional:
 * without it all are refused. Threads: pure; a stream that is read piece by piece belongs to one.
 * Memory: a stream's window, 16 MiB at most, while it is unpacked.
 */
#ifndef SL_UNPACK_BROTLI_H
#define SL_UNPACK_BROTLI_H

#include "error.h"
#include "unpack_step.h"

#include <stdbool.h>

/* Whether the library was built with libbrotlidec. */
bool sl_brotli_is_there(void);
/* Unpacks to `to`, `size` bytes. False: it is damaged, or unpacks to another size. */
bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size);

/* One stream, piece by piece. */
typedef struct BrotliDecoderStateStruct sl_brotli;

/* NULL: no memory, or the library is not there. */
sl_brotli *sl_brotli_open(void);
/* NULL is fine. */
void sl_brotli_close(sl_brotli *brotli);
/*
 * Unpacks until the input is used up, the space is full or the stream has `*ended`: what is left of
 * the input then is behind it. A refusal (CORRUPT, NOMEM) is of what step->in begins with; the
 * stream can only be closed then.
 */
sl_refusal sl_brotli_run(sl_brotli *brotli, sl_unpack_step *step, bool *ended);

#endif
