/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_table_cache: Huffman tables that were made for earlier pictures.
 *
 * Purpose: most encoders write the same codes into every picture. To make the tables of a picture
 * takes as long as to decode 1 kB, to find them again next to nothing.
 * Invariants: a set is found by its codes, compared byte for byte. Sets that no picture came back
 * to go first, so that pictures with codes of their own do not push out what the others share.
 * Threads: one owner. Memory: made by open.
 */
#ifndef SL_JPEG_TABLE_CACHE_H
#define SL_JPEG_TABLE_CACHE_H

#include "jpeg_huffman_tables.h"

#include <sluice/common.h>

/* Sets kept: those of four kinds of pictures in colour. */
#define SL_JPEG_TABLE_SETS 8

typedef struct sl_jpeg_table_cache sl_jpeg_table_cache;

/* Errors: NOMEM. */
sluice_status sl_jpeg_table_cache_open(sl_jpeg_table_cache **cache, sl_simd simd,
                                       sluice_error *error);
/* NULL is fine. */
void sl_jpeg_table_cache_close(sl_jpeg_table_cache *cache);

/*
 * The tables of two codes; NULL when one is none that libjpeg would take. They stay as they are
 * while two other sets are asked for: a picture has three at most.
 */
const sl_huffman_tables *sl_jpeg_table_cache_get(sl_jpeg_table_cache *cache,
                                                 const sl_huffman_code *dc,
                                                 const sl_huffman_code *ac);
/* The tables at which a chain of blocks ends. */
const sl_huffman_tables *sl_jpeg_table_cache_stop(const sl_jpeg_table_cache *cache);

#endif
