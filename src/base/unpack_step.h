/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_step: what unpackers are given, whatever they unpack. Threads: plain data. */
#ifndef SL_UNPACK_STEP_H
#define SL_UNPACK_STEP_H

#include "view.h"

/* What goes in, and space for what comes out: both are moved on by what was used. */
typedef struct sl_unpack_step {
    sl_bytes in;
    uint8_t *to;
    size_t capacity;
} sl_unpack_step;

#endif
