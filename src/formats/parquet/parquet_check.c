/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_check.h"

#include "crc32.h"
#include "memory.h"
#include "parquet_page.h"
#include "parquet_pages.h"
#include "store.h"

#define STAGE "dataset"
/* Bytes of a page that are read at once. */
#define PIECE_BYTES ((size_t)1 << 20)

/* State of checking a file. */
typedef struct check {
    const sl_parquets *own;
    sl_findings *findings;
    const char *path;
    sl_handle from;
    const uint16_t *order; /* order of the file's leaves */
    sl_parquet parquet;
    sl_parquet_walk walk;
    uint8_t piece[PIECE_BYTES];
} check;

static bool is_read(const sl_parquets *own, uint32_t leaf)
{
    uint32_t i = 0;
    while (i < own->table.plan.large_count && own->reads[i].leaf != leaf) {
        i++;
    }
    return i < own->table.plan.large_count;
}

/*
 * Returns whether unpacking, which was done or will be done with the samples, verifies the page:
 * gzip has a checksum of its contents, which must include the whole page.
 */
static bool tells_by_itself(const check *c, const sl_parquet_page *page)
{
    return page->compressed && c->walk.codec == SL_PAGE_GZIP &&
           page->rep_bytes + page->def_bytes == 0;
}

static sluice_status parquet_check_sum_up(check *c, const sl_parquet_page *page, uint32_t *crc,
                                          sluice_error *error)
{
    *crc = 0;
    for (uint32_t at = 0; at < page->bytes;) {
        if (sl_findings_stopped(c->findings)) {
            return SLUICE_CANCELED;
        }
        const uint32_t left = page->bytes - at;
        const size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        const sluice_status status =
            sl_handle_read(&c->from, c->piece, bytes, page->offset + at, error);
        if (status < 0) {
            return status;
        }
        *crc = sl_crc32(*crc, c->piece, bytes);
        at += (uint32_t)bytes;
    }
    c->findings->bytes_read += page->bytes;
    return SLUICE_OK;
}

static sluice_status check_page(check *c, uint32_t leaf, const sl_parquet_page *page,
                                sluice_error *error)
{
    uint32_t crc;
    if (!page->has_crc && page->bytes > 0 && !tells_by_itself(c, page)) {
        sl_unchecked_add(&c->findings->unchecked, "Parquet pages without a CRC");
    }
    if (!page->has_crc && is_read(c->own, leaf)) {
        return SLUICE_OK;
    }
    const sluice_status status = parquet_check_sum_up(c, page, &crc, error);
    if (status == SLUICE_OK && page->has_crc && crc != page->crc) {
        sluice_error finding;
        sl_error_file(&finding, SLUICE_CORRUPT, STAGE, 0, c->path, (int64_t)page->offset,
                      "column \"%s\": the page that begins here, of %u bytes, does not match its "
                      "checksum (CRC-32)",
                      c->parquet.leaves[leaf].name, page->bytes);
        c->findings->report(c->findings->ctx, &finding);
    }
    return status;
}

/*
 * Checks the pages of a column. A damaged header ends it, since the next page's offset is then
 * unknown.
 */
static sluice_status parquet_check_chunk(check *c, uint32_t group, uint32_t leaf,
                                         sluice_error *error)
{
    const sl_parquet_chunk *chunk =
        &c->parquet.chunks[(size_t)group * c->parquet.leaf_count + leaf];
    sluice_status status = SLUICE_OK;
    sl_parquet_walk_begin(&c->walk, &c->from, chunk);
    while (status == SLUICE_OK && !sl_findings_stopped(c->findings)) {
        sl_parquet_page page;
        const uint64_t header = c->walk.at;
        status = sl_parquet_walk_next(&c->walk, chunk->values, &page, error);
        if (status == SLUICE_OK) {
            c->findings->bytes_read += page.offset - header;
            status = check_page(c, leaf, &page, error);
        }
    }
    if (status == SLUICE_CORRUPT) {
        c->findings->report(c->findings->ctx, error);
        return SLUICE_OK;
    }
    return status == SLUICE_END ? SLUICE_OK : status;
}

static sluice_status parquet_check_file(check *c, sluice_error *error)
{
    const sl_parquet *parquet = &c->parquet;
    sluice_status status = sl_parquet_read_footer(&c->parquet, &c->from, error);
    if (status == SLUICE_OK) {
        status = sl_parquet_reorder(&c->parquet, c->order, error);
    }
    for (uint32_t group = 0; group < parquet->group_count; group++) {
        for (uint32_t leaf = 0; status == SLUICE_OK && leaf < parquet->leaf_count; leaf++) {
            if (sl_parquets_have_leaf(c->own, leaf)) {
                status = parquet_check_chunk(c, group, leaf, error);
            }
        }
    }
    return status;
}

sluice_status sl_parquet_check(const sl_parquets *own, uint32_t file, sl_findings *findings)
{
    sluice_error error;
    const sl_listed_file *of = &own->set.list.files[file];
    sl_error_clear(&error);
    check *c = sl_calloc(1, sizeof(*c));
    if (c == NULL) {
        sl_error_file(&error, SLUICE_NOMEM, STAGE, 0, of->path, -1,
                      "out of memory for checking a file");
        findings->report(findings->ctx, &error);
        return SLUICE_OK;
    }
    sluice_status status =
        sl_handle_open_again(&c->from, (sl_file_name){STAGE, of->path}, &of->file, &error);
    if (status == SLUICE_OK) {
        c->own = own;
        c->order = own->orders[file];
        c->findings = findings;
        c->path = of->path;
        c->parquet.file = of->file;
        status = parquet_check_file(c, &error);
        sl_parquet_close(&c->parquet);
        sl_handle_close(&c->from);
    }
    if (status < 0 && status != SLUICE_CANCELED) {
        findings->report(findings->ctx, &error);
    }
    sl_free(c);
    return SLUICE_OK; /* continues, to report which samples are damaged */
}
