/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture_signature: whether bytes begin as a picture does.
 *
 * Purpose: for formats that do not say what their bytes are. Decoders are not to be had in this
 * module; JPEG, PNG, WebP, GIF and BMP are known, whether they can be decoded or not. Threads:
 * pure.
 */
#ifndef SL_PICTURE_SIGNATURE_H
#define SL_PICTURE_SIGNATURE_H

#include "view.h"

#include <stdbool.h>

bool sl_begins_picture(sl_bytes bytes);

#endif
