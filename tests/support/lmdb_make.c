/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_make.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 16, NODE = 8, TREE = 48 };

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

static void expect(int holds)
{
    if (!holds) {
        abort();
    }
}

static void put_tree(uint8_t *to, uint32_t pad, const lmdb_tree *tree)
{
    put(to, pad, 4);
    put(to + 4, tree->flags, 2);
    put(to + 6, tree->depth, 2);
    put(to + 32, tree->entries, 8);
    put(to + 40, tree->root, 8);
}

void lmdb_meta(lmdb_file *file, uint32_t page, uint64_t transaction, const lmdb_tree *tree)
{
    const lmdb_tree none = {.root = UINT64_MAX};
    uint8_t *at = lmdb_at(file, page);
    put(at, page, 8);
    put(at + 10, LMDB_META, 2);
    put(at + 16, 0xbeefc0de, 4);
    put(at + 20, 1, 4);
    put(at + 32, 1 << 30, 8);
    put_tree(at + 40, file->page_bytes, &none);
    put_tree(at + 88, 0, tree);
    put(at + 136, file->pages - 1, 8);
    put(at + 144, transaction, 8);
}

void lmdb_begin(lmdb_file *file, uint32_t page_bytes, uint32_t pages)
{
    const lmdb_tree none = {.root = UINT64_MAX};
    file->page_bytes = page_bytes;
    file->pages = pages;
    file->data = calloc(pages, page_bytes);
    expect(file->data != NULL);
    lmdb_meta(file, 0, 0, &none);
    lmdb_meta(file, 1, 0, &none);
}

void lmdb_free(lmdb_file *file)
{
    free(file->data);
    file->data = NULL;
}

void lmdb_page(lmdb_file *file, uint32_t page, uint16_t flags)
{
    uint8_t *at = lmdb_at(file, page);
    expect(page < file->pages);
    put(at, page, 8);
    put(at + 10, flags, 2);
    put(at + 12, HEAD, 2);
    put(at + 14, file->page_bytes, 2);
}

/* Reserves space for a node; returns its offset. */
static uint32_t make_space(lmdb_file *file, uint32_t page, size_t bytes)
{
    uint8_t *at = lmdb_at(file, page);
    const uint32_t lower = get16(at + 12);
    const uint32_t upper = get16(at + 14) - (uint32_t)(bytes + bytes % 2);
    expect(upper < file->page_bytes && lower + 2 <= upper);
    put(at + lower, upper, 2);
    put(at + 12, lower + 2, 2);
    put(at + 14, upper, 2);
    return upper;
}

uint32_t lmdb_node(lmdb_file *file, uint32_t leaf, uint16_t flags, const char *key,
                   const void *value, uint32_t bytes)
{
    const size_t key_bytes = strlen(key);
    const uint32_t place = make_space(file, leaf, NODE + key_bytes + bytes);
    uint8_t *at = lmdb_at(file, leaf) + place;
    put(at, bytes, 4);
    put(at + 4, flags, 2);
    put(at + 6, key_bytes, 2);
    for (size_t i = 0; i < key_bytes; i++) {
        at[NODE + i] = (uint8_t)key[i];
    }
    if (bytes > 0) {
        memcpy(at + NODE + key_bytes, value, bytes);
    }
    return place;
}

void lmdb_claim(lmdb_file *file, uint32_t leaf, uint32_t node, uint32_t bytes)
{
    put(lmdb_at(file, leaf) + node, bytes, 4);
}

uint32_t lmdb_put(lmdb_file *file, uint32_t leaf, const char *key, const void *value,
                  uint32_t bytes)
{
    return lmdb_node(file, leaf, 0, key, value, bytes);
}

uint32_t lmdb_put_apart(lmdb_file *file, uint32_t leaf, const char *key, uint32_t page,
                        const void *value, uint32_t bytes)
{
    uint8_t number[8];
    uint8_t *at = lmdb_at(file, page);
    const uint32_t pages = (HEAD + bytes + file->page_bytes - 1) / file->page_bytes;
    expect(page + pages <= file->pages);
    put(at, page, 8);
    put(at + 10, LMDB_APART, 2);
    put(at + 12, pages, 4);
    memcpy(at + HEAD, value, bytes);
    put(number, page, 8);
    const uint32_t node = lmdb_node(file, leaf, LMDB_NODE_APART, key, number, sizeof(number));
    lmdb_claim(file, leaf, node, bytes);
    return node;
}

uint32_t lmdb_put_tree(lmdb_file *file, uint32_t leaf, const char *name, const lmdb_tree *tree)
{
    uint8_t value[TREE] = {0};
    put_tree(value, 0, tree);
    return lmdb_node(file, leaf, LMDB_NODE_TREE, name, value, TREE);
}

uint32_t lmdb_child(lmdb_file *file, uint32_t branch, const char *key, uint64_t child)
{
    const size_t key_bytes = strlen(key);
    const uint32_t place = make_space(file, branch, NODE + key_bytes);
    uint8_t *at = lmdb_at(file, branch) + place;
    put(at, child, 6);
    put(at + 6, key_bytes, 2);
    for (size_t i = 0; i < key_bytes; i++) {
        at[NODE + i] = (uint8_t)key[i];
    }
    return place;
}
