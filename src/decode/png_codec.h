/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_codec: PNG as a codec (base/codec.h): our walk over the chunks, libpng for the pixels.
 *
 * libpng is given the header, the palette and the picture data and nothing else, each chunk after
 * its checksum was found right, and takes all memory from the decoder's scratch. Rows below the
 * rectangle are not unpacked, unless the picture is interlaced; where the last row is needed, the
 * end of the compressed stream and its checksum have to be right, too.
 * As stored (samples): greys of 1, 2 and 4 bits are 0 .. 2^bits - 1, one in a byte, not spread over
 * 0..255; those of 16 are whole; of a palette the pixels' numbers, also such that it has no colour
 * for; channels in the file's order, alpha among them. tRNS, gamma, sBIT and profiles do not count.
 * Threads: a state belongs to one thread.
 */
#ifndef SL_PNG_CODEC_H
#define SL_PNG_CODEC_H

#include "codec.h"

extern const sl_codec sl_codec_png;

#endif
