/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_codec: pixels as a codec (base/codec.h): u8 RGB, rows from the top, nothing before or
 * between.
 *
 * Nothing in the bytes tells their size or even what they are, so both have to come with them. The
 * view is the bytes themselves. Threads: pure.
 */
#ifndef SL_RAW_CODEC_H
#define SL_RAW_CODEC_H

#include "codec.h"

extern const sl_codec sl_codec_raw;

#endif
