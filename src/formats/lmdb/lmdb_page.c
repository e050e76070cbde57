/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_page.h"

#include "little_endian.h"

#define MAGIC UINT32_C(0xbeefc0de)

enum {
    VERSION = 1,
    NODE = 8, /* size of a node before its key */
    MAGIC_AT = 16,
    MAGIC_AT_32 = 12, /* offset in files with 32-bit page numbers */
    FREE_TREE_AT = 40,
    MAIN_TREE_AT = 88,
    LAST_PAGE_AT = 136,
    TRANSACTION_AT = 144
};

/* Flags of a page. */
enum { BRANCH = 1, LEAF = 2, APART = 4, META = 8, FIXED = 0x20, SUB = 0x40 };
/* Flags of a leaf's node. */
enum { NODE_APART = 1, NODE_TREE = 2, NODE_SEVERAL = 4 };

static const char several[] = "its keys have several values each (MDB_DUPSORT), which is not "
                              "supported: store one value per key";

/* ---- meta pages ---- */

static bool lmdb_page_is_big_endian(const uint8_t *head)
{
    return head[MAGIC_AT] == 0xbe && head[MAGIC_AT + 1] == 0xef && head[MAGIC_AT + 2] == 0xc0 &&
           head[MAGIC_AT + 3] == 0xde;
}

bool sl_lmdb_begins(const uint8_t head[SL_LMDB_META_BYTES])
{
    return sl_load32(head + MAGIC_AT) == MAGIC || sl_load32(head + MAGIC_AT_32) == MAGIC ||
           lmdb_page_is_big_endian(head);
}

static sl_refusal parse_tree(sl_lmdb_tree *tree, const uint8_t *at)
{
    *tree = (sl_lmdb_tree){.flags = sl_load16(at + 4),
                           .depth = sl_load16(at + 6),
                           .entries = sl_load64(at + 32),
                           .root = sl_load64(at + 40)};
    if (tree->root == SL_LMDB_NO_ROOT ? tree->entries > 0
                                      : tree->depth == 0 || tree->depth > SL_LMDB_DEPTH_MAX) {
        return sl_refuse("its tree's depth or size is out of range", 0);
    }
    return sl_accept();
}

sl_refusal sl_lmdb_meta_parse(sl_lmdb_meta *meta, const uint8_t head[SL_LMDB_META_BYTES])
{
    if (lmdb_page_is_big_endian(head) ||
        (sl_load32(head + MAGIC_AT_32) == MAGIC && sl_load32(head + MAGIC_AT) != MAGIC)) {
        return sl_refuse_unknown("an LMDB file of a big-endian or 32-bit machine: export it on "
                                 "that machine with mdb_dump, and import it here with mdb_load",
                                 0);
    }
    if (sl_load32(head + MAGIC_AT) != MAGIC || (sl_load16(head + 10) & META) == 0) {
        return sl_refuse("not a meta page of an LMDB file", 0);
    }
    if (sl_load32(head + MAGIC_AT + 4) != VERSION) {
        return sl_refuse_unknown(
            "unsupported version of LMDB files: only version 1 (liblmdb 0.9) is", MAGIC_AT + 4);
    }
    const uint32_t bytes = sl_load32(head + FREE_TREE_AT);
    if (bytes < SL_LMDB_PAGE_MIN || bytes > SL_LMDB_PAGE_MAX || (bytes & (bytes - 1)) != 0) {
        return sl_refuse("the page size is out of range", FREE_TREE_AT);
    }
    meta->page_bytes = bytes;
    meta->last_page = sl_load64(head + LAST_PAGE_AT);
    meta->transaction = sl_load64(head + TRANSACTION_AT);
    sl_refusal why = parse_tree(&meta->main, head + MAIN_TREE_AT);
    why.offset += MAIN_TREE_AT;
    return why;
}

/* ---- branches and leaves ---- */

sl_refusal sl_lmdb_page_open(sl_lmdb_page *page, sl_bytes bytes, uint64_t number)
{
    const uint32_t kind = sl_load16(bytes.data + 10) & (BRANCH | LEAF | APART | META | FIXED | SUB);
    const uint32_t lower = sl_load16(bytes.data + 12);
    const uint32_t upper = sl_load16(bytes.data + 14);
    if (sl_load64(bytes.data) != number) {
        return sl_refuse("a page has the wrong number", 0);
    }
    if (kind != BRANCH && kind != LEAF) {
        return sl_refuse("a page is neither a branch nor a leaf", 10);
    }
    if (lower < SL_LMDB_HEAD || lower % 2 != 0 || lower > upper || upper > bytes.size) {
        return sl_refuse("a page's node table is out of range", 12);
    }
    *page =
        (sl_lmdb_page){.bytes = bytes, .leaf = kind == LEAF, .nodes = (lower - SL_LMDB_HEAD) / 2};
    return sl_accept();
}

static sl_refusal lmdb_page_read_value(sl_lmdb_node *node, const uint8_t *at, size_t left,
                                       uint32_t flags)
{
    if (flags > (NODE_APART | NODE_TREE)) {
        return (flags & NODE_SEVERAL) != 0 ? sl_refuse_unknown(several, node->at)
                                           : sl_refuse("a node's flags are unknown", node->at);
    }
    node->tree = (flags & NODE_TREE) != 0;
    node->apart = (flags & NODE_APART) != 0;
    if (left < (node->apart ? 8 : node->value_bytes)) {
        return sl_refuse("a node's value extends beyond its page", node->at);
    }
    if (node->apart) {
        node->page = sl_load64(at);
    } else {
        node->value = (sl_bytes){at, node->value_bytes};
    }
    return sl_accept();
}

sl_refusal sl_lmdb_node_at(const sl_lmdb_page *page, uint32_t number, sl_lmdb_node *node)
{
    const sl_bytes bytes = page->bytes;
    const uint32_t at = sl_load16(bytes.data + SL_LMDB_HEAD + (size_t)2 * number);
    *node = (sl_lmdb_node){.at = at};
    if (at < SL_LMDB_HEAD + 2 * page->nodes || at + NODE > bytes.size) {
        return sl_refuse("a node is outside its page", SL_LMDB_HEAD + (size_t)2 * number);
    }
    const uint8_t *head = bytes.data + at;
    const uint32_t key_bytes = sl_load16(head + 6);
    const size_t left = bytes.size - at - NODE;
    if (key_bytes > left) {
        return sl_refuse("a node's key extends beyond its page", at);
    }
    node->key = (sl_bytes){head + NODE, key_bytes};
    if (!page->leaf) {
        node->page = sl_load32(head) | (uint64_t)sl_load16(head + 4) << 32;
        return sl_accept();
    }
    node->value_bytes = sl_load32(head);
    return lmdb_page_read_value(node, head + NODE + key_bytes, left - key_bytes,
                                sl_load16(head + 4));
}

sl_refusal sl_lmdb_tree_of(const sl_lmdb_node *node, sl_lmdb_tree *tree)
{
    if (!node->tree || node->apart || node->value.size != SL_LMDB_TREE_BYTES) {
        return sl_refuse("a named database is damaged", node->at);
    }
    sl_refusal why = parse_tree(tree, node->value.data);
    why.offset += node->at;
    return why;
}

/* ---- stored entries ---- */

static const char changed[] =
    "the entry does not match the index: it is damaged, or was modified since it was opened";

sl_refusal sl_lmdb_value(sl_bytes stored, uint64_t offset, uint32_t page_bytes, sl_bytes *value)
{
    if (offset % page_bytes == 0) {
        if (stored.size < SL_LMDB_HEAD) {
            return sl_refuse("the entry is truncated", 0);
        }
        const bool same = sl_load64(stored.data) == offset / page_bytes &&
                          (sl_load16(stored.data + 10) & APART) != 0 &&
                          (uint64_t)sl_load32(stored.data + 12) * page_bytes >= stored.size;
        *value = (sl_bytes){stored.data + SL_LMDB_HEAD, stored.size - SL_LMDB_HEAD};
        return same ? sl_accept() : sl_refuse(changed, 0);
    }
    if (stored.size < NODE) {
        return sl_refuse("the entry is truncated", 0);
    }
    const size_t head = NODE + (size_t)sl_load16(stored.data + 6);
    if (head > stored.size || sl_load32(stored.data) != stored.size - head ||
        sl_load16(stored.data + 4) != 0) {
        return sl_refuse(changed, 0);
    }
    *value = (sl_bytes){stored.data + head, stored.size - head};
    return sl_accept();
}
