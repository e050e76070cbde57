/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout: where the arrays of a batch are in its slot.
 *
 * Purpose: one contiguous block per batch, each array at a 256-byte-aligned offset (device kernels
 * load best from such addresses), the same in the host slot and in the device slot. Parts of a
 * fixed length come first, so that one copy sends them; ragged parts follow, each with space for
 * its maximum; then parts that are not sent. Pure functions; units are bytes.
 */
#ifndef SL_LAYOUT_H
#define SL_LAYOUT_H

#include "parts.h"

typedef struct sl_layout {
    size_t offset[SL_PARTS_MAX]; /* of each part */
    /* from the first part to the end of the last one of fixed length */
    size_t fixed;
    size_t sent;   /* to the end of the last part that may be sent to the device */
    size_t bytes;  /* to the end of the last part */
    size_t stride; /* from one slot to the next: whole pages */
} sl_layout;

/* Returns NOMEM when `slots` of `rows` rows exceed the address space. */
sluice_status sl_layout_make(sl_layout *layout, const sl_part *parts, uint32_t count, uint32_t rows,
                             uint32_t slots, sluice_error *error);

#endif
