/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recordio: any bytes as a RecordIO file, and as an MXNet index. Input: one byte (choice of
 * format, and whether the file's parts are made consecutive), then the bytes. The values of a
 * record are compared with a separate part-by-part joining. */
#include "fuzz.h"

#include "little_endian.h"
#include "memory.h"
#include "packed_value.h"
#include "recordio_fields.h"
#include "shard_format.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_AS_IT_IS, FILE_SEALED, TEXT, MODES };

/* Gives each part the magic number and a length within the file. */
static void seal_parts(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + SL_RECORDIO_HEAD <= size;) {
        const uint32_t most = (uint32_t)(size - at - SL_RECORDIO_HEAD) / 4 * 4;
        const uint32_t kind = sl_load32(file + at + 4) >> 30 << 30;
        uint32_t bytes = sl_load32(file + at + 4) & 0xff;
        bytes = bytes < most ? bytes : most;
        sl_store32(file + at, SL_RECORDIO_MAGIC);
        sl_store32(file + at + 4, (kind >> 1 & 3U << 29) | bytes);
        at += SL_RECORDIO_HEAD + (bytes + 3) / 4 * 4;
    }
}

/* Joins a record's bytes as the format describes. */
static size_t join(const uint8_t *record, size_t size, uint8_t *to)
{
    size_t made = 0;
    for (size_t at = 0; at < size;) {
        const uint32_t word = sl_load32(record + at + 4);
        const uint32_t bytes = word & ((1U << 29) - 1);
        if (at > 0) {
            memcpy(to + made, record + at, 4);
            made += 4;
        }
        memcpy(to + made, record + at + SL_RECORDIO_HEAD, bytes);
        made += bytes;
        at += SL_RECORDIO_HEAD + (bytes + 3) / 4 * 4;
    }
    return made;
}

static void expect_same(const sl_value *value, sl_bytes record, const uint8_t *wanted, size_t size)
{
    uint64_t found = value->bytes.size;
    uint8_t *to = malloc(size + 1);
    fuzz_expect(to != NULL, "memory");
    fuzz_expect(value->bytes.data == record.data + value->offset, "offsets are right");
    fuzz_expect(value->bytes.size <= record.size - value->offset, "values lie in their record");
    if (sl_is_packed(value)) {
        fuzz_expect(sl_packed_size(value, SL_RECORD_BYTES_MAX, &found, NULL) == SLUICE_OK,
                    "parts can be measured");
    }
    fuzz_expect(found == size, "a value has its size");
    if (sl_is_packed(value)) {
        fuzz_expect(sl_packed_unpack_to(NULL, value, to, size, NULL) == SLUICE_OK,
                    "and can be joined");
    } else {
        memcpy(to, value->bytes.data, size);
    }
    fuzz_expect(memcmp(to, wanted, size) == 0, "it is what lies in the record");
    free(to);
}

static void look_at_values(const sl_recordio_fields *fields, const sl_values *values,
                           sl_bytes record, const uint8_t *joined, size_t size)
{
    const size_t labels = fields->headers ? (size_t)4 * sl_load32(joined) : 0;
    const size_t from = fields->headers ? 24 + labels : 0;
    for (uint32_t i = 0; i < fields->source.count; i++) {
        const sl_field *field = &fields->source.fields[i];
        const sl_value *value = &values->of[i];
        if (field->type == SLUICE_FIELD_TENSOR) {
            fuzz_expect(value->shape[0] * 4 == labels, "a label has its shape");
            expect_same(value, record, joined + 24, labels);
        } else if (field->type == SLUICE_FIELD_INT && strcmp(field->name, "id") == 0) {
            fuzz_expect((uint64_t)value->integer == sl_load64(joined + 8), "an id is the header's");
        } else if (field->type != SLUICE_FIELD_INT && field->type != SLUICE_FIELD_FLOAT) {
            fuzz_expect(value->present || size == from, "only an empty picture is missing");
            expect_same(value, record, joined + from, size - from);
        }
    }
}

static void run_record(const uint8_t *bytes, size_t size)
{
    static sl_values values;
    sl_recordio record;
    sl_recordio_looks looks = {0};
    sl_recordio_fields fields = {.headers = false};
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    uint8_t *joined = malloc(size + 1);
    fuzz_expect(joined != NULL, "memory");
    sl_refusal refusal = sl_recordio_open(&record, (sl_bytes){bytes, size});
    fuzz_expect(refusal.offset <= size, "a refusal points into the record");
    if (refusal.text == NULL) {
        const size_t made = join(bytes, size, joined);
        fuzz_expect(made == record.size, "a record has its size");
        sl_recordio_look(&looks, &record);
        fuzz_expect(sl_recordio_fields_find(&fields, &looks, &options, "x", NULL) == SLUICE_OK,
                    "any record has fields");
        sl_values_begin(&values, SL_VALUES_ALL);
        refusal = sl_recordio_fields_unpack(&fields, &record, &values);
        fuzz_expect(refusal.offset <= size, "a refusal points into the record");
        if (refusal.text == NULL) {
            look_at_values(&fields, &values, (sl_bytes){bytes, size}, joined, made);
        }
    }
    free(joined);
}

static void run_records(const sl_file_index *index, const uint8_t *file, size_t size)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < index->samples; i++) {
        const size_t bytes = index->bytes[i];
        fuzz_expect(index->offsets[i] == end, "records follow one another");
        end += bytes;
        fuzz_expect(end <= size, "records lie in the file");
        uint8_t *copy = malloc(bytes); /* of exactly that size, for the sanitizer */
        fuzz_expect(copy != NULL, "memory");
        memcpy(copy, file + index->offsets[i], bytes);
        run_record(copy, bytes);
        free(copy);
    }
    fuzz_expect(end == size, "to the end of the file");
}

static void run_file(const uint8_t *file, size_t size)
{
    char path[64];
    sl_file_index index;
    sl_open_file from;
    sluice_error error = SLUICE_ERROR_INIT;
    const int fd = memfd_create("recordio", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file, size) == (ssize_t)size, "a file of memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fuzz_expect(sl_open_file_open(&from, (sl_file_name){"dataset", path}, &error) == SLUICE_OK,
                "it opens");
    if (sl_recordio_walk(&index, &from, &error) == SLUICE_OK) {
        run_records(&index, file, size);
        sl_file_index_close(&index);
    } else {
        fuzz_expect(error.status < 0 && error.text[0] != '\0', "a refusal has a reason");
        fuzz_expect(error.offset <= (int64_t)size, "and points into the file");
    }
    sl_handle_close(&from.handle);
    (void)close(fd);
}

static void run_text(const char *text, size_t size)
{
    sl_file_index index;
    for (uint64_t bytes = 64; bytes < INT64_MAX / 64; bytes *= 2) {
        if (!sl_recordio_idx_parse(&index, text, size, bytes))
            continue;
        uint64_t end = 0;
        for (uint64_t i = 0; i < index.samples; i++) {
            fuzz_expect(index.offsets[i] == end, "records follow one another");
            fuzz_expect(index.bytes[i] >= SL_RECORDIO_HEAD, "each has a head");
            end += index.bytes[i];
        }
        fuzz_expect(end == bytes, "to the end of the file");
        sl_file_index_close(&index);
    }
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const uint8_t mode = data[0] % MODES;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    if (mode == FILE_SEALED)
        seal_parts(copy, size - 1);
    if (mode == TEXT) {
        run_text((const char *)copy, size - 1);
    } else {
        run_file(copy, size - 1);
        run_record(copy, size - 1); /* even if no scan would have reached it */
    }
    free(copy);
    return 0;
}

/* ---- seeds ---- */

static size_t put_part(uint8_t *to, uint32_t kind, const void *bytes, uint32_t size)
{
    sl_store32(to, SL_RECORDIO_MAGIC);
    sl_store32(to + 4, kind << 29 | size);
    memcpy(to + SL_RECORDIO_HEAD, bytes, size);
    memset(to + SL_RECORDIO_HEAD + size, 0, 3);
    return SL_RECORDIO_HEAD + (size + 3) / 4 * 4;
}

static size_t put_records(uint8_t *to)
{
    static const uint8_t one[] =
        "\0\0\0\0\0\0\x80\x3f\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xd8\xff\xe0picture";
    static const uint8_t two[] =
        "\2\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0abcdefgh\xff\xd8\xff\xe0of two";
    size_t at = put_part(to, 0, one, sizeof(one) - 1);
    at += put_part(to + at, 0, two, sizeof(two) - 1);
    at += put_part(to + at, 1, two, 24); /* the magic number is a label */
    at += put_part(to + at, 2, "abcd", 4);
    at += put_part(to + at, 2, "", 0);
    at += put_part(to + at, 3, "xyz", 3);
    at += put_part(to + at, 1, one, 8); /* and half of an id */
    at += put_part(to + at, 3, one + 12, sizeof(one) - 13);
    return at + put_part(to + at, 0, "", 0);
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char text[] = "0\t0\n1\t64\nten\t96\n";
    buffer[0] = (uint8_t)index;
    switch (index) {
    case FILE_AS_IT_IS:
    case FILE_SEALED:
        return 1 + put_records(buffer + 1);
    case TEXT:
        memcpy(buffer + 1, text, sizeof(text) - 1);
        return sizeof(text);
    case MODES: /* one record of one part, as the first mode */
        return 1 +
               put_part(buffer + 1, 0, "\0\0\0\0\0\0\0\x40\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    default:
        return 0;
    }
}
