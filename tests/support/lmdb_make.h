/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_make: builds LMDB files for tests, page by page, as liblmdb's mdb.c lays them out.
 *
 * All pages are in one block of memory. Nothing is checked except that they fit, so that files can
 * be deliberately wrong. Ownership: lmdb_free.
 */
#ifndef SL_LMDB_MAKE_H
#define SL_LMDB_MAKE_H

#include <stddef.h>
#include <stdint.h>

/* Flags of pages and of leaf nodes. */
enum { LMDB_BRANCH = 1, LMDB_LEAF = 2, LMDB_APART = 4, LMDB_META = 8 };
enum { LMDB_NODE_APART = 1, LMDB_NODE_TREE = 2, LMDB_NODE_SEVERAL = 4 };

typedef struct lmdb_file {
    uint8_t *data;
    uint32_t page_bytes, pages;
} lmdb_file;

typedef struct lmdb_tree {
    uint16_t flags, depth;
    uint64_t entries, root;
} lmdb_tree;

/* Writes two meta pages of an empty database, and `pages` - 2 pages of zeros. */
void lmdb_begin(lmdb_file *file, uint32_t page_bytes, uint32_t pages);
void lmdb_free(lmdb_file *file);
static inline size_t lmdb_size(const lmdb_file *file)
{
    return (size_t)file->page_bytes * file->pages;
}
static inline uint8_t *lmdb_at(const lmdb_file *file, uint32_t page)
{
    return file->data + (size_t)page * file->page_bytes;
}

/* Writes meta page 0 or 1. */
void lmdb_meta(lmdb_file *file, uint32_t page, uint64_t transaction, const lmdb_tree *tree);
/* Writes an empty branch or leaf. */
void lmdb_page(lmdb_file *file, uint32_t page, uint16_t flags);
/* Appends a node to its leaf, with any flags; returns its offset in the page. */
uint32_t lmdb_node(lmdb_file *file, uint32_t leaf, uint16_t flags, const char *key,
                   const void *value, uint32_t bytes);
/* Makes the node claim that its value has this many bytes. */
void lmdb_claim(lmdb_file *file, uint32_t leaf, uint32_t node, uint32_t bytes);
uint32_t lmdb_put(lmdb_file *file, uint32_t leaf, const char *key, const void *value,
                  uint32_t bytes);
/* Adds a value in separate pages, starting at `page`. */
uint32_t lmdb_put_apart(lmdb_file *file, uint32_t leaf, const char *key, uint32_t page,
                        const void *value, uint32_t bytes);
uint32_t lmdb_put_tree(lmdb_file *file, uint32_t leaf, const char *name, const lmdb_tree *tree);
/* Adds a node to a branch. */
uint32_t lmdb_child(lmdb_file *file, uint32_t branch, const char *key, uint64_t child);

#endif
