/* SPDX-License-Identifier: Apache-2.0 */
/* formats: names what bytes are, for the message about a picture that no codec takes. Pure. */
#ifndef SL_FORMATS_H
#define SL_FORMATS_H

#include "view.h"

/* "PNG", "WebP", ...; NULL when the bytes begin like nothing known. */
const char *sl_format_name(sl_bytes bytes);

#endif
