/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_mds: any bytes as the index.json of MDS shards, as a shard with a matching index, as a
 * sample with columns of all encodings, and as the name of an encoding. Input: one byte (choice of
 * format), then the bytes. */
#include "little_endian.h"
#include "mds_columns.h"
#include "shards_run.h"

#include <string.h>

enum { INDEX, SHARD, SAMPLE, ENCODING, MODES };

static const struct {
    const char *encoding;
    uint32_t bytes;
} columns[] = {{"int", 8},
               {"uint64", 8},
               {"float16", 2},
               {"str", 0},
               {"jpeg", 0},
               {"pil", 0},
               {"ndarray", 0},
               {"ndarray:int16", 0},
               {"uint8", 0},
               {"bytes", 3},
               {"ndarray:float32:2,1", 8}};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static size_t put(uint8_t *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return size;
}

/* Makes an index for a shard of `size` bytes, with the shard's own claims. */
static size_t make_index(char *to, size_t capacity, const uint8_t *shard, size_t size)
{
    int at = snprintf(to, capacity,
                      "{\"shards\":[{\"format\":\"mds\",\"version\":2,\"samples\":%u,\"raw_data\":{"
                      "\"basename\":\"a.mds\",\"bytes\":%zu},\"column_names\":[",
                      size >= 4 ? sl_load32(shard) : 0, size);
    for (int i = 0; i < COLUMNS; i++)
        at += snprintf(to + at, capacity - (size_t)at, "%s\"c%d\"", i > 0 ? "," : "", i);
    at += snprintf(to + at, capacity - (size_t)at, "],\"column_encodings\":[");
    for (int i = 0; i < COLUMNS; i++) {
        at += snprintf(to + at, capacity - (size_t)at, "%s\"%s\"", i > 0 ? "," : "",
                       columns[i].encoding);
    }
    at += snprintf(to + at, capacity - (size_t)at, "],\"column_sizes\":[");
    for (int i = 0; i < COLUMNS; i++)
        at += snprintf(to + at, capacity - (size_t)at, "%s%u", i > 0 ? "," : "", columns[i].bytes);
    at += snprintf(to + at, capacity - (size_t)at, "]}],\"version\":2}");
    return (size_t)at;
}

static size_t make_sample(uint8_t *to)
{
    static const struct {
        const char *bytes;
        size_t size;
    } values[COLUMNS] = {{"\1\0\0\0\0\0\0\0", 8},
                         {"\2\0\0\0\0\0\0\0", 8},
                         {"\0\x3c", 2},
                         {"text", 4},
                         {"\xff\xd8\xff", 3},
                         {"\1\0\0\0\2\0\0\0\3\0\0\0RGB123456", 21},
                         {"\x09\x09\2\0\1\0ab", 8},
                         {"\x04\1ab", 4},
                         {"\7", 1},
                         {"abc", 3},
                         {"12345678", 8}};
    size_t at = 0;
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].bytes == 0) {
            sl_store32(to + at, (uint32_t)values[i].size);
            at += 4;
        }
    }
    for (int i = 0; i < COLUMNS; i++)
        at += put(to + at, values[i].bytes, values[i].size);
    return at;
}

static size_t make_shard(uint8_t *to)
{
    size_t at = 16;
    sl_store32(to, 2);
    for (uint32_t i = 0; i < 2; i++) {
        sl_store32(to + 4 + (size_t)4 * i, (uint32_t)at);
        at += make_sample(to + at);
    }
    sl_store32(to + 12, (uint32_t)at);
    return at;
}

static void run_sample(const uint8_t *data, size_t size)
{
    sl_sized_columns all = {0};
    for (int i = 0; i < COLUMNS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%d", i);
        sl_source_column *source = fuzz_shards_column(&all, name);
        sl_mds_column(columns[i].encoding, &all.of[i], source);
        all.of[i].bytes = columns[i].bytes;
    }
    fuzz_shards_sample(&all, data, size);
}

static void run_encoding(const uint8_t *data, size_t size)
{
    char text[300];
    sl_sized_column column = {0};
    sl_source_column source;
    memset(&source, 0, sizeof(source));
    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    sl_mds_column(text, &column, &source);
    fuzz_expect(source.refused != NULL || source.field.type != 0 || column.kind == SL_SIZED_ARRAY,
                "an encoding is a field, or refused");
}

static void run_files(const void *index, size_t index_size, const uint8_t *shard, size_t size)
{
    fuzz_shards_write("index.json", index, index_size);
    fuzz_shards_write("a.mds", shard, size);
    fuzz_shards_open();
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static char index[4096];
    static uint8_t shard[4096];
    if (size == 0 || size > FUZZ_INPUT_MAX)
        return 0;
    const unsigned mode = data[0] % MODES;
    data++;
    size--;
    if (mode == INDEX) {
        run_files(data, size, shard, make_shard(shard));
    } else if (mode == SHARD) {
        run_files(index, make_index(index, sizeof(index), data, size), data, size);
    } else if (mode == SAMPLE) {
        run_sample(data, size);
    } else {
        run_encoding(data, size);
    }
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    uint8_t shard[4096];
    char text[4096];
    buffer[0] = (uint8_t)index;
    switch (index) {
    case INDEX:
        return 1 + put(buffer + 1, text, make_index(text, sizeof(text), shard, make_shard(shard)));
    case SHARD:
        return 1 + make_shard(buffer + 1);
    case SAMPLE:
        return 1 + make_sample(buffer + 1);
    case ENCODING:
        return 1 + put(buffer + 1, "ndarray:float32:2,3", 19);
    default:
        return 0;
    }
}
