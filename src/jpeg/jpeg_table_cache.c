/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_table_cache.h"

#include "error.h"
#include "memory.h"

#include <string.h>

enum {
    SETS = SL_JPEG_TABLE_SETS,
    PICTURE_SETS = 3,          /* maximum of one image */
    NEW = SETS - PICTURE_SETS, /* position of a new set in the order */
    LENGTHS = 16
};

/* A code as requested. */
typedef struct key {
    uint8_t bits[LENGTHS]; /* without the first, which is unused */
    uint8_t symbols[256];
    size_t symbol_count;
} key;

typedef struct set {
    key dc, ac;
    bool made; /* and the codes are good */
} set;

struct sl_jpeg_table_cache {
    set sets[SETS];
    uint8_t order[SETS]; /* order of use: the last requested set comes first, except for new ones */
    int used;            /* sets, the first of the order */
    sl_simd simd;
    sl_huffman_tables *tables; /* SETS of them and the stop, aligned inside `memory` */
    void *memory;
};

sluice_status sl_jpeg_table_cache_open(sl_jpeg_table_cache **cache, sl_simd simd,
                                       sluice_error *error)
{
    sl_jpeg_table_cache *opened = sl_calloc(1, sizeof(*opened));
    uint8_t *memory = sl_malloc((size_t)(SETS + 1) * sizeof(sl_huffman_tables) + SL_HUFFMAN_ALIGN);
    if (opened == NULL || memory == NULL) {
        sl_free(opened);
        sl_free(memory);
        return sl_no_memory(error, "decode", "for Huffman tables");
    }
    const size_t past = (uintptr_t)memory % SL_HUFFMAN_ALIGN;
    opened->memory = memory;
    opened->tables =
        (sl_huffman_tables *)(void *)(memory + (past > 0 ? SL_HUFFMAN_ALIGN - past : 0));
    opened->simd = simd;
    for (int i = 0; i < SETS; i++) {
        opened->order[i] = (uint8_t)i;
    }
    sl_huffman_make_stop(&opened->tables[SETS]);
    *cache = opened;
    return SLUICE_OK;
}

void sl_jpeg_table_cache_close(sl_jpeg_table_cache *cache)
{
    if (cache != NULL) {
        sl_free(cache->memory);
        sl_free(cache);
    }
}

static bool is_code(const key *k, const sl_huffman_code *code)
{
    return memcmp(k->bits, code->bits + 1, LENGTHS) == 0 &&
           memcmp(k->symbols, code->symbols, k->symbol_count) == 0;
}

/* Makes the key. False: more symbols than possible. */
static bool set_key(key *k, const sl_huffman_code *code)
{
    memcpy(k->bits, code->bits + 1, LENGTHS);
    k->symbol_count = 0;
    for (int i = 0; i < LENGTHS; i++) {
        k->symbol_count += k->bits[i];
    }
    if (k->symbol_count > sizeof(k->symbols)) {
        return false;
    }
    memcpy(k->symbols, code->symbols, k->symbol_count);
    return true;
}

/* Moves the set at `from` in the order to `to`, which is before it. */
static void move_up(sl_jpeg_table_cache *cache, int from, int to)
{
    const uint8_t moved = cache->order[from];
    memmove(&cache->order[to + 1], &cache->order[to], (size_t)(from - to));
    cache->order[to] = moved;
}

const sl_huffman_tables *sl_jpeg_table_cache_get(sl_jpeg_table_cache *cache,
                                                 const sl_huffman_code *dc,
                                                 const sl_huffman_code *ac)
{
    for (int i = 0; i < cache->used; i++) {
        const uint8_t number = cache->order[i];
        const set *found = &cache->sets[number];
        if (found->made && is_code(&found->ac, ac) && is_code(&found->dc, dc)) {
            move_up(cache, i, 0);
            return &cache->tables[number];
        }
    }
    const int last = cache->used < SETS ? cache->used++ : SETS - 1;
    const uint8_t number = cache->order[last];
    set *replaced = &cache->sets[number];
    sl_huffman_tables *tables = &cache->tables[number];
    move_up(cache, last, last < NEW ? last : NEW);
    replaced->made = set_key(&replaced->dc, dc) && set_key(&replaced->ac, ac) &&
                     sl_huffman_make(cache->simd, tables, dc, ac);
    return replaced->made ? tables : NULL;
}

const sl_huffman_tables *sl_jpeg_table_cache_stop(const sl_jpeg_table_cache *cache)
{
    return &cache->tables[SETS];
}
