/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_walk: steps through headers; pure, no thread of its own.
 *
 * A step consumes `want` bytes at `at` and sets both for the next step. A long name, a pax header
 * or the hole blocks of a sparse file (`extra`) apply to the member that follows; next_member
 * clears them.
 */
#include "tar_walk.h"

#include <string.h>

/*
 * Offsets of header fields: POSIX.1-1988 ustar, and GNU sparse files (tar manual, "Basic Tar
 * Format").
 */
enum {
    NAME = 0,
    NAME_BYTES = 100,
    SIZE = 124,
    NUMBER_BYTES = 12,
    CHECKSUM = 148,
    CHECKSUM_BYTES = 8,
    TYPE = 156,
    LINK = 157,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_BYTES = 155,
    SPARSE_EXTENDED = 482,      /* 1: a block of holes follows the header */
    SPARSE_EXTENDED_AGAIN = 504 /* 1: another block of holes follows that block */
};

/* Header types. */
enum {
    TYPE_OLD = '\0',
    TYPE_FILE = '0',
    TYPE_LINK = '1',
    TYPE_SYMLINK = '2',
    TYPE_CHARACTERS = '3',
    TYPE_BLOCKS = '4',
    TYPE_FOLDER = '5',
    TYPE_FIFO = '6',
    TYPE_CONTIGUOUS = '7',
    TYPE_LONG_LINK = 'K',
    TYPE_LONG_NAME = 'L',
    TYPE_VOLUME_PART = 'M',
    TYPE_SPARSE = 'S',
    TYPE_VOLUME = 'V',
    TYPE_PAX_OLD = 'X',
    TYPE_PAX_GLOBAL = 'g',
    TYPE_PAX = 'x'
};

#define SIZE_MAX_BYTES ((uint64_t)INT64_MAX / 2)

static sl_tar_step tar_refuse(sl_refusal *why, const char *text, size_t offset)
{
    *why = sl_refuse(text, offset);
    return SL_TAR_REFUSED;
}

static sl_tar_step tar_refuse_unknown(sl_refusal *why, const char *text, size_t offset)
{
    *why = sl_refuse_unknown(text, offset);
    return SL_TAR_REFUSED;
}

/* ---- numbers ---- */

/* Reads octal digits, up to a blank or the field's end. */
static bool read_octal(const uint8_t *field, size_t bytes, uint64_t *value)
{
    size_t at = 0;
    *value = 0;
    while (at < bytes && field[at] == ' ') {
        at++;
    }
    for (; at < bytes && field[at] >= '0' && field[at] <= '7'; at++) {
        if (*value > UINT64_MAX >> 3) {
            return false;
        }
        *value = *value << 3 | (uint64_t)(field[at] - '0');
    }
    return at == bytes || field[at] == ' ' || field[at] == '\0';
}

/* Reads an octal number or, with a first byte of 0x80 (GNU), a big-endian one. */
static bool tar_read_number(const uint8_t *field, size_t bytes, uint64_t *value)
{
    if ((field[0] & 0x80U) == 0) {
        return read_octal(field, bytes, value);
    }
    if (field[0] != 0x80U) {
        return false; /* negative or too large */
    }
    *value = 0;
    for (size_t i = 1; i < bytes; i++) {
        if (*value >> 56 != 0) {
            return false;
        }
        *value = *value << 8 | field[i];
    }
    return true;
}

/* Some old tars sum the bytes as signed. */
bool sl_tar_is_header(const uint8_t block[SL_TAR_BLOCK])
{
    uint64_t expected;
    uint32_t plain = 0;
    uint32_t negative = 0; /* bytes that are negative when signed */
    if (!read_octal(block + CHECKSUM, CHECKSUM_BYTES, &expected)) {
        return false;
    }
    for (uint32_t i = 0; i < SL_TAR_BLOCK; i++) {
        plain += block[i];
        negative += block[i] >> 7;
    }
    for (uint32_t i = CHECKSUM; i < CHECKSUM + CHECKSUM_BYTES; i++) {
        plain += (uint32_t)' ' - block[i];
        negative -= block[i] >> 7;
    }
    return expected == plain || expected + UINT64_C(256) * negative == plain;
}

static bool is_zero(const uint8_t block[SL_TAR_BLOCK])
{
    uint8_t any = 0;
    for (uint32_t i = 0; i < SL_TAR_BLOCK; i++) {
        any |= block[i];
    }
    return any == 0;
}

/* ---- names ---- */

static size_t tar_walk_length_of(const uint8_t *field, size_t bytes)
{
    const uint8_t *end = memchr(field, '\0', bytes);
    return end != NULL ? (size_t)(end - field) : bytes;
}

static void set_header_name(sl_tar_walk *walk, const uint8_t *header)
{
    size_t at = 0;
    /*
     * "ustar" and a NUL; GNU's own variant has a blank there, and other data in place of the prefix
     */
    if (memcmp(header + MAGIC, "ustar", 6) == 0 && header[PREFIX] != '\0') {
        at = tar_walk_length_of(header + PREFIX, PREFIX_BYTES);
        memcpy(walk->name, header + PREFIX, at);
        walk->name[at++] = '/';
    }
    const size_t bytes = tar_walk_length_of(header + NAME, NAME_BYTES);
    memcpy(walk->name + at, header + NAME, bytes);
    walk->name[at + bytes] = '\0';
}

static bool set_long_name(sl_tar_walk *walk, const uint8_t *name, size_t bytes)
{
    const size_t length = tar_walk_length_of(name, bytes);
    if (length > SL_TAR_NAME_MAX) {
        return false;
    }
    memcpy(walk->name, name, length);
    walk->name[length] = '\0';
    walk->has_name = true;
    return true;
}

/* Sets the target of a link. A link whose target is too long stays a member without a target. */
static void set_link(sl_tar_walk *walk, const uint8_t *link, size_t bytes)
{
    size_t length = tar_walk_length_of(link, bytes);
    length = length <= SL_TAR_NAME_MAX ? length : 0;
    memcpy(walk->link, link, length);
    walk->link[length] = '\0';
    walk->has_link = true;
}

/* ---- pax headers: "LENGTH KEYWORD=VALUE\n", one behind the other ---- */

typedef struct pax_record {
    const uint8_t *key, *value;
    size_t key_bytes, value_bytes;
} pax_record;

/* Reads the record at bytes[0]. Returns its length, or 0 if there is none. */
static size_t read_record(const uint8_t *bytes, size_t size, pax_record *record)
{
    size_t length = 0;
    size_t at = 0;
    for (; at < size && at < 8 && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        length = length * 10 + (size_t)(bytes[at] - '0');
    }
    if (at == 0 || at == size || bytes[at] != ' ' || length > size || length < at + 3 ||
        bytes[length - 1] != '\n') {
        return 0;
    }
    record->key = bytes + at + 1;
    const uint8_t *equals = memchr(record->key, '=', length - at - 2);
    if (equals == NULL) {
        return 0;
    }
    record->key_bytes = (size_t)(equals - record->key);
    record->value = equals + 1;
    record->value_bytes = (size_t)(bytes + length - 1 - record->value);
    return length;
}

static bool is_key(const pax_record *record, const char *key)
{
    return record->key_bytes == strlen(key) && memcmp(record->key, key, record->key_bytes) == 0;
}

static bool read_decimal(const pax_record *record, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < record->value_bytes; i++) {
        const uint8_t digit = record->value[i];
        if (digit < '0' || digit > '9' || *value > SIZE_MAX_BYTES / 10) {
            return false;
        }
        *value = *value * 10 + (uint64_t)(digit - '0');
    }
    return record->value_bytes > 0;
}

/* Applies a record. False: it is invalid. */
static bool take_record(sl_tar_walk *walk, const pax_record *record, bool global)
{
    static const char sparse[] = "GNU.sparse.";
    if (is_key(record, "path")) {
        /* a global name or size would apply to all following members, which cannot be intended */
        return !global && set_long_name(walk, record->value, record->value_bytes);
    }
    if (is_key(record, "linkpath")) {
        set_link(walk, record->value, global ? 0 : record->value_bytes);
        return !global;
    }
    if (is_key(record, "size")) {
        walk->has_size = true;
        return !global && read_decimal(record, &walk->size);
    }
    if (record->key_bytes > strlen(sparse) && memcmp(record->key, sparse, strlen(sparse)) == 0) {
        walk->is_sparse = walk->is_sparse || !global;
    }
    return true;
}

static sl_tar_step take_pax(sl_tar_walk *walk, const uint8_t *bytes, size_t size, bool global,
                            sl_refusal *why)
{
    pax_record record;
    for (size_t at = 0; at < size;) {
        const size_t length = read_record(bytes + at, size - at, &record);
        if (length == 0 || !take_record(walk, &record, global)) {
            return tar_refuse(why, "invalid record in a pax header", at);
        }
        at += length;
    }
    return SL_TAR_GO_ON;
}

/* ---- steps ---- */

static void want_header(sl_tar_walk *walk, uint64_t at)
{
    walk->at = at;
    walk->want = SL_TAR_BLOCK;
    walk->extra = 0;
}

/* Clears the state of the previous member. */
static void next_member(sl_tar_walk *walk, uint64_t at)
{
    want_header(walk, at);
    walk->begin = at;
    walk->has_size = false;
    walk->has_name = false;
    walk->has_link = false;
    walk->is_sparse = false;
}

void sl_tar_begin(sl_tar_walk *walk, uint64_t at)
{
    walk->name[0] = '\0';
    walk->link[0] = '\0';
    next_member(walk, at);
}

/* Takes the payload of a long name or pax header. */
static sl_tar_step take_extra(sl_tar_walk *walk, const uint8_t *bytes, sl_refusal *why)
{
    sl_tar_step step = SL_TAR_GO_ON;
    if (walk->extra == TYPE_LONG_NAME) {
        if (!set_long_name(walk, bytes, walk->want)) {
            step = tar_refuse_unknown(why, "a member's name has more than 4095 bytes", 0);
        }
    } else if (walk->extra == TYPE_LONG_LINK) {
        set_link(walk, bytes, walk->want);
    } else {
        step = take_pax(walk, bytes, walk->want, walk->extra == TYPE_PAX_GLOBAL, why);
    }
    if (step == SL_TAR_GO_ON) {
        const bool of_member =
            walk->has_name || walk->has_link || walk->has_size || walk->is_sparse;
        want_header(walk, walk->at + sl_tar_padded(walk->want));
        walk->begin = of_member ? walk->begin : walk->at;
    }
    return step;
}

static sl_tar_step begin_extra(sl_tar_walk *walk, uint32_t type, uint64_t size, sl_refusal *why)
{
    if (type == TYPE_LONG_LINK && size > SL_TAR_EXTRA_MAX) { /* too long to be a link name */
        set_link(walk, (const uint8_t *)"", 0);
        if (size > SIZE_MAX_BYTES || walk->at > SIZE_MAX_BYTES) {
            return tar_refuse(why, "a header's size is out of range", SIZE);
        }
        want_header(walk, walk->at + SL_TAR_BLOCK + sl_tar_padded(size));
        return SL_TAR_GO_ON;
    }
    if (size > SL_TAR_EXTRA_MAX) {
        return tar_refuse_unknown(why, "a long name or pax header has more than 1 MiB", SIZE);
    }
    walk->at += SL_TAR_BLOCK;
    if (size == 0) {
        want_header(walk, walk->at);
        return SL_TAR_GO_ON;
    }
    walk->want = (uint32_t)size;
    walk->extra = type;
    return SL_TAR_GO_ON;
}

/* Reports the member whose payload begins at `data`. */
static sl_tar_step give_member(sl_tar_walk *walk, uint64_t data)
{
    walk->member.begin = walk->begin;
    walk->member.data = data;
    next_member(walk, data + sl_tar_padded(walk->member.bytes));
    return SL_TAR_MEMBER;
}

/* Takes a block of holes that follows the header of a sparse file. */
static sl_tar_step take_holes(sl_tar_walk *walk, const uint8_t *block)
{
    if (block[SPARSE_EXTENDED_AGAIN] != 0) {
        walk->at += SL_TAR_BLOCK;
        return SL_TAR_GO_ON;
    }
    return give_member(walk, walk->at + SL_TAR_BLOCK);
}

static sl_tar_kind tar_kind_of(const sl_tar_walk *walk, uint32_t type)
{
    switch (type) {
    case TYPE_LINK:
        return SL_TAR_LINK;
    case TYPE_SYMLINK:
        return SL_TAR_SYMLINK;
    case TYPE_FOLDER:
    case TYPE_VOLUME:
        return SL_TAR_FOLDER;
    case TYPE_CHARACTERS:
    case TYPE_BLOCKS:
    case TYPE_FIFO:
        return SL_TAR_DEVICE;
    default:
        break;
    }
    if (type == TYPE_OLD && walk->name[0] != '\0' && walk->name[strlen(walk->name) - 1] == '/') {
        return SL_TAR_FOLDER; /* seventh edition */
    }
    if (type == TYPE_SPARSE || walk->is_sparse) {
        return SL_TAR_SPARSE;
    }
    return type == TYPE_OLD || type == TYPE_FILE || type == TYPE_CONTIGUOUS ? SL_TAR_FILE
                                                                            : SL_TAR_OTHER;
}

/*
 * Returns false for links, devices, folders and FIFOs, which have no payload regardless of their
 * size field.
 */
static bool has_payload(uint32_t type)
{
    return !(type >= TYPE_LINK && type <= TYPE_FIFO);
}

static sl_tar_step tar_take_member(sl_tar_walk *walk, const uint8_t *header, uint64_t size,
                                   sl_refusal *why)
{
    const uint32_t type = header[TYPE];
    if (!walk->has_name) {
        set_header_name(walk, header);
    }
    if (!walk->has_link && (type == TYPE_LINK || type == TYPE_SYMLINK)) {
        set_link(walk, header + LINK, NAME_BYTES);
    }
    if (walk->has_size) {
        size = walk->size;
    }
    if (size > SIZE_MAX_BYTES || walk->at > SIZE_MAX_BYTES) {
        return tar_refuse(why, "a member's size is out of range", SIZE);
    }
    walk->member.kind = tar_kind_of(walk, type);
    walk->member.bytes = has_payload(type) ? size : 0;
    if (type == TYPE_SPARSE && header[SPARSE_EXTENDED] != 0) {
        walk->extra = TYPE_SPARSE;
        walk->at += SL_TAR_BLOCK;
        return SL_TAR_GO_ON;
    }
    return give_member(walk, walk->at + SL_TAR_BLOCK);
}

static sl_tar_step take_header(sl_tar_walk *walk, const uint8_t *header, sl_refusal *why)
{
    uint64_t size;
    if (!sl_tar_is_header(header)) {
        if (!is_zero(header)) {
            return tar_refuse(why, "a tar header does not match its checksum", 0);
        }
        return walk->begin == walk->at
                   ? SL_TAR_END
                   : tar_refuse(why, "the archive ends between a long name and its member", 0);
    }
    if (!tar_read_number(header + SIZE, NUMBER_BYTES, &size)) {
        return tar_refuse(why, "a member's size is not a number", SIZE);
    }
    switch (header[TYPE]) {
    case TYPE_LONG_LINK:
    case TYPE_LONG_NAME:
    case TYPE_PAX:
    case TYPE_PAX_GLOBAL:
        return begin_extra(walk, header[TYPE], size, why);
    case TYPE_PAX_OLD:
        return begin_extra(walk, TYPE_PAX, size, why);
    case TYPE_VOLUME_PART:
        return tar_refuse_unknown(why, "the archive is one of several volumes", TYPE);
    default:
        return tar_take_member(walk, header, size, why);
    }
}

sl_tar_step sl_tar_next(sl_tar_walk *walk, const uint8_t *bytes, sl_refusal *why)
{
    if (walk->extra == TYPE_SPARSE) {
        return take_holes(walk, bytes);
    }
    return walk->extra != 0 ? take_extra(walk, bytes, why) : take_header(walk, bytes, why);
}
