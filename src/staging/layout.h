/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout: where the fields of a batch lie in its slot.
 *
 * Purpose: one contiguous block per batch, so that one copy sends it: images, labels, indices,
 * status, mask, flags, each at a 256-byte-aligned offset (what device kernels like to load from).
 * The same offsets hold in the host slot and in the device slot. Pure functions; units are bytes.
 */
#ifndef SL_LAYOUT_H
#define SL_LAYOUT_H

#include <sluice/common.h>

typedef struct sl_layout {
    size_t images, labels, indices, status, mask, flags; /* offsets */
    size_t bytes;  /* from the first field to the end of the last */
    size_t stride; /* from one slot to the next: whole pages */
} sl_layout;

/* What the filler and the consumer see of a slot. Pointers are to the host slab (filler) or to the
 * device's memory (consumer). */
typedef struct sl_slot_view {
    uint8_t *images;
    int64_t *labels, *indices;
    uint8_t *status, *mask;
    uint8_t *flags; /* for the conversion, where there is one (conversion.h) */
} sl_slot_view;

/* `rows` pictures of `image_row_bytes`. NOMEM when `slots` of them exceed the address space. */
sluice_status sl_layout_make(sl_layout *layout, uint64_t image_row_bytes, uint32_t rows,
                             uint32_t slots, sluice_error *error);
/* `base` is 256-byte-aligned, of the host or of the device; it is not read. */
sl_slot_view sl_layout_view(const sl_layout *layout, void *base);

#endif
