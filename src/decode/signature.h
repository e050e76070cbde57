/* SPDX-License-Identifier: Apache-2.0 */
/* signature: names what bytes are, for the message about a picture that no codec takes. Pure. */
#ifndef SL_SIGNATURE_H
#define SL_SIGNATURE_H

#include "view.h"

/* "GIF", "TIFF", ...; NULL when the bytes begin like nothing known. */
const char *sl_signature_name(sl_bytes bytes);

#endif
