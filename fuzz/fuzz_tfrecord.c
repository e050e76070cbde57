/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tfrecord: any bytes as a TFRecord file, as one tf.train.Example or SequenceExample, as an
 * index of tfrecord2idx, and as the text of a chosen field. Input: one byte (choice of format, and
 * whether the file's checksums are corrected), then the bytes. Records must be consecutive in the
 * file, and their values inside them; an array has as many numbers as its shape says. */
#include "fuzz.h"

#include "crc32c.h"
#include "dtype.h"
#include "example_fields.h"
#include "little_endian.h"
#include "memory.h"
#include "packed_value.h"
#include "shard_format.h"
#include "tfrecord_index.h"
#include "unicode.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_AS_IT_IS, FILE_SEALED, EXAMPLE, TEXT, CHOICE, MODES };
enum { SEQUENCE = MODES, CHOICES = 10 }; /* an extra seed of EXAMPLE */

static void seal_records(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + SL_TFRECORD_FRAME <= size;) {
        const size_t most = size - at - SL_TFRECORD_FRAME;
        const uint64_t length = sl_load64(file + at);
        sl_store32(file + at + 8, sl_crc32c_mask(sl_crc32c(file + at, 8)));
        if (length > most)
            return;
        at += SL_TFRECORD_HEAD;
        sl_store32(file + at + length, sl_crc32c_mask(sl_crc32c(file + at, length)));
        at += length + 4;
    }
}

static uint8_t *unpack_list(const sl_value *value, uint64_t *size)
{
    fuzz_expect(sl_packed_size(value, SL_RECORD_BYTES_MAX, size, NULL) == SLUICE_OK,
                "a list that was taken is sound");
    uint8_t *to = malloc(*size > 0 ? *size : 1); /* of exactly that size, for the sanitizer */
    fuzz_expect(to != NULL, "memory");
    fuzz_expect(sl_packed_unpack_to(NULL, value, to, *size, NULL) == SLUICE_OK,
                "and can be unpacked");
    return to;
}

/* A list of texts must be a JSON array without characters that JSON escapes. */
static void look_at_text(const sl_value *value)
{
    uint64_t size = 0;
    uint8_t *text = unpack_list(value, &size);
    fuzz_expect(size >= 2 && text[0] == '[' && text[size - 1] == ']', "it is an array");
    for (uint64_t i = 0; i < size; i++)
        fuzz_expect(text[i] >= ' ', "controls are escaped");
    fuzz_expect(sl_is_utf8((sl_bytes){text, size}), "it is UTF-8");
    free(text);
}

static void look_at_tensor(const sl_field *field, const sl_value *value)
{
    uint64_t wanted = sl_dtype_bytes(field->dtype);
    uint64_t size = value->bytes.size;
    for (uint32_t i = 0; i < field->dims; i++) {
        fuzz_expect(field->shape[i] == 0 || value->shape[i] == field->shape[i], "shapes are kept");
        wanted *= value->shape[i];
    }
    if (sl_is_packed(value))
        free(unpack_list(value, &size));
    fuzz_expect(size == wanted, "an array has the size of its shape");
}

static void look_at_values(const sl_example_fields *fields, sl_bytes record,
                           const sl_values *values)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const sl_field *field = &fields->fields[i];
        const sl_value *value = &values->of[i];
        if (!value->present || field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT)
            continue;
        if (field->type == SLUICE_FIELD_TENSOR) {
            look_at_tensor(field, value);
        } else if (sl_is_packed(value)) {
            look_at_text(value);
        }
        if (value->bytes.size == 0)
            continue;
        fuzz_expect(value->bytes.data == record.data + value->offset, "offsets are right");
        fuzz_expect(value->bytes.size <= record.size &&
                        value->offset <= record.size - value->bytes.size,
                    "values lie inside their record");
    }
}

static void unpack(const sl_example_fields *fields, sl_bytes record, sl_bytes example)
{
    static sl_values values;
    const uint32_t offset = (uint32_t)(example.data - record.data);
    sl_values_begin(&values, SL_VALUES_ALL);
    const sl_refusal refusal = sl_example_fields_unpack(fields, example, offset, &values);
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    fuzz_expect(refusal.offset <= record.size, "a refusal points into the record");
    if (refusal.text == NULL)
        look_at_values(fields, record, &values);
}

/* Reads the fields that are found and, if possible, those that are chosen. */
static void run_example(sl_example_keys *keys, sl_bytes record, sl_bytes example)
{
    static sl_example_fields fields;
    static sl_field_choice choices[CHOICES];
    static const char *const wanted[CHOICES] = {
        "a=ids:i64[0,2]", "b=raw:u16[]",    "c=image/encoded", "d=box:f32[4]", "e=steps:i64[]",
        "f=rgb:u16[0,2]", "g=words.1:text", "h=words:text",    "i=frames.2",   "j=pairs:f32[0,2]"};
    if (sl_example_look(keys, NULL, 0, example).text == NULL &&
        sl_example_fields_find(&fields, keys, NULL) == SLUICE_OK)
        unpack(&fields, record, example);
    for (uint32_t i = 0; i < CHOICES; i++) {
        fuzz_expect(sl_field_choice_parse(&choices[i], wanted[i], NULL) == SLUICE_OK, "a choice");
        memset(keys, 0, sizeof(*keys));
        (void)sl_example_look(keys, &choices[i], 1, example);
        if (sl_example_fields_choose(&fields, keys, &choices[i], 1, NULL) == SLUICE_OK)
            unpack(&fields, record, example);
    }
}

static void run_records(const sl_file_index *index, const uint8_t *file, size_t size)
{
    static sl_example_keys keys;
    uint64_t end = 0;
    for (uint64_t i = 0; i < index->samples; i++) {
        const size_t bytes = index->bytes[i];
        sl_bytes example;
        fuzz_expect(index->offsets[i] == end, "records follow one another");
        end += bytes;
        fuzz_expect(end <= size, "records lie in the file");
        uint8_t *copy = malloc(bytes); /* of exactly that size, for the sanitizer */
        fuzz_expect(copy != NULL, "memory");
        memcpy(copy, file + index->offsets[i], bytes);
        const sl_bytes record = {copy, bytes};
        memset(&keys, 0, sizeof(keys));
        if (sl_tfrecord_open(record, &example).text == NULL)
            run_example(&keys, record, example);
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
    const int fd = memfd_create("tfrecord", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file, size) == (ssize_t)size, "a file of memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fuzz_expect(sl_open_file_open(&from, (sl_file_name){"dataset", path}, &error) == SLUICE_OK,
                "it opens");
    if (sl_tfrecord_walk(&index, &from, &error) == SLUICE_OK) {
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
        if (!sl_tfrecord_idx_parse(&index, text, size, bytes))
            continue;
        fuzz_expect(index.samples > 0 && index.offsets[0] == 0, "it begins where the file does");
        for (uint64_t i = 1; i < index.samples; i++)
            fuzz_expect(index.offsets[i] > index.offsets[i - 1], "records follow one another");
        sl_file_index_close(&index);
    }
}

static void run_choice(const uint8_t *data, size_t size)
{
    sl_field_choice choice;
    sluice_error error = SLUICE_ERROR_INIT;
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "memory");
    memcpy(text, data, size);
    text[size] = '\0';
    if (sl_field_choice_parse(&choice, text, &error) == SLUICE_OK) {
        fuzz_expect(choice.field.name[0] != '\0' && choice.key[0] != '\0', "a name and a key");
        fuzz_expect(choice.field.dims <= SLUICE_TENSOR_DIMS_MAX, "dimensions");
    } else {
        fuzz_expect(error.status == SLUICE_INVALID && error.text[0] != '\0', "or a reason");
    }
    free(text);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static sl_example_keys keys;
    if (size < 1)
        return 0;
    const uint8_t mode = data[0] % MODES;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    const sl_bytes bytes = {copy, size - 1};
    if (mode == FILE_SEALED)
        seal_records(copy, size - 1);
    if (mode == FILE_SEALED || mode == FILE_AS_IT_IS) {
        run_file(copy, size - 1);
    } else if (mode == EXAMPLE) {
        memset(&keys, 0, sizeof(keys));
        run_example(&keys, bytes, bytes);
    } else if (mode == TEXT) {
        run_text((const char *)copy, size - 1);
    } else {
        run_choice(copy, size - 1);
    }
    free(copy);
    return 0;
}

/* ---- seeds ---- */

static size_t put_message(uint8_t *to, uint8_t tag, const void *bytes, size_t size)
{
    fuzz_expect(size < 16384, "a short message");
    to[0] = tag;
    to[1] = (uint8_t)(size | 0x80);
    to[2] = (uint8_t)(size >> 7);
    memcpy(to + 3, bytes, size);
    return 3 + size;
}

/* Writes an entry of the map: a list of kind `tag`, whose payload is already a message. */
static size_t put_feature(uint8_t *to, const char *key, uint8_t tag, const void *list, size_t size)
{
    uint8_t feature[600];
    uint8_t entry[700];
    const size_t bytes = put_message(feature, tag, list, size);
    size_t at = put_message(entry, 0x0a, key, strlen(key));
    at += put_message(entry + at, 0x12, feature, bytes);
    return put_message(to, 0x0a, entry, at);
}

static size_t make_example(uint8_t *to)
{
    uint8_t features[2000];
    size_t at = 0;
    at += put_feature(features + at, "image/encoded", 0x0a, "\x0a\x05\xff\xd8\xff\xe0x", 7);
    at += put_feature(features + at, "raw", 0x0a,
                      "\x0a\x04"
                      "abcd",
                      6);
    at += put_feature(features + at, "label", 0x1a, "\x0a\x01\x07", 3);
    at += put_feature(features + at, "ids", 0x1a, "\x0a\x03\x01\xac\x02\x08\x05\x08\x06", 9);
    at += put_feature(features + at, "box", 0x12,
                      "\x0a\x10"
                      "0123456789abcdef",
                      18);
    at += put_feature(features + at, "score", 0x12, "\x0d\0\0\x80\x3f", 5);
    at += put_feature(features + at, "text", 0x0a, "\x0a\x02\xc3\xa4", 4);
    return put_message(to, 0x0a, features, at);
}

/* Writes an entry of feature_lists with `count` steps of such a list. */
static size_t put_steps(uint8_t *to, const char *key, uint8_t tag, const void *list, size_t size,
                        int count)
{
    uint8_t feature[600];
    uint8_t steps[2000];
    uint8_t entry[2100];
    size_t at = 0;
    const size_t bytes = put_message(feature, tag, list, size);
    for (int i = 0; i < count; i++)
        at += put_message(steps + at, 0x0a, feature, bytes);
    const size_t key_bytes = put_message(entry, 0x0a, key, strlen(key));
    at = put_message(entry + key_bytes, 0x12, steps, at);
    return put_message(to, 0x0a, entry, key_bytes + at);
}

static size_t make_sequence(uint8_t *to)
{
    uint8_t features[2000];
    uint8_t lists[4000];
    size_t at = put_feature(features, "label", 0x1a, "\x0a\x01\x07", 3);
    const size_t begin = put_message(to, 0x0a, features, at);
    at = put_steps(lists, "steps", 0x1a, "\x08\x05", 2, 3);
    at += put_steps(lists + at, "ids", 0x1a, "\x0a\x03\x01\xac\x02", 5, 2);
    at += put_steps(lists + at, "pairs", 0x12, "\x0a\x08\0\0\x80\x3f\0\0\0\x40", 10, 3);
    at += put_steps(lists + at, "frames", 0x0a, "\x0a\x05\xff\xd8\xff\xe0x", 7, 3);
    at += put_steps(lists + at, "words", 0x0a, "\x0a\x05\xc3\xa4\"\\\n", 7, 3);
    at += put_steps(lists + at, "rgb", 0x0a, "\x0a\x04\xff\x01\x02\x03", 6, 2);
    at += put_steps(lists + at, "none", 0x1a, "", 0, 1);
    return begin + put_message(to + begin, 0x12, lists, at);
}

static size_t put_text(uint8_t *to, const char *text)
{
    for (size_t i = 0; i < strlen(text); i++)
        to[i] = (uint8_t)text[i];
    return strlen(text);
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    uint8_t *to = buffer + 1;
    size_t at = 0;
    buffer[0] = (uint8_t)index;
    switch (index) {
    case FILE_AS_IT_IS:
    case FILE_SEALED:
        for (int i = 0; i < 3; i++) {
            uint8_t *message = to + at + SL_TFRECORD_HEAD;
            const size_t bytes = i < 2 ? make_example(message) : make_sequence(message);
            sl_store64(to + at, bytes);
            at += SL_TFRECORD_FRAME + bytes;
        }
        seal_records(to, at);
        return 1 + at;
    case EXAMPLE:
        return 1 + make_example(to);
    case SEQUENCE:
        buffer[0] = EXAMPLE;
        return 1 + make_sequence(to);
    case TEXT:
        return 1 + put_text(to, "0 16\n16 48\n64 64\n128 128\n");
    case CHOICE:
        return 1 + put_text(to, "box=image/object/bbox:f32[0,4]");
    default:
        return 0;
    }
}
