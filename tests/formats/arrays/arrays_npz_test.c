/* SPDX-License-Identifier: Apache-2.0 */
/* Tests zip directories and the arrays of .npz files, with archives written here byte by byte as
 * PKWARE's APPNOTE describes them. */
#include "crc32.h"
#include "inflate.h"
#include "little_endian.h"
#include "npz_array.h"
#include "packed_value.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, HEADER = 128, LOCAL = 30, EXTRA = 4, ENTRY = 46 };

typedef struct archive {
    uint8_t bytes[ROOM];
    size_t size;
    uint8_t directory[ROOM];
    size_t directory_bytes;
    uint16_t members;
} archive;

static size_t put_text(uint8_t *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)text[i];
    }
    return bytes;
}

/* version 1.0 of the .npy format, padded to 128 bytes */
static size_t put_npy(uint8_t *to, const char *shape, const uint8_t *data, size_t bytes)
{
    char text[HEADER];
    (void)snprintf(text, sizeof(text), "{'descr': '|u1', 'fortran_order': False, 'shape': %s}",
                   shape);
    memset(to, ' ', HEADER);
    put_text(to, "\x93NUMPY\1\0", 8);
    sl_store16(to + 8, HEADER - 10);
    put_text(to + 10, text, strlen(text));
    to[HEADER - 1] = '\n';
    memcpy(to + HEADER, data, bytes);
    return HEADER + bytes;
}

/* The contents of a member, and how they are stored. */
typedef struct stuff {
    const char *name;
    uint16_t method;
    sl_bytes packed, plain;
} stuff;

/* The common part of a local header and an entry, from the version on. */
static void put_facts(uint8_t *to, const stuff *m)
{
    sl_store16(to, 20);
    sl_store16(to + 4, m->method);
    sl_store32(to + 10, sl_crc32(0, m->plain.data, m->plain.size));
    sl_store32(to + 14, (uint32_t)m->packed.size);
    sl_store32(to + 18, (uint32_t)m->plain.size);
    sl_store16(to + 22, (uint16_t)strlen(m->name));
}

static void add(archive *a, const stuff *m)
{
    const size_t length = strlen(m->name);
    uint8_t *local = a->bytes + a->size;
    uint8_t *entry = a->directory + a->directory_bytes;
    memset(local, 0, LOCAL);
    memset(entry, 0, ENTRY);
    sl_store32(local, 0x04034b50);
    put_facts(local + 4, m);
    sl_store16(local + 28, EXTRA); /* an extra field of an unknown kind, empty */
    put_text(local + LOCAL, m->name, length);
    put_text(local + LOCAL + length, "\xfe\xca\0\0", EXTRA);
    memcpy(local + LOCAL + length + EXTRA, m->packed.data, m->packed.size);
    sl_store32(entry, 0x02014b50);
    put_facts(entry + 6, m);
    sl_store32(entry + 42, (uint32_t)a->size);
    put_text(entry + ENTRY, m->name, length);
    a->size += LOCAL + length + EXTRA + m->packed.size;
    a->directory_bytes += ENTRY + length;
    a->members++;
}

static void add_stored(archive *a, const char *name, const uint8_t *content, size_t bytes)
{
    const sl_bytes all = {content, bytes};
    add(a, &(stuff){name, SL_ZIP_STORED, all, all});
}

static void finish(archive *a)
{
    uint8_t *end = a->bytes + a->size + a->directory_bytes;
    memcpy(a->bytes + a->size, a->directory, a->directory_bytes);
    memset(end, 0, SL_ZIP_END_BYTES);
    sl_store32(end, 0x06054b50);
    sl_store16(end + 8, a->members);
    sl_store16(end + 10, a->members);
    sl_store32(end + 12, (uint32_t)a->directory_bytes);
    sl_store32(end + 16, (uint32_t)a->size);
    a->size += a->directory_bytes + SL_ZIP_END_BYTES;
}

/* A deflate stream of one uncompressed block (RFC 1951, 3.2.4). */
static size_t put_deflate(uint8_t *to, const uint8_t *content, size_t bytes)
{
    to[0] = 1;
    sl_store16(to + 1, (uint16_t)bytes);
    sl_store16(to + 3, (uint16_t)~bytes);
    memcpy(to + 5, content, bytes);
    return bytes + 5;
}

/* "x" is stored, "y" deflated, and "n" a number. */
static void make(archive *a)
{
    static const uint8_t data[6] = {1, 2, 3, 4, 5, 6};
    uint8_t content[ROOM];
    uint8_t packed[ROOM];
    memset(a, 0, sizeof(*a));
    size_t bytes = put_npy(content, "(2, 3)", data, 6);
    add_stored(a, "x.npy", content, bytes);
    bytes = put_npy(content, "(4,)", data + 2, 4);
    const size_t packed_bytes = put_deflate(packed, content, bytes);
    add(a, &(stuff){"y.npy", SL_ZIP_DEFLATED, {packed, packed_bytes}, {content, bytes}});
    bytes = put_npy(content, "()", data + 4, 1);
    add_stored(a, "n.npy", content, bytes);
    finish(a);
}

static void name_fields(sl_npz_fields *fields)
{
    *fields = (sl_npz_fields){.count = 3};
    for (uint32_t i = 0; i < 3; i++) {
        fields->names[i][0] = "xyn"[i];
        fields->fields[i] = (sl_field){.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8};
        fields->dtypes[i] = SLUICE_U8;
        memcpy(fields->fields[i].name, fields->names[i], 2);
    }
    fields->fields[0].dims = 2;
    fields->fields[1].dims = 1;
    fields->fields[2].type = SLUICE_FIELD_INT;
}

/* True if "y" can be unpacked; it must have as many bytes as its shape requires. */
static bool inflates(const sl_value *y)
{
    uint8_t to[ROOM] = {0};
    uint64_t size = 0;
    assert_int_equal(sl_packed_size(y, sizeof(to), &size, NULL), SLUICE_OK);
    assert_int_equal(size, y->shape[0]);
    assert_int_equal(sl_packed_size(y, size - 1, &size, NULL), SLUICE_UNSUPPORTED);
    if (sl_packed_unpack_to(NULL, y, to, size, NULL) != SLUICE_OK) {
        return false;
    }
    assert_memory_equal(to, "\3\4\5\6", 4);
    return size == 4;
}

static sl_refusal unpack(const archive *a, sl_values *values)
{
    sl_npz_fields fields;
    name_fields(&fields);
    sl_values_begin(values, SL_VALUES_ALL);
    uint8_t *copy = malloc(a->size > 0 ? a->size : 1);
    assert_non_null(copy);
    memcpy(copy, a->bytes, a->size);
    sl_refusal refusal = sl_npz_unpack(&fields, (sl_bytes){copy, a->size}, values);
    if (refusal.text == NULL && values->of[1].present && sl_is_packed(&values->of[1]) &&
        !inflates(&values->of[1])) {
        refusal = sl_refuse("packed data are damaged", 0);
    }
    free(copy);
    return refusal;
}

TEST(arrays_are_taken_apart)
{
    static archive a;
    static sl_values values;
    make(&a);
    assert_null(unpack(&a, &values).text);
    assert_true(values.of[0].present && !sl_is_packed(&values.of[0]));
    assert_int_equal(values.of[0].bytes.size, 6);
    assert_memory_equal(a.bytes + values.of[0].offset, "\1\2\3\4\5\6", 6);
    assert_int_equal(values.of[0].shape[0], 2);
    assert_int_equal(values.of[0].shape[1], 3);
    assert_true(values.of[1].packing == &sl_value_packing_deflate);
    assert_int_equal(values.of[1].shape[0], 4);
    assert_int_equal(values.of[2].integer, 5);
}

TEST(the_directory_is_walked)
{
    static archive a;
    sl_zip_end end;
    sl_zip_walk walk;
    sl_zip_member members[3];
    bool found;
    make(&a);
    /* from the end alone, if the archive has no comment */
    const sl_bytes tail = {a.bytes + a.size - SL_ZIP_END_BYTES, SL_ZIP_END_BYTES};
    assert_null(sl_zip_find_end(&end, tail, a.size).text);
    assert_int_equal(end.members, 3);
    assert_int_equal(end.offset + end.bytes + SL_ZIP_END_BYTES, a.size);
    sl_zip_begin(&walk, &end, (sl_bytes){a.bytes + end.offset, (size_t)end.bytes});
    for (int i = 0; i < 3; i++) {
        sl_bytes name = {NULL, 0};
        assert_null(sl_zip_next(&walk, &members[i], &found).text);
        assert_true(found && members[i].refused == NULL && sl_npz_name(&members[i], &name));
        assert_true(name.size == 1 && memcmp(name.data, &"xyn"[i], 1) == 0);
        const sl_bytes local = {a.bytes + members[i].header, a.size - (size_t)members[i].header};
        assert_null(sl_zip_enter(&members[i], local, end.offset).text);
        assert_int_equal(members[i].data, members[i].header + LOCAL + 5 + EXTRA);
        assert_true(i == 0 || !sl_zip_overlap(&members[i - 1], &members[i]));
        assert_true(sl_zip_overlap(&members[i], &members[i]));
    }
    assert_null(sl_zip_next(&walk, &members[0], &found).text);
    assert_false(found);
}

/* For sizes of 2^32 bytes and more, only the directory is made. */
TEST(numbers_of_zip64)
{
    uint8_t entry[ENTRY + 1 + 4 + 24] = {0};
    const uint64_t big = UINT64_C(5) << 32;
    sl_zip_member member;
    bool found;
    const sl_zip_end end = {.offset = big * 3, .bytes = sizeof(entry), .members = 1};
    sl_zip_walk walk;
    sl_store32(entry, 0x02014b50);
    sl_store32(entry + 20, UINT32_MAX);
    sl_store32(entry + 24, UINT32_MAX);
    sl_store32(entry + 42, UINT32_MAX);
    sl_store16(entry + 28, 1);
    sl_store16(entry + 30, 28);
    sl_store16(entry + ENTRY + 1, 1);
    sl_store16(entry + ENTRY + 3, 24);
    sl_store64(entry + ENTRY + 5, big);
    sl_store64(entry + ENTRY + 13, big);
    sl_store64(entry + ENTRY + 21, big + 7);
    sl_zip_begin(&walk, &end, (sl_bytes){entry, sizeof(entry)});
    assert_null(sl_zip_next(&walk, &member, &found).text);
    assert_true(member.packed == big && member.bytes == big && member.header == big + 7);
    sl_store64(entry + ENTRY + 21, UINT64_MAX - 3); /* sums would wrap around */
    sl_zip_begin(&walk, &end, (sl_bytes){entry, sizeof(entry)});
    assert_non_null(sl_zip_next(&walk, &member, &found).text);
    sl_store16(entry + ENTRY + 3, 16); /* a number is missing */
    sl_store16(entry + 30, 20);
    sl_zip_begin(&walk, &end, (sl_bytes){entry, sizeof(entry) - 8});
    assert_non_null(sl_zip_next(&walk, &member, &found).text);
}

/* Only the whole archive, with no relevant byte changed, gives the arrays. */
TEST(damage_is_found)
{
    static archive good;
    static archive bad;
    static sl_values values;
    make(&good);
    for (size_t size = 0; size < good.size; size++) {
        bad = good;
        bad.size = size;
        const sl_refusal refusal = unpack(&bad, &values);
        assert_true(refusal.text != NULL && refusal.status < 0 && refusal.offset <= size);
    }
    for (size_t at = 0; at < good.size; at++) {
        for (unsigned change = 1; change < 256; change += change) {
            bad = good;
            bad.bytes[at] ^= (uint8_t)change;
            const sl_refusal refusal = unpack(&bad, &values);
            assert_true(refusal.text == NULL || refusal.status < 0);
            if (refusal.text == NULL && values.of[0].present && values.of[2].present) {
                assert_memory_equal(bad.bytes + values.of[0].offset, "\1\2\3\4\5\6", 6);
                assert_int_equal(values.of[2].integer, 5);
            }
        }
    }
}

TEST(members_that_overlap)
{
    static archive a;
    static sl_values values;
    static const uint8_t data[1] = {7};
    uint8_t outer[ROOM];
    uint8_t inner[ROOM];
    memset(&a, 0, sizeof(a));
    /* "n" lies in the array of "x" */
    static archive hidden;
    memset(&hidden, 0, sizeof(hidden));
    size_t bytes = put_npy(inner, "()", data, 1);
    add_stored(&hidden, "n.npy", inner, bytes);
    char shape[32];
    (void)snprintf(shape, sizeof(shape), "(1, %zu)", hidden.size);
    bytes = put_npy(outer, shape, hidden.bytes, hidden.size);
    add_stored(&a, "x.npy", outer, bytes);
    sl_store32(hidden.directory + 42, LOCAL + 5 + EXTRA + HEADER);
    memcpy(a.directory + a.directory_bytes, hidden.directory, hidden.directory_bytes);
    a.directory_bytes += hidden.directory_bytes;
    a.members++;
    finish(&a);
    const sl_refusal refusal = unpack(&a, &values);
    assert_non_null(refusal.text);
    assert_non_null(strstr(refusal.text, "overlap"));
}

TEST(streams_are_held_against_what_is_said)
{
    static uint8_t content[60000];
    static uint8_t packed[60010];
    static uint8_t to[60000];
    static const uint32_t heads[] = {0, 1, 128, 5000, 60000};
    sl_random random = sl_random_for(1, 2, 3, 4);
    for (size_t i = 0; i < sizeof(content); i++) {
        content[i] = (uint8_t)sl_random_u32(&random);
    }
    const sl_deflated good = {
        .packed = {packed, put_deflate(packed, content, sizeof(content))},
        .bytes = sizeof(content),
        .crc = sl_crc32(0, content, sizeof(content)),
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        sl_deflated stream = good;
        stream.head_bytes = heads[i];
        assert_int_equal(sl_inflate(&stream, NULL, to, NULL), SLUICE_OK);
        assert_memory_equal(to, content + heads[i], sizeof(content) - heads[i]);
    }
    sl_deflated stream = good;
    stream.bytes--;
    assert_int_equal(sl_inflate(&stream, NULL, to, NULL), SLUICE_CORRUPT);
    stream = good;
    stream.packed.size--;
    assert_int_equal(sl_inflate(&stream, NULL, to, NULL), SLUICE_CORRUPT);
    stream = good;
    stream.packed.size++;
    assert_int_equal(sl_inflate(&stream, NULL, to, NULL), SLUICE_CORRUPT);
    stream = good;
    stream.crc ^= 1;
    assert_int_equal(sl_inflate(&stream, NULL, to, NULL), SLUICE_CORRUPT);
    assert_int_equal(sl_inflate_head(good.packed, to, 4096), 4096);
    assert_int_equal(sl_inflate_head((sl_bytes){packed, 105}, to, 4096), 100);
    assert_int_equal(sl_inflate_head((sl_bytes){packed, 0}, to, 4096), 0);
}
