/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_codec: PNG as a codec (base/codec.h): our walk over the chunks, libpng for the pixels.
 *
 * libpng is given the header, the palette and the picture data and nothing else, each chunk after
 * its checksum was found right, and takes all memory from the decoder's scratch. Rows below the
 * rectangle are not unpacked, unless the picture is interlaced; where the last row is needed, the
 * end of the compressed stream and its checksum have to be right, too.
 * Threads: a state belongs to one thread.
 */
#ifndef SL_PNG_CODEC_H
#define SL_PNG_CODEC_H

#include "codec.h"

extern const sl_codec sl_codec_png;

#endif
