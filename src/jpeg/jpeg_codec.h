/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_codec: the JPEG codec (base/codec.h), the interface of this module for decoders.
 *
 * Purpose: reads the header, then takes one of three code paths to the pixels, all with the same
 * result: kernels of our own (jpeg_fast.h), the restart intervals under the rectangle as a smaller
 * JPEG (jpeg_region.h), or libjpeg's scanlines (jpeg_scanlines.h), which also judges damage.
 * Threads: a state belongs to one thread.
 */
#ifndef SL_JPEG_CODEC_H
#define SL_JPEG_CODEC_H

#include "codec.h"

extern const sl_codec sl_codec_jpeg;

#endif
