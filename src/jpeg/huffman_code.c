/* SPDX-License-Identifier: Apache-2.0 */
#include "huffman_code.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 257, LENGTH_MAX = 16 }; /* the extra symbol gets the code of all ones */

/* The leaves from the lightest, then the inner nodes in the order of their creation. */
typedef struct tree {
    uint64_t weight[2 * SYMBOLS];
    uint16_t parent[2 * SYMBOLS], depth[2 * SYMBOLS];
    uint16_t symbol[SYMBOLS]; /* of a leaf */
    uint32_t leaves, nodes;
} tree;

typedef struct leaf {
    uint64_t count;
    uint16_t symbol;
} leaf;

/* Compares leaves; no two are equal. */
static int compare_leaves(const void *left, const void *right)
{
    const leaf *a = left;
    const leaf *b = right;
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    return a->symbol > b->symbol ? -1 : 1;
}

static void plant(tree *t, const uint64_t counts[256])
{
    leaf leaves[SYMBOLS];
    t->leaves = 0;
    for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
        const uint64_t count = symbol < SYMBOLS - 1 ? counts[symbol] : 1;
        if (count > 0) {
            leaves[t->leaves++] = (leaf){count, (uint16_t)symbol};
        }
    }
    qsort(leaves, t->leaves, sizeof(leaves[0]), compare_leaves);
    for (uint32_t i = 0; i < t->leaves; i++) {
        t->weight[i] = leaves[i].count;
        t->symbol[i] = leaves[i].symbol;
    }
    t->nodes = t->leaves;
}

/* Joins the two lightest nodes without a parent until one is left. Leaves and inner nodes are
 * sorted. */
static void huffman_code_grow(tree *t)
{
    uint32_t next_leaf = 0;
    uint32_t next_node = t->leaves;
    while (next_leaf + 1 < t->leaves || next_node + 1 < t->nodes ||
           (next_leaf < t->leaves && next_node < t->nodes)) {
        const uint32_t made = t->nodes;
        uint64_t weight = 0;
        for (int i = 0; i < 2; i++) {
            const bool take_leaf =
                next_leaf < t->leaves &&
                (next_node == made || t->weight[next_leaf] <= t->weight[next_node]);
            const uint32_t taken = take_leaf ? next_leaf++ : next_node++;
            weight += t->weight[taken];
            t->parent[taken] = (uint16_t)made;
        }
        t->weight[made] = weight;
        t->nodes++;
    }
    t->depth[t->nodes - 1] = 0;
    for (uint32_t i = t->nodes - 1; i-- > 0;) {
        t->depth[i] = (uint16_t)(t->depth[t->parent[i]] + 1);
    }
}

/* Moves pairs of codes that are too long, each to where a shorter code makes space for two. */
static void limit_lengths(uint32_t bits[SYMBOLS])
{
    for (uint32_t i = SYMBOLS - 1; i > LENGTH_MAX; i--) {
        while (bits[i] > 0) {
            uint32_t j = i - 2;
            while (bits[j] == 0) {
                j--;
            }
            bits[i] -= 2;
            bits[i - 1]++;
            bits[j + 1] += 2;
            bits[j]--;
        }
    }
}

/* Lists symbols by depth, then by number. */
static void list_symbols(const tree *t, uint8_t symbols[256])
{
    uint32_t places[SYMBOLS + 1] = {0};
    uint16_t depths[SYMBOLS] = {0};
    for (uint32_t i = 0; i < t->leaves; i++) {
        depths[t->symbol[i]] = t->depth[i];
        places[t->depth[i] + 1]++;
    }
    for (uint32_t depth = 1; depth <= SYMBOLS; depth++) {
        places[depth] += places[depth - 1];
    }
    for (uint32_t symbol = 0; symbol < SYMBOLS - 1; symbol++) {
        if (depths[symbol] > 0) {
            symbols[places[depths[symbol]]++] = (uint8_t)symbol;
        }
    }
}

void sl_huffman_code_make(sl_huffman_lengths *code, const uint64_t counts[256])
{
    tree t;
    uint32_t bits[SYMBOLS] = {0};
    plant(&t, counts);
    assert(t.leaves > 1);
    huffman_code_grow(&t);
    for (uint32_t i = 0; i < t.leaves; i++) {
        bits[t.depth[i]]++;
    }
    limit_lengths(bits);
    uint32_t longest = LENGTH_MAX;
    while (bits[longest] == 0) {
        longest--;
    }
    bits[longest]--; /* the extra symbol */
    memset(code, 0, sizeof(*code));
    for (uint32_t i = 1; i <= LENGTH_MAX; i++) {
        code->bits[i] = (uint8_t)bits[i];
    }
    list_symbols(&t, code->symbols);
}
