/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_lz4: data compressed with LZ4, in the framings that columnar files use.
 *
 * Purpose: blocks alone; frames (lz4_Frame_format.md); and Hadoop's framing, which Parquet calls
 * LZ4 without mention of the framing: for each part its size and those of its blocks, in
 * big-endian. liblz4 is optional: without it all data are refused. The output must be `size` bytes,
 * and no more are written. Threads: pure. Memory: a frame's context and its buffers, counted as one
 * allocation.
 */
#ifndef SL_UNPACK_LZ4_H
#define SL_UNPACK_LZ4_H

#include "view.h"

#include <stdbool.h>

/* Returns whether the library was built with liblz4. */
bool sl_lz4_is_there(void);

/* All return false if the bytes are damaged, or unpack to another size. */
bool sl_lz4_unpack_block(sl_bytes packed, uint8_t *to, size_t size);
/* One frame or several. */
bool sl_lz4_unpack_frame(sl_bytes packed, uint8_t *to, size_t size);
/* Hadoop's framing, or a frame, or a block alone, which writers have also given this name. */
bool sl_lz4_unpack_any(sl_bytes packed, uint8_t *to, size_t size);

#endif
