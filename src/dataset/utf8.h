/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: whether bytes are a text: UTF-8 without NUL, overlong signs and surrogates. Pure. */
#ifndef SL_UTF8_H
#define SL_UTF8_H

#include "view.h"

#include <stdbool.h>

bool sl_is_utf8(sl_bytes text);

#endif
