/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_table: where the values of an unpacked page are, for one that is asked for again.
 *
 * Purpose: values of variable length are one behind the other, and how many come before a slot only
 * the levels tell: finding one goes through all before it. A table tells both at once, so that the
 * values of a page together cost what its bytes do. Memory: 4 bytes for each value, which takes 4
 * of the page at least, and 64 for each 512 bytes of levels. Threads: pure.
 */
#ifndef SL_PARQUET_TABLE_H
#define SL_PARQUET_TABLE_H

#include "parquet_page.h"

typedef struct sl_page_table sl_page_table;

/* What a table of the page takes. Damage shows when a value is looked up; pick->row does not
 * matter.
 */
size_t sl_page_table_bytes(const sl_page_pick *pick, sl_bytes body);
/* Makes it, in so much memory. */
void sl_page_table_make(const sl_page_pick *pick, sl_bytes body, void *memory);
/* As sl_page_find, of the page that it was made of. */
sl_refusal sl_page_table_find(const sl_page_table *table, const sl_page_pick *pick, sl_bytes body,
                              sl_bytes *value);

#endif
