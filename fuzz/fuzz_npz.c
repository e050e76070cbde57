/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npz: any bytes as an .npz file: examined as when opening, unpacked as a sample, and as a
 * deflate stream. Input: one byte (choice of format, and whether the directory's checksums are
 * corrected), then the bytes. Members must be before the directory and must not overlap. An array
 * holds what its shape says, and two ways of reading must agree. */
#include "fuzz.h"

#include "crc32.h"
#include "dtype.h"
#include "inflate.h"
#include "little_endian.h"
#include "memory.h"
#include "npz_file.h"
#include "packed_value.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AS_IT_IS, SEALED, STREAM, MODES };
enum { UNPACKED_MOST = 1 << 20 };

/* Corrects the checksums of stored members with plausible sizes. */
static void seal(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + 46 <= size; at++) {
        if (memcmp(file + at, "PK\1\2", 4) != 0 || sl_load16(file + at + 10) != 0)
            continue;
        const uint64_t header = sl_load32(file + at + 42);
        const uint64_t bytes = sl_load32(file + at + 20);
        if (header + 30 > size)
            continue;
        const uint64_t data =
            header + 30 + sl_load16(file + header + 26) + sl_load16(file + header + 28);
        if (data <= size && bytes <= size - data)
            sl_store32(file + at + 16, sl_crc32(0, file + data, (size_t)bytes));
    }
}

static uint64_t size_of(const sl_field *field, const uint64_t *shape)
{
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++)
        bytes *= shape[i];
    return bytes;
}

static void look_at_value(const sl_field *field, const sl_value *value, sl_bytes file)
{
    uint64_t size = value->bytes.size;
    if (!value->present || field->type != SLUICE_FIELD_TENSOR)
        return;
    fuzz_expect(value->bytes.data >= file.data &&
                    (size_t)(value->bytes.data - file.data) <= file.size &&
                    size <= file.size - (size_t)(value->bytes.data - file.data),
                "a value lies in its file");
    fuzz_expect(value->offset == (size_t)(value->bytes.data - file.data), "where it says");
    if (sl_is_packed(value))
        fuzz_expect(sl_packed_size(value, UINT64_MAX, &size, NULL) == SLUICE_OK, "has a size");
    fuzz_expect(size == size_of(field, value->shape), "an array has the size of its shape");
    if (sl_is_packed(value) && size <= UNPACKED_MOST) {
        uint8_t *to = malloc(size + 1);
        fuzz_expect(to != NULL, "memory");
        (void)sl_packed_unpack_to(NULL, value, to, size, NULL);
        free(to);
    }
}

/* Makes the fields of the file's own arrays. */
static uint32_t make_fields(sl_npz_fields *fields, const sl_npz_file *file)
{
    uint32_t refused = 0;
    memset(fields, 0, sizeof(*fields));
    for (uint32_t i = 0; i < file->count && fields->count < SL_FIELDS_MAX; i++) {
        const sl_npz_entry *entry = &file->entries[i];
        if (entry->refused != NULL) {
            refused++;
            continue;
        }
        sl_npz_field(&fields->fields[fields->count], &entry->npy, false);
        fields->dtypes[fields->count] = entry->npy.dtype;
        memcpy(fields->names[fields->count++], entry->name, sizeof(entry->name));
        fuzz_expect(entry->member.data + entry->member.packed <= file->file.bytes,
                    "members are inside");
        fuzz_expect(entry->npy.data + entry->npy.bytes == entry->member.bytes, "and arrays");
    }
    return refused;
}

/* Array heads read by position must equal the examined ones; reads of others stay in bounds. */
static void look_at_heads(const sl_npz_fields *fields, const sl_npz_file *file, sl_bytes bytes)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < file->count && number < fields->count; i++) {
        const sl_npz_entry *entry = &file->entries[i];
        sl_npz_place place;
        if (entry->refused != NULL)
            continue;
        if (sl_npz_place_of(&place, &entry->member, &entry->npy)) {
            const uint64_t begin = place.data - place.head_bytes;
            fuzz_expect(begin == entry->member.header && place.data + place.bytes <= bytes.size,
                        "places are inside");
            const sl_bytes head = {bytes.data + begin, place.head_bytes};
            fuzz_expect(sl_npz_check_head(fields, number, &place, head).text == NULL, "a head");
            const sl_bytes shorter = {head.data, head.size - 1};
            fuzz_expect(sl_npz_check_head(fields, number, &place, shorter).text != NULL, "none");
        }
        number++;
    }
}

static void run_file(const uint8_t *data, size_t size)
{
    static sl_npz_fields fields;
    static sl_values values;
    char path[64];
    sl_npz_file file;
    sluice_error error = SLUICE_ERROR_INIT;
    const int fd = memfd_create("npz", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size), "a file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (sl_npz_file_read(&file, path, &error) == SLUICE_OK) {
        (void)make_fields(&fields, &file);
        look_at_heads(&fields, &file, (sl_bytes){data, size});
        for (uint32_t i = 0; i < file.count; i++) {
            uint8_t *array;
            if (file.entries[i].refused == NULL && file.entries[i].member.bytes <= UNPACKED_MOST &&
                sl_npz_file_load(&file, &file.entries[i], &array, NULL) == SLUICE_OK)
                sl_free(array);
        }
        sl_npz_file_close(&file);
        sl_values_begin(&values, SL_VALUES_ALL);
        const sl_refusal refusal = sl_npz_unpack(&fields, (sl_bytes){data, size}, &values);
        fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
        for (uint32_t i = 0; refusal.text == NULL && i < fields.count; i++) {
            fuzz_expect(values.of[i].present, "every stored array has a value");
            look_at_value(&fields.fields[i], &values.of[i], (sl_bytes){data, size});
        }
    } else {
        fuzz_expect(error.status < 0 && error.text[0] != '\0', "a refusal has a reason");
        fuzz_expect(error.offset <= (int64_t)size, "and points into the file");
    }
    (void)close(fd);
}

/* A file that lacks fields found when other files were examined. */
static void run_fields(const uint8_t *data, size_t size)
{
    static sl_npz_fields fields;
    static sl_values values;
    fields.count = 2;
    fields.fields[0] = (sl_field){.name = "x", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8};
    fields.fields[0].dims = 2;
    fields.fields[1] = (sl_field){.name = "y", .type = SLUICE_FIELD_INT, .dtype = SLUICE_I64};
    fields.dtypes[0] = SLUICE_U8;
    fields.dtypes[1] = SLUICE_I16;
    fields.names[0][0] = 'x';
    fields.names[1][0] = 'y';
    sl_values_begin(&values, SL_VALUES_ALL);
    if (sl_npz_unpack(&fields, (sl_bytes){data, size}, &values).text == NULL)
        look_at_value(&fields.fields[0], &values.of[0], (sl_bytes){data, size});
    const sl_npz_place place = {.shape = {2, 3}};
    for (size_t end = 0; end <= size && end < 256; end++)
        (void)sl_npz_check_head(&fields, 0, &place, (sl_bytes){data, end});
}

static void run_stream(const uint8_t *data, size_t size)
{
    uint8_t head[256];
    if (size < 4)
        return;
    const size_t bytes = sl_load16(data);
    const uint32_t before = (uint32_t)(data[2] < bytes ? data[2] : bytes);
    const sl_bytes packed = {data + 3, size - 3};
    const size_t known = sl_inflate_head(packed, head, sizeof(head));
    sl_deflated stream = {.packed = packed, .bytes = bytes, .head_bytes = before};
    uint8_t *to = malloc(bytes - before + 1);
    fuzz_expect(to != NULL && known <= sizeof(head), "memory");
    to[bytes - before] = 77;
    if (sl_inflate(&stream, NULL, to, NULL) == SLUICE_OK)
        fuzz_expect(known == (bytes < sizeof(head) ? bytes : sizeof(head)), "the head is complete");
    fuzz_expect(to[bytes - before] == 77, "nothing is written behind the end");
    free(to);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t mode = data[0] % MODES;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    if (mode == STREAM) {
        run_stream(copy, size - 1);
    } else {
        if (mode == SEALED)
            seal(copy, size - 1);
        run_file(copy, size - 1);
        run_fields(copy, size - 1);
    }
    free(copy);
    return 0;
}

/* ---- seeds ---- */

typedef struct maker {
    uint8_t *bytes;
    size_t size;
    uint8_t directory[1024];
    size_t directory_bytes;
    uint16_t members;
} maker;

static void put_text(uint8_t *to, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)text[i];
}

static size_t put_npy(uint8_t *to, const char *descr, const char *shape, size_t bytes)
{
    char text[128];
    const int length =
        snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                 descr, shape);
    put_text(to, "\x93NUMPY\1\0", 8);
    sl_store16(to + 8, (uint16_t)length);
    put_text(to + 10, text, (size_t)length);
    memset(to + 10 + length, 3, bytes);
    return 10 + (size_t)length + bytes;
}

static void add_member(maker *m, const char *name, bool deflated, const uint8_t *content,
                       size_t bytes)
{
    uint8_t *local = m->bytes + m->size;
    uint8_t *entry = m->directory + m->directory_bytes;
    const size_t length = strlen(name);
    const size_t packed = bytes + (deflated ? 5 : 0);
    memset(local, 0, 30);
    memset(entry, 0, 46);
    put_text(local, "PK\3\4", 4);
    put_text(entry, "PK\1\2", 4);
    local[8] = entry[10] = deflated ? 8 : 0;
    sl_store32(entry + 16, sl_crc32(0, content, bytes));
    sl_store32(entry + 20, (uint32_t)packed);
    sl_store32(entry + 24, (uint32_t)bytes);
    sl_store16(local + 26, (uint16_t)length);
    sl_store16(entry + 28, (uint16_t)length);
    sl_store32(entry + 42, (uint32_t)m->size);
    for (size_t i = 0; i < length; i++)
        local[30 + i] = entry[46 + i] = (uint8_t)name[i];
    uint8_t *to = local + 30 + length;
    if (deflated) {
        to[0] = 1;
        sl_store16(to + 1, (uint16_t)bytes);
        sl_store16(to + 3, (uint16_t)~bytes);
        to += 5;
    }
    memcpy(to, content, bytes);
    m->size += 30 + length + packed;
    m->directory_bytes += 46 + length;
    m->members++;
}

static size_t finish(maker *m, bool zip64)
{
    const size_t at = m->size;
    memcpy(m->bytes + at, m->directory, m->directory_bytes);
    m->size += m->directory_bytes;
    if (zip64) {
        uint8_t *record = m->bytes + m->size;
        memset(record, 0, 76);
        put_text(record, "PK\6\6", 4);
        sl_store64(record + 4, 44);
        sl_store64(record + 24, m->members);
        sl_store64(record + 32, m->members);
        sl_store64(record + 40, m->directory_bytes);
        sl_store64(record + 48, at);
        put_text(record + 56, "PK\6\7", 4);
        sl_store64(record + 64, m->size);
        sl_store32(record + 72, 1);
        m->size += 76;
    }
    uint8_t *end = m->bytes + m->size;
    memset(end, 0, 22);
    put_text(end, "PK\5\6", 4);
    sl_store16(end + 8, m->members);
    sl_store16(end + 10, m->members);
    sl_store32(end + 12, (uint32_t)m->directory_bytes);
    sl_store32(end + 16, (uint32_t)at);
    return m->size + 22;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    uint8_t content[256];
    maker m = {.bytes = buffer + 1};
    buffer[0] = (uint8_t)(index == 2 ? SEALED : index == 3 ? STREAM : AS_IT_IS);
    if (index == 3) {
        static const uint8_t stream[] = {20, 0, 3, 0x4b, 0x4c, 0x4a, 0x4e, 0x4c, 0x82, 0x22, 0x00};
        memcpy(buffer + 1, stream, sizeof(stream));
        return 1 + sizeof(stream);
    }
    if (index > 3)
        return 0;
    add_member(&m, "x.npy", index == 1, content, put_npy(content, "|u1", "(3, 5)", 15));
    add_member(&m, "y.npy", false, content, put_npy(content, "<i2", "()", 2));
    add_member(&m, "z.npy", true, content, put_npy(content, "<f4", "(2, 0)", 0));
    return 1 + finish(&m, index == 1);
}
