/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_step: the input and output of all unpackers. Threads: plain data. */
#ifndef SL_UNPACK_STEP_H
#define SL_UNPACK_STEP_H

#include "view.h"

/* Input, and space for output: both advance by the bytes used. */
typedef struct sl_unpack_step {
    sl_bytes in;
    uint8_t *to;
    size_t capacity;
} sl_unpack_step;

#endif
