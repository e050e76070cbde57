/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_table: locates the values of an unpacked page, for pages that are used repeatedly.
 *
 * Purpose: values of variable length are adjacent, and only the levels show how many precede a
 * slot, so finding one value scans all values before it. A table answers both at once, so reading
 * all values of a page costs about as much as its bytes. Memory: 4 bytes per value, which takes at
 * least 4 in the page, and 64 per 512 bytes of levels. Threads: pure.
 */
#ifndef SL_PARQUET_TABLE_H
#define SL_PARQUET_TABLE_H

#include "parquet_page.h"

typedef struct sl_page_table sl_page_table;

/*
 * Returns the size of a page's table. Damage is found when a value is looked up; pick->row does not
 * matter.
 */
size_t sl_page_table_bytes(const sl_page_pick *pick, sl_bytes body);
/* Builds the table in memory of that size. */
void sl_page_table_make(const sl_page_pick *pick, sl_bytes body, void *memory);
/* Like sl_page_find, for the page of the table. */
sl_refusal sl_page_table_find(const sl_page_table *table, const sl_page_pick *pick, sl_bytes body,
                              sl_bytes *value);

#endif
