/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_page: parses the pages of an LMDB file and checks every number in them.
 *
 * Purpose: the only code that knows the layout (liblmdb's mdb.c, data version 1, of 64-bit
 * little-endian machines). A file consists of pages of one size. A page begins with u64 its number,
 * u16, u16 flags. In a branch or leaf follow u16 end of the node table, u16 beginning of the nodes,
 * and the table (u16 each). In a value with pages of its own follow u32 number of these pages, and
 * the value. A leaf's node: u32 size of the value, u16 flags, u16 size of the key, key, value or
 * (flag 1) u64 first page of the value. A branch's node: u48 page, u16 size of the key, key. Pages
 * 0 and 1 are meta pages; the one of the later transaction counts: u32 magic, u32 version, u64,
 * u64, the tree of free pages, the main tree, u64 last page, u64 transaction. A tree: u32 (in the
 * first one, the page size), u16 flags, u16 depth, u64 branch, leaf and other pages, u64 entries,
 * u64 root. Threads: pure. No allocation.
 */
#ifndef SL_LMDB_PAGE_H
#define SL_LMDB_PAGE_H

#include "error.h"
#include "view.h"

#include <stdbool.h>

#define SL_LMDB_HEAD       16U /* size of a page header */
#define SL_LMDB_META_BYTES 152U
#define SL_LMDB_TREE_BYTES 48U
#define SL_LMDB_PAGE_MIN   512U
#define SL_LMDB_PAGE_MAX   32768U
#define SL_LMDB_DEPTH_MAX  32U
#define SL_LMDB_NO_ROOT    UINT64_MAX

/* Flags of a tree. */
#define SL_LMDB_REVERSE_KEYS 0x02U
#define SL_LMDB_SEVERAL      0x04U /* several values per key */
#define SL_LMDB_NUMBER_KEYS  0x08U

typedef struct sl_lmdb_tree {
    uint32_t flags, depth;
    uint64_t entries;
    uint64_t root; /* SL_LMDB_NO_ROOT: empty */
} sl_lmdb_tree;

typedef struct sl_lmdb_meta {
    uint32_t page_bytes;
    uint64_t last_page, transaction;
    sl_lmdb_tree main;
} sl_lmdb_meta;

/* Returns whether a file begins like an LMDB file, including those of other machines. */
bool sl_lmdb_begins(const uint8_t head[SL_LMDB_META_BYTES]);
sl_refusal sl_lmdb_meta_parse(sl_lmdb_meta *meta, const uint8_t head[SL_LMDB_META_BYTES]);

typedef struct sl_lmdb_page {
    sl_bytes bytes;
    bool leaf; /* false: a branch */
    uint32_t nodes;
} sl_lmdb_page;

/* Opens a branch or leaf, which must be page `number`. */
sl_refusal sl_lmdb_page_open(sl_lmdb_page *page, sl_bytes bytes, uint64_t number);

typedef struct sl_lmdb_node {
    uint32_t at; /* offset in its page */
    sl_bytes key;
    bool tree;            /* true if the value is a named database */
    bool apart;           /* true if the value is in pages of its own */
    uint64_t page;        /* branch: the child; leaf with `apart`: first page of the value */
    uint32_t value_bytes; /* leaf */
    sl_bytes value;       /* leaf without `apart` */
} sl_lmdb_node;

/* Reads node `number`, which the page has. UNSUPPORTED: it has several values. */
sl_refusal sl_lmdb_node_at(const sl_lmdb_page *page, uint32_t number, sl_lmdb_node *node);
/* Reads the tree of a node that contains one. */
sl_refusal sl_lmdb_tree_of(const sl_lmdb_node *node, sl_lmdb_tree *tree);

/*
 * Finds the value in the stored bytes of an entry: a leaf's node or, if they begin at a page
 * boundary, the value's own pages. `offset`: their offset in the file.
 */
sl_refusal sl_lmdb_value(sl_bytes stored, uint64_t offset, uint32_t page_bytes, sl_bytes *value);

#endif
