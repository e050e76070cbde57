/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_litdata: any bytes as the index.json of LitData chunks, as a chunk with a matching index, of
 * items and of tokens, as an item with leaves of all kinds, and as an index's description of
 * leaves. Input: one byte (choice of format), then the bytes. */
#include "litdata_columns.h"
#include "little_endian.h"
#include "shards_run.h"

#include <string.h>

enum { INDEX, CHUNK, TOKENS, ITEM, LEAVES, MODES };

#define FORMATS                                                                  \
    "[\"int\",\"float\",\"bool\",\"str\",\"jpeg\",\"pil\",\"tensor\",\"numpy\"," \
    "\"no_header_tensor:14\",\"bytes\"]"
#define LEAF "{\\\"type\\\":null,\\\"context\\\":null,\\\"children_spec\\\":[]}"
#define SPEC                                                                                  \
    "\"[1,{\\\"type\\\":\\\"builtins.dict\\\",\\\"context\\\":\\\"[\\\\\\\"a\\\\\\\",2]\\\"," \
    "\\\"children_spec\\\":[" LEAF ",{\\\"type\\\":\\\"builtins.list\\\",\\\"context\\\":"    \
    "\\\"null\\\",\\\"children_spec\\\":[" LEAF "," LEAF "," LEAF "," LEAF "," LEAF "," LEAF  \
    "," LEAF "," LEAF "," LEAF "]}]}]\""

enum { ITEMS = 2 };

#define HEAD ((size_t)4 * (ITEMS + 2))

static const struct {
    const char *bytes;
    size_t size;
} leaves[] = {
    {"\1\0\0\0\0\0\0\0", 8},
    {"\0\0\0\0\0\0\xf8\x3f", 8},
    {"\1", 1},
    {"text", 4},
    {"\xff\xd8\xff", 3},
    {"\1\0\0\0\2\0\0\0\3\0\0\0RGB123456", 21},
    {"\0\0\0\x0e\0\0\0\2\0\0\0\2\0\0\0\1"
     "abcd",
     20},
    {"\4\0\0\0\1\0\0\0\3\0\0\0"
     "abc",
     15},
    {"abcd", 4},
    {"", 0},
};

static size_t put(uint8_t *to, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(to, bytes, size);
    return size;
}

static size_t make_config(char *to, size_t capacity, const char *loader)
{
    const bool tokens = strcmp(loader, "TokensLoader") == 0;
    return (size_t)snprintf(to, capacity,
                            "\"config\":{\"item_loader\":\"%s\",\"data_format\":%s,\"data_spec\":"
                            "%s,\"compression\":null,\"encryption\":null}",
                            loader, tokens ? "[\"no_header_tensor:14\"]" : FORMATS,
                            tokens ? "null" : SPEC);
}

/* Makes an index for a chunk of `size` bytes, with the chunk's own claims. */
static size_t make_index(char *to, size_t capacity, const char *loader, const uint8_t *chunk,
                         size_t size)
{
    const int at = snprintf(to, capacity,
                            "{\"chunks\":[{\"filename\":\"a.bin\",\"chunk_size\":%u,"
                            "\"chunk_bytes\":%zu,\"dim\":null}],",
                            size >= 4 ? sl_load32(chunk) : 0, size);
    const size_t end = (size_t)at + make_config(to + at, capacity - (size_t)at, loader);
    return end + (size_t)snprintf(to + end, capacity - end, "}");
}

static size_t make_item(uint8_t *to)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
        sl_store32(to + at, (uint32_t)leaves[i].size);
        at += 4;
    }
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
        at += put(to + at, leaves[i].bytes, leaves[i].size);
    return at;
}

static size_t make_chunk(uint8_t *to, bool tokens)
{
    size_t at = HEAD;
    sl_store32(to, ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        sl_store32(to + 4 + (size_t)4 * i, (uint32_t)at);
        at += tokens ? put(to + at, "tokens", 6) : make_item(to + at);
    }
    sl_store32(to + HEAD - 4, (uint32_t)at);
    return at;
}

/* Returns the columns of a text, which has a config. */
static bool find_columns(sl_sized_columns *columns, const void *text, size_t size)
{
    sl_index_json index = {.path = "x"};
    index.tree.root = sl_json_parse((sl_bytes){text, size});
    const bool found = sl_litdata_columns(&index, columns, NULL) == SLUICE_OK;
    sl_index_json_close(&index);
    return found;
}

static void run_item(const uint8_t *data, size_t size)
{
    char text[4096] = "{";
    sl_sized_columns columns = {0};
    const size_t end = 1 + make_config(text + 1, sizeof(text) - 2, "PyTreeLoader");
    text[end] = '}';
    fuzz_expect(find_columns(&columns, text, end + 1), "the columns are found");
    fuzz_shards_sample(&columns, data, size);
}

static void run_leaves(const uint8_t *data, size_t size)
{
    static const uint8_t none[256];
    sl_sized_columns columns = {0};
    if (find_columns(&columns, data, size)) {
        fuzz_shards_sample(&columns, none, sizeof(none));
    } else {
        sl_sized_columns_close(&columns);
    }
}

static void run_files(const void *index, size_t index_size, const uint8_t *chunk, size_t size)
{
    fuzz_shards_write("index.json", index, index_size);
    fuzz_shards_write("a.bin", chunk, size);
    fuzz_shards_open();
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static char index[4096];
    static uint8_t chunk[4096];
    if (size == 0 || size > FUZZ_INPUT_MAX)
        return 0;
    const unsigned mode = data[0] % MODES;
    const char *loader = mode == TOKENS ? "TokensLoader" : "PyTreeLoader";
    data++;
    size--;
    if (mode == INDEX) {
        run_files(data, size, chunk, make_chunk(chunk, false));
    } else if (mode == CHUNK || mode == TOKENS) {
        run_files(index, make_index(index, sizeof(index), loader, data, size), data, size);
    } else if (mode == ITEM) {
        run_item(data, size);
    } else {
        run_leaves(data, size);
    }
    return 0;
}

static size_t make_leaves(uint8_t *buffer)
{
    buffer[1] = '{';
    const size_t end = 2 + make_config((char *)buffer + 2, 4096, "PyTreeLoader");
    buffer[end] = '}';
    return end + 1;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    uint8_t chunk[4096];
    char text[4096];
    buffer[0] = (uint8_t)index;
    switch (index) {
    case INDEX:
        return 1 +
               put(buffer + 1, text,
                   make_index(text, sizeof(text), "PyTreeLoader", chunk, make_chunk(chunk, false)));
    case CHUNK:
    case TOKENS:
        return 1 + make_chunk(buffer + 1, index == TOKENS);
    case ITEM:
        return 1 + make_item(buffer + 1);
    case LEAVES:
        return make_leaves(buffer);
    default:
        return 0;
    }
}
