/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_order: rows in the order in which their samples are. Pure.
 *
 * Purpose: where samples share pages that are unpacked as a whole (sl_dataset.shares_pages), the
 * rows of a batch that are of one page are made one behind the other, by the same worker if they
 * can be, so that it is unpacked once for all of them. In which order rows are made changes nothing
 * of what a batch holds.
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

/* By object, offset, sample and number. In place: nothing is allocated. */
void sl_page_order_sort(sl_paged_row *rows, uint32_t count);

#endif
