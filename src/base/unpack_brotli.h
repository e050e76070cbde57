/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_brotli: what is compressed by Brotli (RFC 7932).
 *
 * Purpose: one stream, of a size that is known. libbrotlidec is optional: without it all are
 * refused. Threads: pure. Memory: a stream's window, 16 MiB at most, while it is unpacked.
 */
#ifndef SL_UNPACK_BROTLI_H
#define SL_UNPACK_BROTLI_H

#include "view.h"

#include <stdbool.h>

/* Whether the library was built with libbrotlidec. */
bool sl_brotli_is_there(void);
/* Unpacks to `to`, `size` bytes. False: it is damaged, or unpacks to another size. */
bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size);

#endif
