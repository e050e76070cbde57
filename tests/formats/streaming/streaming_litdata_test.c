/* SPDX-License-Identifier: Apache-2.0 */
/* Tests LitData with bytes written here according to its description: a chunk of items and one of
 * tokens with their index.json, and the same damaged at every byte. python/tests/test_litdata.py
 * tests other leaves against another writer. */
#include "little_endian.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a chunk before its items. */
#define HEAD_OF(items) ((size_t)4 * ((items) + 2))

enum { ITEMS = 3, ROOM = 4096 };

static void write_to(const char *name, const void *data, size_t size)
{
    write_file(test_path("%s", name), data, (uint32_t)size);
}

/* Leaves "label" (int) and "text" (str): item i has label i and i letters. */
static size_t make_chunk(uint8_t *to)
{
    size_t at = HEAD_OF(ITEMS);
    sl_store32(to, ITEMS);
    for (uint32_t i = 0; i < ITEMS; i++) {
        sl_store32(to + 4 + (size_t)4 * i, (uint32_t)at);
        sl_store32(to + at, 8);
        sl_store32(to + at + 4, i);
        sl_store64(to + at + 8, i);
        memset(to + at + 16, 'a', i);
        at += 16 + i;
    }
    sl_store32(to + HEAD_OF(ITEMS) - 4, (uint32_t)at);
    return at;
}

/* 10 tokens of 16 bits; text i has i + 2 of them, and one text has none. */
static size_t make_tokens(uint8_t *to)
{
    size_t at = HEAD_OF(ITEMS + 1);
    uint16_t token = 100;
    sl_store32(to, ITEMS + 1);
    for (uint32_t i = 0; i <= ITEMS; i++) {
        sl_store32(to + 4 + (size_t)4 * i, (uint32_t)at);
        for (uint32_t k = 0; i < ITEMS && k < i + 2 + (i == 2); k++) {
            sl_store16(to + at, token++);
            at += 2;
        }
    }
    sl_store32(to + HEAD_OF(ITEMS + 1) - 4, (uint32_t)at);
    return at;
}

/* As Python's json.dumps writes them: a text nested in a text nested in a text. */
static const char items_config[] =
    "{\"compression\": null, \"data_format\": [\"int\", \"str\"], \"data_spec\": "
    "\"[1, {\\\"type\\\": \\\"builtins.dict\\\", \\\"context\\\": "
    "\\\"[\\\\\\\"label\\\\\\\", \\\\\\\"text\\\\\\\"]\\\", \\\"children_spec\\\": ["
    "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}, "
    "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}]}]\", "
    "\"encryption\": null, \"item_loader\": \"PyTreeLoader\"}";
static const char tokens_config[] =
    "{\"compression\": null, \"data_format\": [\"no_header_numpy:5\"], \"data_spec\": "
    "\"[1, {\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}]\", "
    "\"encryption\": null, \"item_loader\": \"TokensLoader\"}";

static void write_index(const char *config, const char *name, size_t bytes, unsigned items)
{
    char text[ROOM];
    const int size = snprintf(text, sizeof(text),
                              "{\"chunks\": [{\"chunk_bytes\": %zu, \"chunk_size\": %u, \"dim\": "
                              "null, \"filename\": \"%s\"}], \"config\": %s}",
                              bytes, items, name, config);
    write_to("index.json", text, (size_t)size);
}

static sluice_dataset *open_root(sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_folder();
    (void)!sluice_dataset_open(&dataset, &path, 1, NULL, error);
    return dataset;
}

static sluice_status read_value(const sluice_dataset *dataset, uint64_t index, const char *field,
                                uint8_t value[64], size_t *size)
{
    return sluice_dataset_read(dataset, index, field, value, 64, size, NULL);
}

TEST_WITH(items_are_read, test_folder_make, test_folder_remove)
{
    uint8_t chunk[ROOM];
    uint8_t value[64];
    size_t size = 0;
    const size_t bytes = make_chunk(chunk);
    write_to("a.bin", chunk, bytes);
    for (int old = 0; old < 2; old++) { /* sizes without the table, as before 0.2.40 */
        write_index(items_config, "a.bin", bytes - (old != 0 ? HEAD_OF(ITEMS) : 0), ITEMS);
        sluice_dataset *dataset = open_root(NULL);
        assert_non_null(dataset);
        for (uint64_t i = 0; i < ITEMS; i++) {
            assert_int_equal(read_value(dataset, i, "label", value, &size), SLUICE_OK);
            assert_int_equal(size, 8);
            assert_int_equal(sl_load64(value), i);
            assert_int_equal(read_value(dataset, i, "text", value, &size), SLUICE_OK);
            assert_int_equal(size, i);
        }
        sluice_dataset_close(dataset);
    }
}

/* Every node of a data_spec must be an object with a list of children. */
TEST_WITH(trees_of_leaves, test_folder_make, test_folder_remove)
{
    static const struct {
        const char *leaf; /* the second leaf of a list */
        bool good;
    } trees[] = {
        {"{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}", true},
        {"{\\\"children_spec\\\": []}", true},
        {"{\\\"children_spec\\\": {}}", false},
        {"{\\\"children_spec\\\": null}", false},
        {"{}", false},
        {"[]", false},
        {"null", false},
        {"7", false},
    };
    uint8_t chunk[ROOM];
    const size_t bytes = make_chunk(chunk);
    write_to("a.bin", chunk, bytes);
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        char config[ROOM];
        sluice_error error = SLUICE_ERROR_INIT;
        (void)snprintf(
            config, sizeof(config),
            "{\"compression\": null, \"data_format\": [\"int\", \"str\"], \"data_spec\": "
            "\"[1, {\\\"type\\\": \\\"builtins.list\\\", \\\"context\\\": null, "
            "\\\"children_spec\\\": [{\\\"children_spec\\\": []}, %s]}]\", "
            "\"encryption\": null, \"item_loader\": \"PyTreeLoader\"}",
            trees[i].leaf);
        write_index(config, "a.bin", bytes, ITEMS);
        sluice_dataset *dataset = open_root(&error);
        if ((dataset != NULL) != trees[i].good) {
            fail_msg("leaf %s: %s", trees[i].leaf, error.text);
        }
        assert_true(trees[i].good || strstr(error.text, "data_spec") != NULL);
        sluice_dataset_close(dataset);
    }
}

TEST_WITH(tokens_are_one_sample_a_chunk, test_folder_make, test_folder_remove)
{
    uint8_t chunk[ROOM];
    uint8_t value[64];
    size_t size = 0;
    const size_t bytes = make_tokens(chunk);
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sluice_field field = SLUICE_FIELD_INIT;
    write_to("a.bin", chunk, bytes);
    write_index(tokens_config, "a.bin", bytes, ITEMS + 1);
    sluice_dataset *dataset = open_root(NULL);
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 1);
    assert_string_equal(info.format, "litdata");
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    assert_string_equal(field.name, "tokens");
    assert_int_equal(field.dtype, SLUICE_U16);
    assert_int_equal(read_value(dataset, 0, "tokens", value, &size), SLUICE_OK);
    assert_int_equal(size, 20);
    for (uint16_t i = 0; i < 10; i++) {
        assert_int_equal(sl_load16(value + (size_t)2 * i), 100 + i);
    }
    sluice_dataset_close(dataset);
}

/* Every byte of a chunk: an error with a reason, or samples that are inside the file. */
static void damage_every_byte(uint8_t *chunk, size_t bytes, uint64_t samples, const char *field)
{
    for (size_t at = 0; at < bytes; at++) {
        sluice_error error = SLUICE_ERROR_INIT;
        chunk[at] ^= 0x81;
        write_to("a.bin", chunk, bytes);
        chunk[at] ^= 0x81;
        sluice_dataset *dataset = open_root(&error);
        assert_true(dataset != NULL || (error.status == SLUICE_CORRUPT && error.text[0] != '\0'));
        for (uint64_t i = 0; dataset != NULL && i < samples; i++) {
            uint8_t value[64];
            size_t size = 0;
            const sluice_status status = read_value(dataset, i, field, value, &size);
            assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT);
        }
        sluice_dataset_close(dataset);
    }
}

TEST_WITH(every_byte_may_be_wrong, test_folder_make, test_folder_remove)
{
    uint8_t chunk[ROOM];
    size_t bytes = make_chunk(chunk);
    write_index(items_config, "a.bin", bytes, ITEMS);
    damage_every_byte(chunk, bytes, ITEMS, "text");
    bytes = make_tokens(chunk);
    write_index(tokens_config, "a.bin", bytes, ITEMS + 1);
    damage_every_byte(chunk, bytes, 1, "tokens");
}
