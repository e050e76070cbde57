/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_check: verifies a shard as a whole: index, metadata, padding and the sum of its samples.
 *
 * Called by a thread of verify for one shard; findings do not stop it.
 */
#include "checksum.h"
#include "little_endian.h"
#include "memory.h"
#include "shard_pages.h"
#include "shards.h"

#include <string.h>

#define STAGE "dataset"
/* Number of index blocks read at once. */
#define PIECE_BLOCKS 256u

/* State of checking one shard. */
typedef struct check {
    sl_checksum_stream identity;
    sl_checksum_stream index;
    sl_shard_header header;
    const sl_shards *shards;
    const sl_shard_row *row;
    sl_findings *findings;
    uint32_t shard;
    const char *path;
    uint8_t *piece;     /* PIECE_BLOCKS pages */
    uint64_t next;      /* required offset of the next sample; 0: unknown */
    bool index_damaged; /* true if damage was reported, which totals would only repeat */
} check;

static void shards_check_report(const check *c, const sluice_error *finding)
{
    c->findings->report(c->findings->ctx, finding);
}

static void report_refusal(const check *c, sl_refusal refusal, uint64_t offset)
{
    sluice_error finding;
    sl_shards_refuse(&finding, refusal, c->path, offset);
    shards_check_report(c, &finding);
}

static bool shards_check_read_piece(check *c, uint64_t offset, size_t bytes)
{
    sluice_error finding;
    if (sl_objects_read(c->shards->base.objects, c->shard, offset, c->piece, bytes, &finding) < 0) {
        shards_check_report(c, &finding);
        return false;
    }
    c->findings->bytes_read += bytes;
    return true;
}

/* Reads an entry, or the fences of a sample: returns the sample's begin and end. */
static sl_refusal shards_check_read_entry(check *c, const uint8_t *bytes, uint64_t *begin,
                                          uint64_t *end)
{
    if (c->header.version != 1) {
        uint64_t offset;
        uint32_t size;
        *begin = sl_load64(bytes);
        *end = sl_load64(bytes + SL_FENCE_BYTES);
        return sl_fences_decode(bytes, c->row->data_bytes, &offset, &size);
    }
    sl_entry entry;
    const sl_refusal refusal =
        sl_entry_decode(&c->shards->schema, &entry, bytes, c->row->data_bytes);
    *begin = entry.offset;
    *end = entry.offset + entry.bytes;
    sl_checksum_add_u64(&c->identity, entry.checksum);
    return refusal;
}

static void check_entry(check *c, const uint8_t *bytes, uint64_t offset, uint64_t sample)
{
    uint64_t begin;
    uint64_t end;
    sl_refusal refusal = shards_check_read_entry(c, bytes, &begin, &end);
    if (refusal.text == NULL && begin != c->next) {
        refusal = sl_refuse("a sample does not begin at the end of the previous one", 0);
    }
    if (refusal.text != NULL) {
        sluice_error finding;
        sl_shards_refuse(&finding, refusal, c->path, offset);
        finding.sample = (int64_t)(c->row->first + sample);
        shards_check_report(c, &finding);
        c->index_damaged = true;
    }
    c->next = end;
}

static void check_block(check *c, const uint8_t *block, uint64_t number)
{
    const sl_schema *schema = &c->shards->schema;
    uint64_t offset = c->row->index_offset + number * SL_PAGE_BYTES;
    const sl_block_tail tail = sl_shards_tail(c->shards, c->row, number);
    sl_refusal refusal = sl_block_check(block, &tail, schema);
    if (refusal.text != NULL) {
        report_refusal(c, refusal, offset);
        c->index_damaged = true;
        /* entries of a damaged block cannot be trusted: resume at the next block */
        c->next = 0;
        return;
    }
    for (uint32_t i = 0; i < tail.count; i++) {
        size_t at = (size_t)i * schema->entry_bytes;
        if (i == 0 && c->next == 0) {
            c->next = sl_load64(block);
        }
        check_entry(c, block + at, offset + at, tail.first + i);
    }
}

static void check_index(check *c)
{
    uint64_t blocks = c->header.index_bytes / SL_PAGE_BYTES;
    c->next = SL_SHARD_DATA_OFFSET;
    sl_checksum_begin(&c->identity);
    sl_checksum_begin(&c->index);
    for (uint64_t done = 0; done < blocks;) {
        uint64_t left = blocks - done;
        size_t count = left < PIECE_BLOCKS ? (size_t)left : PIECE_BLOCKS;
        if (!shards_check_read_piece(c, c->row->index_offset + done * SL_PAGE_BYTES,
                                     count * SL_PAGE_BYTES)) {
            return;
        }
        sl_checksum_add(&c->index, c->piece, count * SL_PAGE_BYTES);
        for (size_t i = 0; i < count; i++) {
            check_block(c, c->piece + i * SL_PAGE_BYTES, done + i);
        }
        done += count;
    }
    if (c->index_damaged || blocks == 0) {
        return;
    }
    if (sl_checksum_value(&c->index) != c->header.index_checksum) {
        report_refusal(c, sl_refuse("the index does not match its checksum", 0),
                       c->row->index_offset);
    }
    const bool identified =
        c->header.version != 1 || sl_checksum_value(&c->identity) == c->header.identity;
    if (!identified || c->next != SL_SHARD_DATA_OFFSET + c->row->data_bytes) {
        report_refusal(c, sl_refuse("the index does not cover the samples of this shard", 0),
                       c->row->index_offset);
    }
}

static void check_padding(check *c)
{
    uint64_t from = SL_SHARD_DATA_OFFSET + c->row->data_bytes;
    size_t bytes = (size_t)(c->row->index_offset - from);
    if (shards_check_read_piece(c, from, bytes) && !sl_all_zero(c->piece, bytes)) {
        report_refusal(c, sl_refuse("the bytes between samples and index are not zero", 0), from);
    }
}

static void check_metadata(check *c)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    uint64_t capacity = (uint64_t)PIECE_BLOCKS * SL_PAGE_BYTES;
    for (uint64_t done = 0; done < c->header.meta_bytes;) {
        uint64_t left = c->header.meta_bytes - done;
        size_t bytes = (size_t)(left < capacity ? left : capacity);
        if (!shards_check_read_piece(c, c->header.meta_offset + done, bytes)) {
            return;
        }
        sl_checksum_add(&stream, c->piece, bytes);
        done += bytes;
    }
    if (sl_checksum_value(&stream) != c->header.meta_checksum) {
        report_refusal(c, sl_refuse("the metadata do not match their checksum", 0),
                       c->header.meta_offset);
    }
}

/*
 * Compares metadata of a time when the dataset had fewer classes, which must be its first ones now.
 */
static sl_refusal compare_metadata(const check *c, const uint8_t *bytes)
{
    sl_schema schema = {0};
    sl_refusal refusal =
        sl_schema_decode(&schema, c->header.version, (sl_bytes){bytes, c->header.meta_bytes});
    if (refusal.text == NULL && !sl_schema_extends(&c->shards->schema, &schema)) {
        refusal =
            sl_refuse("the fields, or the first classes, differ from those of the dataset", 0);
    }
    sl_schema_close(&schema);
    return refusal;
}

static void check_shorter_metadata(check *c)
{
    sluice_error finding;
    uint8_t *bytes = sl_malloc(c->header.meta_bytes); /* less than the dataset keeps in memory */
    if (bytes == NULL) {
        sl_no_memory(&finding, STAGE, "checking a shard");
        shards_check_report(c, &finding);
    } else if (sl_objects_read(c->shards->base.objects, c->shard, c->header.meta_offset, bytes,
                               (uint32_t)c->header.meta_bytes, &finding) < 0) {
        shards_check_report(c, &finding);
    } else {
        const sl_refusal refusal = compare_metadata(c, bytes);
        if (refusal.text != NULL) {
            report_refusal(c, refusal, c->header.meta_offset);
        }
    }
    sl_free(bytes);
}

static sluice_status check_all(check *c)
{
    sluice_error finding;
    if (!shards_check_read_piece(c, 0, SL_PAGE_BYTES)) {
        return SLUICE_IO;
    }
    const sl_refusal refusal =
        sl_shard_header_trust(c->shards, &c->shards->shards[c->shard], c->piece, &c->header);
    if (refusal.text != NULL) {
        sl_shards_refuse(&finding, refusal, c->path, 0);
        shards_check_report(c, &finding);
        return refusal.status;
    }
    check_padding(c);
    check_index(c);
    check_metadata(c);
    if (c->header.meta_bytes < c->shards->meta_bytes) {
        check_shorter_metadata(c);
    }
    return SLUICE_OK;
}

sluice_status sl_shards_check(const sl_dataset *dataset, uint32_t shard, sl_findings *findings)
{
    char path[SL_PATH_BYTES] = "";
    check c = {.shards = sl_shards_of(dataset), .findings = findings, .path = path, .shard = shard};
    (void)sl_objects_path(dataset->objects, shard, path, sizeof(path));
    c.row = &c.shards->shards[shard].row;
    c.piece = sl_malloc((size_t)PIECE_BLOCKS * SL_PAGE_BYTES);
    if (c.piece == NULL) {
        sluice_error finding;
        sl_no_memory(&finding, STAGE, "checking a shard");
        shards_check_report(&c, &finding);
        return SLUICE_NOMEM;
    }
    const sluice_status status = check_all(&c);
    sl_free(c.piece);
    return status;
}
