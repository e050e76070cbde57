/* SPDX-License-Identifier: Apache-2.0 */
/* The list of data without checksums, and the public struct that reports it. */
#include "photo_folder.h"
#include "test.h"
#include "unchecked.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

TEST(each_is_said_once)
{
    sl_unchecked all = {.text = ""};
    sl_unchecked other = {.text = ""};
    sl_unchecked_join(&all, &other);
    sl_unchecked_add(&all, "");
    assert_string_equal(all.text, "");
    sl_unchecked_add(&all, "tars");
    sl_unchecked_add(&all, "tars");
    assert_string_equal(all.text, "tars");
    sl_unchecked_add(&other, "arrays");
    sl_unchecked_add(&other, "tars");
    sl_unchecked_add(&other, "tar"); /* begins as another does */
    sl_unchecked_join(&all, &other);
    sl_unchecked_join(&all, &other);
    assert_string_equal(all.text, "tars; arrays; tar");
}

TEST(what_does_not_fit_is_told)
{
    char phrase[32];
    sl_unchecked all = {.text = ""};
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(phrase, sizeof(phrase), "phrase number %d", i);
        sl_unchecked_add(&all, phrase);
        assert_non_null(memchr(all.text, 0, sizeof(all.text)));
    }
    const size_t length = strlen(all.text);
    assert_true(length > sizeof(all.text) - 64);
    assert_string_equal(all.text + length - 5, "; ...");
    sl_unchecked joined = {.text = ""};
    sl_unchecked_add(&joined, "another");
    sl_unchecked_join(&joined, &all);
    assert_memory_equal(joined.text, "another; phrase number 0; ", 26);
    assert_non_null(strstr(joined.text, "; ..."));
    char large[2 * sizeof(all.text)];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    sl_unchecked one = {.text = ""};
    sl_unchecked_add(&one, large);
    assert_string_equal(one.text, "...");
}

/* A caller with an older struct gets the members it has; nothing is written past them. */
TEST(older_structs_are_kept_to)
{
    char folder[256];
    char path[300];
    const char *paths[] = {path};
    static const sluice_field field = {.struct_size = sizeof(field),
                                       .type = SLUICE_FIELD_TENSOR,
                                       .dtype = SLUICE_U8,
                                       .dims = 1,
                                       .shape = {4},
                                       .name = "x"};
    const sluice_dataset_options options = {.struct_size = sizeof(options), .flat = &field};
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    write_file(path, "twelve bytes", 12);
    sluice_dataset *dataset = NULL;
    assert_int_equal(sluice_dataset_open(&dataset, paths, 1, &options, NULL), SLUICE_OK);
    sluice_verify_result whole = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, NULL, &whole, NULL), SLUICE_OK);
    assert_string_equal(whole.unchecked, "files of arrays have no checksums");
    assert_int_equal(whole.samples, 3);
    for (uint32_t size = 4; size <= sizeof(whole); size += 4) {
        sluice_verify_result result;
        memset(&result, 0x77, sizeof(result));
        result.struct_size = size;
        assert_int_equal(sluice_dataset_verify(dataset, NULL, &result, NULL), SLUICE_OK);
        const uint8_t *bytes = (const uint8_t *)&result;
        assert_memory_equal(bytes + 4, (const uint8_t *)&whole + 4, size - 4);
        for (size_t i = size; i < sizeof(result); i++) {
            assert_int_equal(bytes[i], 0x77);
        }
    }
    sluice_dataset_close(dataset);
    remove_tree(folder);
}
