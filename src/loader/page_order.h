/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_order: sorts rows in the order of their samples' locations. Pure.
 *
 * Purpose: if samples share pages that are unpacked as a whole (sl_dataset.shares_pages), the rows
 * of a batch that use one page are made one after the other, by the same worker if possible, so
 * that it is unpacked once for all of them. The order in which rows are made does not change the
 * batch.
 */
#ifndef SL_PAGE_ORDER_H
#define SL_PAGE_ORDER_H

#include "dataset.h"

typedef struct sl_paged_row {
    uint64_t offset, sample; /* of its page; its number */
    uint32_t object;
    uint32_t number; /* of the row, or of its job */
} sl_paged_row;

static inline bool sl_page_order_same(const sl_paged_row *a, const sl_paged_row *b)
{
    return a->object == b->object && a->offset == b->offset;
}

/* Sorts by object, offset, sample and number. In place: nothing is allocated. */
void sl_page_order_sort(sl_paged_row *rows, uint32_t count);

#endif
