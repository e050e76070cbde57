/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_header: what our reader makes of a JPEG's header (jpeg_frame.h), held against libjpeg.
 * Threads: pure.
 */
#ifndef SL_JPEG_HEADER_H
#define SL_JPEG_HEADER_H

#include "jpeg_frame.h"

/*
 * What libjpeg sees otherwise than our reader, which took the header: it gives up, warns, or reads
 * another value. NULL: nothing, or it was not taken (`*taken`).
 */
const char *jpeg_header_difference(sl_bytes jpeg, bool *taken);

#endif
