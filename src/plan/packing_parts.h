/* SPDX-License-Identifier: Apache-2.0 */
/* packing_parts: the members of a packing, for packing.c and packed_order.c. Threads and memory:
 * packing.h. Everything except the two objects pointed to is constant once opened. */
#ifndef SL_PACKING_PARTS_H
#define SL_PACKING_PARTS_H

#include "packing_plan.h"

typedef struct sl_packing_cache sl_packing_cache; /* packing.c */
typedef struct sl_packed_epochs sl_packed_epochs; /* packed_order.c */

struct sl_packed_rows {
    sl_packing_windows windows;
    sl_packing_facts facts;
    uint64_t *before; /* rows before each window, and the total */
    sl_packing_cache *cache;
    sl_packed_epochs *epochs; /* NULL if rows keep their order */
};

/* packed_order.c, for opening and closing. Errors: NOMEM. */
sluice_status sl_packed_epochs_open(sl_packed_rows *packing, sluice_error *error);
void sl_packed_epochs_close(sl_packed_rows *packing);
uint64_t sl_packed_epochs_bytes(const sl_packed_rows *packing);

#endif
