/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_codec: WebP as a codec (base/codec.h), lossy and lossless, through libwebp.
 *
 * Alpha is left out and not decoded; what follows the rectangle is not decoded either. libwebp's
 * upsampling treats the edge of a cut like the edge of the picture, so a lossy one is decoded with
 * a margin, and the rectangle equals that of a whole decode bit for bit.
 * Memory: pixels are scratch. libwebp takes what it works with from the heap and gives it back at
 * the end of each picture; it cannot be given an allocator. For that as much scratch is set aside,
 * and not touched, as such a picture takes, so that scratch_bytes bounds both together. The
 * exception is a lossless picture made to harm: libwebp makes sets of Huffman tables of up to 20 kB
 * each for no more than 20 bits of the file, 65536 of them at most (usual pictures: some tens).
 * Without libwebp (SLUICE_WEBP) its pictures are UNSUPPORTED. Threads: pure.
 */
#ifndef SL_WEBP_CODEC_H
#define SL_WEBP_CODEC_H

#include "codec.h"

extern const sl_codec sl_codec_webp;

#endif
