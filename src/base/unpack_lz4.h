/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_lz4: what is compressed by LZ4, in the framings that files of columns have.
 *
 * Purpose: blocks alone; frames (lz4_Frame_format.md); and Hadoop's framing, which Parquet calls
 * LZ4 without saying so: for each part its size and those of its blocks, in big-endian. liblz4 is
 * optional: without it all are refused. What comes out is `size` bytes, and no more are written.
 * Threads: pure. Memory: a frame's context and its buffers, counted as one allocation.
 */
#ifndef SL_UNPACK_LZ4_H
#define SL_UNPACK_LZ4_H

#include "view.h"

#include <stdbool.h>

/* Whether the library was built with liblz4. */
bool sl_lz4_is_there(void);

/* All: false when the bytes are damaged, or unpack to another size. */
bool sl_lz4_unpack_block(sl_bytes packed, uint8_t *to, size_t size);
/* One frame or several. */
bool sl_lz4_unpack_frame(sl_bytes packed, uint8_t *to, size_t size);
/* Hadoop's framing, or a frame, or a block alone, which writers have also called so. */
bool sl_lz4_unpack_any(sl_bytes packed, uint8_t *to, size_t size);

#endif
