/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_table_cache: Huffman tables that were made for earlier images.
 *
 * Purpose: most encoders write the same codes into every image. Making the tables of an image takes
 * as long as decoding 1 kB; finding them again takes almost no time.
 * Invariants: a set is found by its codes, compared byte for byte. Sets that no second image used
 * are replaced first, so that images with their own codes do not evict the shared ones. Threads:
 * one owner. Memory: allocated by open.
 */
#ifndef SL_JPEG_TABLE_CACHE_H
#define SL_JPEG_TABLE_CACHE_H

#include "jpeg_huffman_tables.h"

#include <sluice/common.h>

/* Sets kept: enough for four kinds of colour images. */
#define SL_JPEG_TABLE_SETS 8

typedef struct sl_jpeg_table_cache sl_jpeg_table_cache;

/* Errors: NOMEM. */
sluice_status sl_jpeg_table_cache_open(sl_jpeg_table_cache **cache, sl_simd simd,
                                       sluice_error *error);
/* NULL is a no-op. */
void sl_jpeg_table_cache_close(sl_jpeg_table_cache *cache);

/* Returns the tables of two codes; NULL if libjpeg would reject one of them. They stay valid
 * while two other sets are requested: an image has at most three. */
const sl_huffman_tables *sl_jpeg_table_cache_get(sl_jpeg_table_cache *cache,
                                                 const sl_huffman_code *dc,
                                                 const sl_huffman_code *ac);
/* Returns the tables at the end of a chain of blocks. */
const sl_huffman_tables *sl_jpeg_table_cache_stop(const sl_jpeg_table_cache *cache);

#endif
