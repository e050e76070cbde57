/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout: where the arrays of a batch are in its slot.
 *
 * Purpose: one contiguous block per batch, each array at a 256-byte-aligned offset (what device
 * kernels like to load from), the same in the host slot and in the device slot. Those of a fixed
 * length come first, so that one copy sends them; ragged ones follow, each with space for the most
 * it can have; then those that are not sent. Pure functions; units are bytes.
 */
#ifndef SL_LAYOUT_H
#define SL_LAYOUT_H

#include "parts.h"

typedef struct sl_layout {
    size_t offset[SL_PARTS_MAX]; /* of each part */
    size_t fixed;                /* from the first one to the end of the last of a fixed length */
    size_t sent;                 /* to the end of the last that a device may have */
    size_t bytes;                /* to the end of the last */
    size_t stride;               /* from one slot to the next: whole pages */
} sl_layout;

/* NOMEM when `slots` of `rows` rows exceed the address space. */
sluice_status sl_layout_make(sl_layout *layout, const sl_part *parts, uint32_t count, uint32_t rows,
                             uint32_t slots, sluice_error *error);

#endif
