/* SPDX-License-Identifier: Apache-2.0 */
/* packing_split: concatenates documents and cuts them at the end of each row. A binary search
 * finds the document that a row begins in. */
#include "minmax.h"
#include "packing_modes.h"
#include "search.h"

#include <stddef.h>

/* The row being filled. */
typedef struct split_row {
    uint64_t number;
    uint64_t fill; /* elements, below the row's length */
    uint32_t pieces;
} split_row;

/* Adds a document of `aligned` elements, at least 1. */
static void add_document(split_row *row, const sl_packing_shape *shape, uint64_t aligned,
                         sl_packing_facts *facts)
{
    const uint64_t end = row->fill + aligned;
    const uint64_t rows = end / shape->length; /* rows that the document fills up */
    facts->most_pieces = (uint32_t)sl_max_u64(facts->most_pieces, row->pieces + 1);
    facts->pieces += rows + (end % shape->length > 0);
    facts->cut += end > shape->length;
    if (rows > 0) {
        *row = (split_row){.number = row->number + rows};
    }
    row->fill = end % shape->length;
    row->pieces += row->fill > 0;
}

void sl_packing_split_make(sl_packing_plan *plan, const sl_packing_shape *shape,
                           sl_packing_facts *facts)
{
    split_row row = {.number = 0};
    const size_t places = (size_t)plan->entries * shape->unit;
    for (size_t i = 0; i < places; i++) {
        const uint64_t length = plan->lengths[i];
        if (length > 0 && row.pieces == shape->max_documents) {
            facts->closed++;
            row = (split_row){.number = row.number + 1};
        }
        plan->begins[i] = row.number;
        plan->fills[i] = (uint32_t)row.fill;
        if (length > 0) {
            add_document(&row, shape, sl_packing_aligned(shape, length), facts);
        }
    }
    plan->rows = row.number + (row.fill > 0);
}

uint32_t sl_packing_split_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                 uint64_t row, uint32_t first, uint32_t count,
                                 sl_packed_piece *pieces)
{
    const size_t places = (size_t)plan->entries * shape->unit;
    uint32_t found = 0;
    /* Of the places that begin in earlier rows, only the last one can reach into this one. */
    size_t place = 0;
    if (row > 0) {
        place = sl_last_at_or_before(plan->begins, sizeof(*plan->begins), places, row - 1);
    }
    for (; place < places && plan->begins[place] <= row; place++) {
        const uint64_t skipped = (row - plan->begins[place]) * shape->length;
        const uint64_t begin = skipped > 0 ? skipped - plan->fills[place] : 0;
        const uint64_t end =
            sl_min_u64(plan->lengths[place], skipped + shape->length - plan->fills[place]);
        if (begin >= end) {
            continue;
        }
        if (found >= first && found - first < count) {
            pieces[found - first] =
                (sl_packed_piece){plan->documents[place], begin, (uint32_t)(end - begin)};
        }
        found++;
    }
    return found;
}
