/* SPDX-License-Identifier: Apache-2.0 */
#include "page_order.h"

static bool page_order_is_before(const sl_paged_row *a, const sl_paged_row *b)
{
    if (a->object != b->object) {
        return a->object < b->object;
    }
    if (a->offset != b->offset) {
        return a->offset < b->offset;
    }
    return a->sample != b->sample ? a->sample < b->sample : a->number < b->number;
}

/* Moves the heap's root down to its place. */
static void sink(sl_paged_row *rows, uint32_t root, uint32_t count)
{
    const sl_paged_row row = rows[root];
    for (uint32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && page_order_is_before(&rows[child], &rows[child + 1])) {
            child++;
        }
        if (!page_order_is_before(&row, &rows[child])) {
            break;
        }
        rows[root] = rows[child];
        root = child;
    }
    rows[root] = row;
}

void sl_page_order_sort(sl_paged_row *rows, uint32_t count)
{
    for (uint32_t root = count / 2; root-- > 0;) {
        sink(rows, root, count);
    }
    for (uint32_t left = count; left-- > 1;) {
        const sl_paged_row last = rows[0];
        rows[0] = rows[left];
        rows[left] = last;
        sink(rows, 0, left);
    }
}
