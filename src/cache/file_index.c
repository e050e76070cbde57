/* SPDX-License-Identifier: Apache-2.0 */
#include "file_index.h"

#include "checksum.h"
#include "little_endian.h"
#include "memory.h"

#include <assert.h>
#include <string.h>

void sl_file_index_close(sl_file_index *index)
{
    sl_free(index->offsets);
    sl_free(index->bytes);
    sl_free(index->omissions);
    sl_free(index->links);
    index->offsets = NULL;
    index->bytes = NULL;
    index->omissions = NULL;
    index->links = NULL;
}

static bool file_index_reserve(sl_file_index *index, uint64_t samples)
{
    uint64_t capacity = index->capacity;
    return sl_grow(&index->offsets, &capacity, samples, sizeof(*index->offsets)) &&
           sl_grow(&index->bytes, &index->capacity, samples, sizeof(*index->bytes));
}

bool sl_file_index_add(sl_file_index *index, uint64_t offset, uint64_t bytes)
{
    if (!file_index_reserve(index, index->samples + 1)) {
        return false;
    }
    index->offsets[index->samples] = offset;
    index->bytes[index->samples] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    index->samples++;
    return true;
}

uint32_t sl_file_index_name(sl_file_index *index, const char *name)
{
    for (uint32_t i = 0; i < index->name_count; i++) {
        if (strcmp(index->names[i], name) == 0) {
            return i;
        }
    }
    if (index->name_count == SL_INDEX_NAMES_MAX) {
        return SL_FIELD_NONE;
    }
    const uint32_t number = index->name_count++;
    memcpy(index->names[number], name, strlen(name) + 1);
    return number;
}

/* ---- omissions and links ---- */

static sl_index_omission *index_omission_of(sl_file_index *index, uint32_t reason)
{
    for (uint32_t i = 0; i < index->omission_count; i++) {
        if (index->omissions[i].reason == reason) {
            return &index->omissions[i];
        }
    }
    assert(index->omission_count < SL_INDEX_OMISSIONS_MAX);
    sl_index_omission *added = &index->omissions[index->omission_count++];
    *added = (sl_index_omission){.reason = reason};
    return added;
}

bool sl_file_index_omit(sl_file_index *index, uint32_t reason, const char *example)
{
    if (index->omissions == NULL) {
        index->omissions = sl_calloc(SL_INDEX_OMISSIONS_MAX, sizeof(*index->omissions));
        if (index->omissions == NULL) {
            return false;
        }
    }
    sl_index_omission *omission = index_omission_of(index, reason);
    const size_t length = strlen(example);
    const size_t most = sizeof(omission->example) - 1;
    if (omission->count++ == 0) { /* the end of a path says more than its beginning */
        const size_t kept = length > most ? most : length;
        memcpy(omission->example, example + length - kept, kept + 1);
    }
    return true;
}

bool sl_file_index_link(sl_file_index *index, const sl_index_link *link)
{
    if (!sl_grow(&index->links, &index->link_capacity, index->link_count + 1,
                 sizeof(*index->links)) ||
        index->links == NULL) {
        return false;
    }
    index->links[index->link_count++] = *link;
    return true;
}

const sl_index_link *sl_file_index_links(const sl_file_index *index, uint64_t sample,
                                         uint32_t *count)
{
    uint64_t low = 0;
    uint64_t high = index->link_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (index->links[middle].sample < sample) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < index->link_count && index->links[low + *count].sample == sample) {
        ++*count;
    }
    return index->links + low;
}

/* ---- as bytes ---- */

static const char magic[8] = "SLUICETI";

enum {
    VERSION = 4,
    HEAD_BYTES = SL_FILE_INDEX_HEAD,
    SUM_BYTES = 8,
    SAMPLE_BYTES = 12,
    OMISSION_BYTES = 12 + SL_INDEX_EXAMPLE_BYTES,
    LINK_BYTES = 24,
    PACKING_SHIFT = 8
};
/* Minimum size of a sample: the head of a RecordIO record; others are larger. */
enum { LEAST_SAMPLE_BYTES = 8, LEAST_LINK_BYTES = 512 };

static uint8_t *encode_omissions(const sl_file_index *index, uint8_t *at)
{
    for (uint32_t i = 0; i < index->omission_count; i++, at += OMISSION_BYTES) {
        const sl_index_omission *omission = &index->omissions[i];
        sl_store32(at, omission->reason);
        sl_store64(at + 4, omission->count);
        memset(at + 12, 0, sizeof(omission->example));
        memcpy(at + 12, omission->example, strlen(omission->example));
    }
    return at;
}

static uint8_t *encode_links(const sl_file_index *index, uint8_t *at)
{
    for (uint64_t i = 0; i < index->link_count; i++, at += LINK_BYTES) {
        sl_store64(at, index->links[i].sample);
        sl_store64(at + 8, index->links[i].offset);
        sl_store32(at + 16, index->links[i].bytes);
        sl_store32(at + 20, index->links[i].part);
    }
    return at;
}

bool sl_file_index_encode(const sl_file_index *index, uint8_t **bytes, size_t *size)
{
    const size_t names = (size_t)index->name_count * SL_FIELD_NAME_BYTES;
    *size = HEAD_BYTES + names + (size_t)index->omission_count * OMISSION_BYTES +
            index->link_count * LINK_BYTES + index->samples * SAMPLE_BYTES + SUM_BYTES;
    uint8_t *at = sl_malloc(*size);
    *bytes = at;
    if (at == NULL) {
        return false;
    }
    memcpy(at, magic, sizeof(magic));
    sl_store32(at + 8, VERSION);
    sl_store32(at + 12, index->name_count);
    sl_store64(at + 16, index->file.bytes);
    sl_store64(at + 24, (uint64_t)index->file.modified_ns);
    sl_store64(at + 32, index->samples);
    sl_store32(at + 40, index->facts);
    sl_store32(at + 44, (uint32_t)index->kind | (uint32_t)index->packing << PACKING_SHIFT);
    sl_store64(at + 48, index->file.inode);
    sl_store64(at + 56, (uint64_t)index->file.changed_ns);
    sl_store64(at + 64, index->file.sample);
    sl_store64(at + 72, index->link_count);
    sl_store32(at + 80, index->omission_count);
    sl_store32(at + 84, 0);
    at += HEAD_BYTES;
    memset(at, 0, names);
    for (uint32_t i = 0; i < index->name_count; i++) {
        char *name = (char *)at + (size_t)i * SL_FIELD_NAME_BYTES;
        memcpy(name, index->names[i], strlen(index->names[i]));
    }
    at = encode_omissions(index, at + names);
    at = encode_links(index, at);
    for (uint64_t i = 0; i < index->samples; i++, at += 8) {
        sl_store64(at, index->offsets[i]);
    }
    for (uint64_t i = 0; i < index->samples; i++, at += 4) {
        sl_store32(at, index->bytes[i]);
    }
    sl_store64(at, sl_checksum(*bytes, *size - SUM_BYTES));
    return true;
}

static bool file_index_decode_names(sl_file_index *index, const uint8_t *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *name = (const char *)names + (size_t)i * SL_FIELD_NAME_BYTES;
        const bool ends = memchr(name, '\0', SL_FIELD_NAME_BYTES) != NULL;
        if (!ends || name[0] == '\0' || sl_file_index_name(index, name) != i) {
            return false;
        }
    }
    return true;
}

/* Decodes samples, which are in order in the file, or in its unpacked bytes. */
static bool decode_samples(sl_file_index *index, const uint8_t *at, uint64_t samples)
{
    const uint8_t *sizes = at + samples * 8;
    const uint64_t most = index->packing == SL_PACKING_NONE ? index->file.bytes : INT64_MAX;
    uint64_t end = 0;
    if (!file_index_reserve(index, samples)) {
        return false;
    }
    for (uint64_t i = 0; i < samples; i++) {
        const uint64_t offset = sl_load64(at + i * 8);
        const uint32_t bytes = sl_load32(sizes + i * 4);
        if (offset < end || offset > most || bytes > most - offset || bytes == 0 ||
            !sl_file_index_add(index, offset, bytes)) {
            return false;
        }
        end = offset + bytes;
    }
    return true;
}

static bool decode_omissions(sl_file_index *index, const uint8_t *at, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, at += OMISSION_BYTES) {
        const char *example = (const char *)at + 12;
        if (memchr(example, '\0', SL_INDEX_EXAMPLE_BYTES) == NULL || sl_load64(at + 4) == 0 ||
            !sl_file_index_omit(index, sl_load32(at), example) || index->omission_count != i + 1) {
            return false;
        }
        index->omissions[i].count = sl_load64(at + 4);
    }
    return true;
}

/*
 * Returns whether a link may follow the previous one, when its sample already has `own` links and
 * `bytes`.
 */
static bool is_link_good(const sl_file_index *index, const sl_index_link *link, uint32_t own,
                         uint64_t bytes)
{
    const sl_index_link *before =
        index->link_count > 0 ? &index->links[index->link_count - 1] : NULL;
    const bool follows = before == NULL || before->sample < link->sample ||
                         (before->sample == link->sample && before->part < link->part);
    return follows && link->sample < index->samples && own <= SL_INDEX_LINKS_MAX &&
           bytes <= SL_RECORD_BYTES_MAX && link->offset <= index->file.bytes &&
           link->bytes <= index->file.bytes - link->offset;
}

/* Decodes links; call after the samples, which links refer to. */
static bool decode_links(sl_file_index *index, const uint8_t *at, uint64_t count)
{
    uint32_t own = 0;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++, at += LINK_BYTES) {
        const sl_index_link link = {.sample = sl_load64(at),
                                    .offset = sl_load64(at + 8),
                                    .bytes = sl_load32(at + 16),
                                    .part = sl_load32(at + 20)};
        const bool same = i > 0 && index->links[i - 1].sample == link.sample;
        if (link.sample >= index->samples) {
            return false;
        }
        own = same ? own + 1 : 1;
        bytes = (same ? bytes : index->bytes[link.sample]) + link.bytes;
        if (!is_link_good(index, &link, own, bytes) || !sl_file_index_link(index, &link)) {
            return false;
        }
    }
    return true;
}

static bool decode_kind(sl_file_index *index, uint32_t word)
{
    const uint32_t kind = word & ((1U << PACKING_SHIFT) - 1);
    const uint32_t packing = word >> PACKING_SHIFT;
    index->kind = (sl_index_kind)kind;
    index->packing = (sl_packing)packing;
    return kind < SL_INDEX_KINDS && packing <= SL_PACKING_ZSTD;
}

uint64_t sl_file_index_bytes(const uint8_t head[SL_FILE_INDEX_HEAD])
{
    sl_file_index index;
    const uint32_t names = sl_load32(head + 12);
    const uint64_t file_bytes = sl_load64(head + 16);
    const uint64_t samples = sl_load64(head + 32);
    const uint64_t links = sl_load64(head + 72);
    const uint32_t omissions = sl_load32(head + 80);
    if (memcmp(head, magic, sizeof(magic)) != 0 || sl_load32(head + 8) != VERSION ||
        !decode_kind(&index, sl_load32(head + 44)) || names > SL_INDEX_NAMES_MAX ||
        omissions > SL_INDEX_OMISSIONS_MAX || links > file_bytes / LEAST_LINK_BYTES ||
        (links > 0 && index.packing != SL_PACKING_NONE)) {
        return 0;
    }
    const uint64_t most = index.packing == SL_PACKING_NONE ? file_bytes / LEAST_SAMPLE_BYTES
                                                           : UINT64_MAX / SAMPLE_BYTES / 2;
    const uint64_t others = (uint64_t)names * SL_FIELD_NAME_BYTES +
                            (uint64_t)omissions * OMISSION_BYTES + links * LINK_BYTES;
    return samples <= most ? HEAD_BYTES + others + samples * SAMPLE_BYTES + SUM_BYTES : 0;
}

bool sl_file_index_decode(sl_file_index *index, const uint8_t *bytes, size_t size)
{
    memset(index, 0, sizeof(*index));
    if (size < HEAD_BYTES || sl_file_index_bytes(bytes) != size ||
        !decode_kind(index, sl_load32(bytes + 44)) ||
        sl_load64(bytes + size - SUM_BYTES) != sl_checksum(bytes, size - SUM_BYTES)) {
        return false;
    }
    const uint32_t count = sl_load32(bytes + 12);
    const uint64_t samples = sl_load64(bytes + 32);
    const uint64_t links = sl_load64(bytes + 72);
    const uint32_t omissions = sl_load32(bytes + 80);
    const uint8_t *omitted = bytes + HEAD_BYTES + (size_t)count * SL_FIELD_NAME_BYTES;
    const uint8_t *linked = omitted + (size_t)omissions * OMISSION_BYTES;
    index->file = (sl_file_identity){.bytes = sl_load64(bytes + 16),
                                     .modified_ns = (int64_t)sl_load64(bytes + 24),
                                     .inode = sl_load64(bytes + 48),
                                     .changed_ns = (int64_t)sl_load64(bytes + 56),
                                     .sample = sl_load64(bytes + 64)};
    index->facts = sl_load32(bytes + 40);
    if (file_index_decode_names(index, bytes + HEAD_BYTES, count) &&
        decode_omissions(index, omitted, omissions) &&
        decode_samples(index, linked + links * LINK_BYTES, samples) &&
        decode_links(index, linked, links)) {
        return true;
    }
    sl_file_index_close(index);
    return false;
}
