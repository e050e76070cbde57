/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip_directory: parses end records, the central directory and local headers. Pure.
 *
 * All offsets and sizes are untrusted and checked against the file.
 */
#include "zip_directory.h"

#include "little_endian.h"

#include <string.h>

/* Signatures of the records. */
#define SIGNATURE_LOCAL   0x04034b50U
#define SIGNATURE_MEMBER  0x02014b50U
#define SIGNATURE_END     0x06054b50U
#define SIGNATURE_END64   0x06064b50U
#define SIGNATURE_LOCATOR 0x07064b50U

enum {
    MEMBER_BYTES = 46,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    EXTRA_ZIP64 = 1,
    /* flags */
    ENCRYPTED = 1,
    DESCRIBED = 1 << 3, /* checksum and sizes, missing in the local header, follow the data */
    PATCHED = 1 << 5,
    STRONGLY_ENCRYPTED = 1 << 6,
    MASKED = 1 << 13,
};

/* ---- the end ---- */

/* Reads the zip64 end record, whose locator is at `locator` of the tail. */
static sl_refusal read_end64(sl_zip_end *end, sl_bytes tail, size_t locator, uint64_t first,
                             uint64_t *before)
{
    const uint8_t *at = tail.data + locator;
    const uint64_t offset = sl_load64(at + 8);
    if (sl_load32(at + 4) != 0 || sl_load32(at + 16) > 1) {
        return sl_refuse_unknown("the zip archive is split over several files", locator);
    }
    if (offset < first || offset - first > locator || locator - (offset - first) < END64_BYTES) {
        return sl_refuse("the zip64 end record is not before its locator", locator);
    }
    const size_t begin = (size_t)(offset - first);
    at = tail.data + begin;
    if (sl_load32(at) != SIGNATURE_END64 || sl_load64(at + 4) != locator - begin - 12) {
        return sl_refuse("the zip64 end record is missing", begin);
    }
    if (sl_load32(at + 16) != 0 || sl_load32(at + 20) != 0 ||
        sl_load64(at + 24) != sl_load64(at + 32)) {
        return sl_refuse_unknown("the zip archive is split over several files", begin);
    }
    *end = (sl_zip_end){
        .members = sl_load64(at + 32), .bytes = sl_load64(at + 40), .offset = sl_load64(at + 48)};
    *before = offset;
    return sl_accept();
}

/* Reads the end record at `at` of the tail, which begins at offset `first` of the file. */
static sl_refusal zip_directory_read_end(sl_zip_end *end, sl_bytes tail, size_t at, uint64_t first)
{
    const uint8_t *record = tail.data + at;
    uint64_t before = first + at;
    if (at >= LOCATOR_BYTES && sl_load32(record - LOCATOR_BYTES) == SIGNATURE_LOCATOR) {
        const sl_refusal refusal = read_end64(end, tail, at - LOCATOR_BYTES, first, &before);
        if (refusal.text != NULL) {
            return refusal;
        }
    } else if (sl_load32(record + 4) != 0 || sl_load16(record + 8) != sl_load16(record + 10)) {
        return sl_refuse_unknown("the zip archive is split over several files", at);
    } else {
        *end = (sl_zip_end){.members = sl_load16(record + 10),
                            .bytes = sl_load32(record + 12),
                            .offset = sl_load32(record + 16)};
    }
    if (end->offset > before || end->bytes != before - end->offset) {
        return sl_refuse("the zip archive's directory is not where its end record says: bytes are "
                         "missing, or were inserted before it",
                         at);
    }
    if (end->members > end->bytes / MEMBER_BYTES) {
        return sl_refuse("the zip archive's directory is too short for its members", at);
    }
    return sl_accept();
}

sl_refusal sl_zip_find_end(sl_zip_end *end, sl_bytes tail, uint64_t file_bytes)
{
    *end = (sl_zip_end){.offset = 0};
    if (tail.size < SL_ZIP_END_BYTES) {
        return sl_refuse("too short for a zip archive", 0);
    }
    const size_t last = tail.size - SL_ZIP_END_BYTES;
    const size_t first = last > UINT16_MAX ? last - UINT16_MAX : 0;
    for (size_t at = last + 1; at-- > first;) {
        if (tail.data[at] == 'P' && sl_load32(tail.data + at) == SIGNATURE_END &&
            sl_load16(tail.data + at + 20) == last - at) {
            return zip_directory_read_end(end, tail, at, file_bytes - tail.size);
        }
    }
    return sl_refuse("no end of a zip archive found: not a zip archive, or truncated", last);
}

/* ---- the directory ---- */

void sl_zip_begin(sl_zip_walk *walk, const sl_zip_end *end, sl_bytes directory)
{
    *walk = (sl_zip_walk){.directory = directory, .left = end->members, .limit = end->offset};
}

/* Finds the zip64 field among the extra fields; data NULL: none. */
static sl_bytes find_zip64(sl_bytes extra)
{
    for (size_t at = 0; extra.size - at >= 4;) {
        const size_t bytes = sl_load16(extra.data + at + 2);
        if (bytes > extra.size - at - 4) {
            break;
        }
        if (sl_load16(extra.data + at) == EXTRA_ZIP64) {
            return (sl_bytes){extra.data + at + 4, bytes};
        }
        at += 4 + bytes;
    }
    return (sl_bytes){NULL, 0};
}

/*
 * Of the first `count` numbers, reads those that the entry leaves to the zip64 field, which has
 * only those, in this order. False: they are missing.
 */
static bool zip_directory_read_open(sl_bytes extra, sl_zip_member *m, size_t count)
{
    uint64_t *const numbers[] = {&m->bytes, &m->packed, &m->header};
    const sl_bytes field = find_zip64(extra);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (*numbers[i] != UINT32_MAX) {
            continue;
        }
        if (field.size - used < 8) {
            return false;
        }
        *numbers[i] = sl_load64(field.data + used);
        used += 8;
    }
    return true;
}

static const char *find_reason(uint16_t flags, uint16_t method)
{
    if ((flags & (ENCRYPTED | STRONGLY_ENCRYPTED | MASKED)) != 0) {
        return "it is encrypted";
    }
    if ((flags & PATCHED) != 0) {
        return "it is a patch for other data";
    }
    return method == SL_ZIP_STORED || method == SL_ZIP_DEFLATED
               ? NULL
               : "it is compressed by a method other than deflate: save it with numpy.savez or "
                 "numpy.savez_compressed";
}

static sl_refusal check_member(const sl_zip_walk *walk, const sl_zip_member *m)
{
    const uint64_t capacity = walk->limit;
    const uint64_t least = SL_ZIP_LOCAL_BYTES + m->name.size;
    if (m->header > capacity || capacity - m->header < least ||
        m->packed > capacity - m->header - least) {
        return sl_refuse("a member of the zip archive is not before the directory", walk->at);
    }
    if (m->method == SL_ZIP_STORED && m->refused == NULL && m->packed != m->bytes) {
        return sl_refuse("the stored size of a member of the zip archive differs from its size",
                         walk->at);
    }
    return sl_accept();
}

sl_refusal sl_zip_next(sl_zip_walk *walk, sl_zip_member *member, bool *found)
{
    const size_t left = walk->directory.size - walk->at;
    const uint8_t *at = walk->directory.data + walk->at;
    *found = walk->left > 0;
    if (!*found) {
        return left == 0 ? sl_accept()
                         : sl_refuse("the zip archive's directory has bytes after its last member",
                                     walk->at);
    }
    if (left < MEMBER_BYTES || sl_load32(at) != SIGNATURE_MEMBER) {
        return sl_refuse("the zip archive's directory is corrupt", walk->at);
    }
    const size_t name = sl_load16(at + 28);
    const size_t extra = sl_load16(at + 30);
    const size_t bytes = MEMBER_BYTES + name + extra + sl_load16(at + 32);
    if (bytes > left) {
        return sl_refuse("the zip archive's directory is truncated", walk->at);
    }
    *member = (sl_zip_member){.name = {at + MEMBER_BYTES, name},
                              .refused = find_reason(sl_load16(at + 8), sl_load16(at + 10)),
                              .method = sl_load16(at + 10),
                              .crc = sl_load32(at + 16),
                              .packed = sl_load32(at + 20),
                              .bytes = sl_load32(at + 24),
                              .header = sl_load32(at + 42)};
    if (!zip_directory_read_open((sl_bytes){at + MEMBER_BYTES + name, extra}, member, 3)) {
        return sl_refuse("a member of the zip archive lacks its zip64 sizes", walk->at);
    }
    if (sl_load16(at + 34) != 0 && sl_load16(at + 34) != UINT16_MAX) {
        return sl_refuse_unknown("the zip archive is split over several files", walk->at);
    }
    const sl_refusal refusal = check_member(walk, member);
    walk->at += bytes;
    walk->left--;
    return refusal;
}

/* Compares checksum and sizes of a local header, if it has them. */
static bool has_same_numbers(const sl_zip_member *member, sl_bytes local)
{
    const uint8_t *at = local.data;
    const size_t extra = SL_ZIP_LOCAL_BYTES + member->name.size;
    const size_t there = local.size - extra;
    const size_t extra_bytes = sl_load16(at + 28) < there ? sl_load16(at + 28) : there;
    sl_zip_member own = {.packed = sl_load32(at + 18), .bytes = sl_load32(at + 22)};
    if ((sl_load16(at + 6) & DESCRIBED) != 0) {
        return true;
    }
    return zip_directory_read_open((sl_bytes){at + extra, extra_bytes}, &own, 2) &&
           sl_load32(at + 14) == member->crc && own.packed == member->packed &&
           own.bytes == member->bytes;
}

sl_refusal sl_zip_enter(sl_zip_member *member, sl_bytes local, uint64_t limit)
{
    if (local.size < SL_ZIP_LOCAL_BYTES + member->name.size ||
        sl_load32(local.data) != SIGNATURE_LOCAL) {
        return sl_refuse("no zip member header at the offset that the directory gives", 0);
    }
    const uint8_t *name = local.data + SL_ZIP_LOCAL_BYTES;
    if (sl_load16(local.data + 8) != member->method ||
        sl_load16(local.data + 26) != member->name.size ||
        memcmp(name, member->name.data, member->name.size) != 0 ||
        !has_same_numbers(member, local)) {
        return sl_refuse("the header of a zip member differs from the directory", 0);
    }
    member->data =
        member->header + SL_ZIP_LOCAL_BYTES + member->name.size + sl_load16(local.data + 28);
    if (member->data > limit || member->packed > limit - member->data) {
        return sl_refuse("a zip member does not end before the directory", 0);
    }
    return sl_accept();
}

bool sl_zip_local(sl_zip_member *member, sl_bytes local)
{
    *member = (sl_zip_member){.header = 0};
    if (local.size < SL_ZIP_LOCAL_BYTES || sl_load32(local.data) != SIGNATURE_LOCAL) {
        return false;
    }
    member->method = sl_load16(local.data + 8);
    member->name = (sl_bytes){local.data + SL_ZIP_LOCAL_BYTES, sl_load16(local.data + 26)};
    member->data = SL_ZIP_LOCAL_BYTES + member->name.size + sl_load16(local.data + 28);
    return member->data <= local.size;
}
