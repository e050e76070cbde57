/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_walk: opens an LMDB file and walks its tree, on the opener's thread.
 *
 * Every number of a page is checked before use (lmdb_holds). Every page is entered once (`seen`),
 * and only as deep as the tree's depth, so a walk ends regardless of the file's contents.
 */
#include "lmdb_walk.h"

#include "memory.h"
#include "minmax.h"

#include <string.h>

#define STAGE "dataset"

static sluice_status lmdb_corrupt(const sl_lmdb *file, uint64_t offset, const char *text,
                                  sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, (int64_t)offset, "%s", text);
}

/* Reports an error found in bytes at `offset`. */
static sluice_status lmdb_check(const sl_lmdb *file, uint64_t offset, sl_refusal why,
                                sluice_error *error)
{
    return why.text == NULL ? SLUICE_OK
                            : sl_error_file(error, why.status, STAGE, 0, file->path,
                                            (int64_t)(offset + why.offset), "%s", why.text);
}

/* ---- pages ---- */

/*
 * Returns whether the `count` pages from `number` on can exist, with `bytes` of them in the file.
 */
static bool lmdb_holds(const sl_lmdb *file, uint64_t number, uint64_t count, uint64_t bytes)
{
    const uint64_t last = file->meta.last_page;
    const uint64_t page_bytes = file->meta.page_bytes;
    return number > 1 && number <= last && count - 1 <= last - number &&
           number <= UINT64_MAX / SL_LMDB_PAGE_MAX && number * page_bytes <= file->file.bytes &&
           bytes <= file->file.bytes - number * page_bytes;
}

static sluice_status lmdb_read_page(const sl_lmdb *file, uint64_t number, uint8_t *memory,
                                    sl_lmdb_page *page, sluice_error *error)
{
    const uint32_t bytes = file->meta.page_bytes;
    const uint64_t offset = number * bytes;
    const sluice_status status = sl_handle_read(&file->from, memory, bytes, offset, error);
    if (status < 0) {
        return status;
    }
    return lmdb_check(file, offset, sl_lmdb_page_open(page, (sl_bytes){memory, bytes}, number),
                      error);
}

/* ---- opening ---- */

static sluice_status read_meta(const sl_lmdb *file, uint64_t offset, sl_lmdb_meta *meta,
                               sluice_error *error)
{
    uint8_t head[SL_LMDB_META_BYTES];
    if (file->file.bytes < sizeof(head) || offset > file->file.bytes - sizeof(head)) {
        return lmdb_corrupt(file, file->file.bytes, "the file is truncated in its meta pages",
                            error);
    }
    const sluice_status status = sl_handle_read(&file->from, head, sizeof(head), offset, error);
    if (status < 0) {
        return status;
    }
    return lmdb_check(file, offset, sl_lmdb_meta_parse(meta, head), error);
}

/* Enters the only named database, if there are no other entries. */
static sluice_status enter_named(sl_lmdb *file, sluice_error *error)
{
    sl_lmdb_page page = {.leaf = false};
    sl_lmdb_node node;
    const uint64_t root = file->tree.root;
    uint8_t *memory = sl_malloc(file->meta.page_bytes);
    sluice_status status =
        memory != NULL ? lmdb_read_page(file, root, memory, &page, error)
                       : sl_no_memory_file(error, STAGE, file->path, "for pages of an LMDB file");
    if (status == SLUICE_OK && page.leaf && page.nodes == 1) {
        sl_refusal why = sl_lmdb_node_at(&page, 0, &node);
        if (why.text == NULL && node.tree) {
            why = sl_lmdb_tree_of(&node, &file->tree);
        }
        status = lmdb_check(file, root * file->meta.page_bytes, why, error);
    }
    sl_free(memory);
    return status;
}

static sluice_status find_tree(sl_lmdb *file, sluice_error *error)
{
    sl_lmdb_meta other = {.page_bytes = 0};
    sluice_status status = read_meta(file, 0, &file->meta, error);
    if (status == SLUICE_OK) {
        status = read_meta(file, file->meta.page_bytes, &other, error);
    }
    if (status < 0) {
        return status;
    }
    if (other.page_bytes != file->meta.page_bytes) {
        return lmdb_corrupt(file, 0, "its meta pages have different page sizes", error);
    }
    file->meta = other.transaction > file->meta.transaction ? other : file->meta;
    file->tree = file->meta.main;
    if (file->tree.entries == 1 && file->tree.depth == 1 &&
        lmdb_holds(file, file->tree.root, 1, file->meta.page_bytes)) {
        status = enter_named(file, error);
    }
    if (status == SLUICE_OK && (file->tree.flags & SL_LMDB_SEVERAL) != 0) {
        status = sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, file->path, -1,
                               "its keys have several values each (MDB_DUPSORT), which is not "
                               "supported: store one value per key");
    }
    return status;
}

sluice_status sl_lmdb_open(sl_lmdb *file, const char *path, sluice_error *error)
{
    *file = (sl_lmdb){.path = path};
    sluice_status status =
        sl_handle_open(&file->from, (sl_file_name){STAGE, path}, &file->file, error);
    if (status == SLUICE_OK) {
        sl_handle_advise(&file->from, SL_ADVICE_RANDOM, 0, 0); /* values are not read */
        status = find_tree(file, error);
    }
    if (status < 0) {
        sl_lmdb_close(file);
    }
    return status;
}

void sl_lmdb_close(sl_lmdb *file)
{
    sl_handle_close(&file->from);
}

/* ---- walking ---- */

typedef struct level {
    sl_lmdb_page page;
    uint64_t number; /* page number */
    uint32_t next;   /* node */
} level;

typedef struct walker {
    const sl_lmdb *file;
    sl_lmdb_visit visit;
    void *ctx;
    uint8_t *pages;
    uint8_t *seen; /* one bit per page of the file: already looked at */
    uint64_t entries;
    uint32_t depth; /* number of levels in use */
    level levels[SL_LMDB_DEPTH_MAX];
} walker;

/* Has the kernel prefetch all children of a page, which are then read one after another. */
static void announce(const walker *w, const level *at)
{
    const uint64_t bytes = w->file->meta.page_bytes;
    uint64_t first = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < at->page.nodes; i++) {
        sl_lmdb_node node;
        if (sl_lmdb_node_at(&at->page, i, &node).text != NULL ||
            !lmdb_holds(w->file, node.page, 1, bytes)) {
            return; /* walking reports it */
        }
        if (count > 0 && node.page == first + count) {
            count++;
            continue;
        }
        if (count > 0) {
            sl_handle_advise(&w->file->from, SL_ADVICE_SOON, first * bytes, count * bytes);
        }
        first = node.page;
        count = 1;
    }
    if (count > 0) {
        sl_handle_advise(&w->file->from, SL_ADVICE_SOON, first * bytes, count * bytes);
    }
}

/* Marks a page as looked at; returns whether it already was. */
static bool was_seen(const walker *w, uint64_t number)
{
    const uint8_t bit = (uint8_t)(1U << (number & 7));
    const bool seen = (w->seen[number / 8] & bit) != 0;
    w->seen[number / 8] |= bit;
    return seen;
}

/* Enters a page. `from`: offset of the reference to it. */
static sluice_status lmdb_walk_enter(walker *w, uint64_t number, uint64_t from, sluice_error *error)
{
    const sl_lmdb *file = w->file;
    const uint32_t bytes = file->meta.page_bytes;
    if (!lmdb_holds(file, number, 1, bytes)) {
        return lmdb_corrupt(file, from,
                            "it refers to a page outside the file: damaged, or truncated", error);
    }
    level *at = &w->levels[w->depth];
    const sluice_status status =
        lmdb_read_page(file, number, w->pages + (size_t)w->depth * bytes, &at->page, error);
    if (status < 0) {
        return status;
    }
    const bool bottom = w->depth + 1 == file->tree.depth;
    if (at->page.leaf != bottom || was_seen(w, number)) {
        return lmdb_corrupt(file, number * bytes,
                            "its tree is damaged: a page is in the wrong place", error);
    }
    at->number = number;
    at->next = 0;
    w->depth++;
    if (!bottom) {
        announce(w, at);
    }
    return SLUICE_OK;
}

static sluice_status refuse_named(const walker *w, const sl_lmdb_node *node, sluice_error *error)
{
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->file->path, -1,
                         "it contains named databases (\"%.*s\") beside others: copy one of them "
                         "to a separate folder (mdb_dump -s NAME FROM | mdb_load TO)",
                         (int)sl_min_size(node->key.size, 100), (const char *)node->key.data);
}

static sluice_status lmdb_walk_take(walker *w, const level *at, const sl_lmdb_node *node,
                                    sluice_error *error)
{
    const sl_lmdb *file = w->file;
    const uint64_t page_bytes = file->meta.page_bytes;
    const uint64_t here = at->number * page_bytes + node->at;
    sl_lmdb_entry entry = {
        .key = node->key, .value = node->value, .leaf = at->number, .file = file};
    if (node->tree) {
        return refuse_named(w, node, error);
    }
    if (node->apart) {
        entry.bytes = SL_LMDB_HEAD + (uint64_t)node->value_bytes;
        entry.offset = node->page * page_bytes;
        if (!lmdb_holds(file, node->page, (entry.bytes - 1) / page_bytes + 1, entry.bytes)) {
            return lmdb_corrupt(
                file, here, "a value is beyond the end of the file: damaged, or truncated", error);
        }
    } else {
        entry.offset = here;
        entry.bytes =
            (uint64_t)(node->value.data - at->page.bytes.data) + node->value.size - node->at;
    }
    if (w->entries++ == file->tree.entries) {
        return lmdb_corrupt(file, here,
                            "its tree is damaged: it has more entries than its header says", error);
    }
    return w->visit(w->ctx, &entry, error);
}

static sluice_status lmdb_walk_step(walker *w, sluice_error *error)
{
    level *at = &w->levels[w->depth - 1];
    sl_lmdb_node node;
    if (at->next == at->page.nodes) {
        w->depth--;
        return SLUICE_OK;
    }
    const uint64_t offset = at->number * w->file->meta.page_bytes;
    const sl_refusal why = sl_lmdb_node_at(&at->page, at->next++, &node);
    if (why.text != NULL) {
        return lmdb_check(w->file, offset, why, error);
    }
    return at->page.leaf ? lmdb_walk_take(w, at, &node, error)
                         : lmdb_walk_enter(w, node.page, offset + node.at, error);
}

static sluice_status lmdb_walk_all(walker *w, sluice_error *error)
{
    sluice_status status = lmdb_walk_enter(w, w->file->tree.root, 0, error);
    while (status == SLUICE_OK && w->depth > 0) {
        status = lmdb_walk_step(w, error);
    }
    if (status == SLUICE_OK && w->entries != w->file->tree.entries) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, w->file->path, -1,
                             "its tree is damaged: it has %llu entries instead of %llu",
                             (unsigned long long)w->entries,
                             (unsigned long long)w->file->tree.entries);
    }
    return status;
}

sluice_status sl_lmdb_walk(const sl_lmdb *file, sl_lmdb_visit visit, void *ctx, sluice_error *error)
{
    if (file->tree.root == SL_LMDB_NO_ROOT) {
        return SLUICE_OK;
    }
    walker *w = sl_calloc(1, sizeof(*w));
    uint8_t *pages = sl_malloc((size_t)file->tree.depth * file->meta.page_bytes);
    uint8_t *seen = sl_calloc(file->file.bytes / file->meta.page_bytes / 8 + 1, 1);
    sluice_status status = SLUICE_NOMEM;
    if (w == NULL || pages == NULL || seen == NULL) {
        (void)sl_no_memory_file(error, STAGE, file->path, "for pages of an LMDB file");
    } else {
        *w = (walker){.file = file, .visit = visit, .ctx = ctx, .pages = pages, .seen = seen};
        status = lmdb_walk_all(w, error);
    }
    sl_free(seen);
    sl_free(pages);
    sl_free(w);
    return status;
}
