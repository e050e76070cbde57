/* SPDX-License-Identifier: Apache-2.0 */
/* Tests pages of listings: S3's XML, the hub's JSON, entries by name, and the cuts of key
 * ranges. */
#include "entries.h"
#include "json_answer.h"
#include "key_ranges.h"
#include "list_xml.h"
#include "memory.h"
#include "philox.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD \
    "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
#define TAIL "</ListBucketResult>"
#define END  "<IsTruncated>false</IsTruncated>"

static sl_bytes text_bytes(const char *text)
{
    return (sl_bytes){(const uint8_t *)text, strlen(text)};
}

static sluice_status read_xml(const char *text, const char *prefix, sl_entries *entries,
                              sl_page_end *end, sluice_error *error)
{
    *entries = (sl_entries){.count = 0};
    return sl_list_xml_read(text_bytes(text), prefix, entries, end, error);
}

static const sl_named_entry *find_entry(const sl_entries *entries, const char *name)
{
    return sl_entries_find(entries, text_bytes(name));
}

TEST(a_page_of_s3_is_read)
{
    static const char page[] = HEAD
        "<Name>b</Name><Prefix>data/</Prefix><MaxKeys>1000</MaxKeys><EncodingType>url</"
        "EncodingType>"
        "<IsTruncated>true</IsTruncated><NextContinuationToken>1/a+b&amp;=</NextContinuationToken>"
        "<Contents><Key>data/</Key><Size>0</Size></Contents>"
        "<Contents><Key>data/a+b%2Bc%3D%C3%BC.tar</Key><LastModified>2026-11-29T07:34:32.123Z"
        "</LastModified><ETag>&quot;abc&quot;</ETag><Size>123456789012</Size>"
        "<Owner><ID>x</ID><DisplayName>y</DisplayName></Owner></Contents>"
        "<Contents><Key>data/z</Key><ETag>plain</ETag><Size>7</Size></Contents>"
        "<CommonPrefixes><Prefix>data/sub/</Prefix></CommonPrefixes>" TAIL;
    sl_entries entries;
    sl_page_end end;
    sluice_error error;
    assert_int_equal(read_xml(page, "data/", &entries, &end, &error), SLUICE_OK);
    sl_entries_sort(&entries);
    assert_true(end.more);
    assert_string_equal(end.token, "1/a+b&=");
    assert_int_equal(entries.count, 3);
    const sl_named_entry *tar = find_entry(&entries, "a b+c=\xc3\xbc.tar");
    assert_non_null(tar);
    assert_int_equal(tar->kind, SL_ENTRY_FILE);
    assert_int_equal(tar->bytes, 123456789012);
    assert_int_equal(tar->modified_s, 1795937672);
    assert_string_equal(sl_entries_etag(&entries, tar), "\"abc\"");
    assert_string_equal(sl_entries_etag(&entries, find_entry(&entries, "z")), "\"plain\"");
    assert_int_equal(find_entry(&entries, "sub")->kind, SL_ENTRY_FOLDER);
    assert_null(find_entry(&entries, "su"));
    assert_null(find_entry(&entries, "sub2"));
    assert_false(entries.has_dots);
    sl_free(end.token);
    sl_entries_close(&entries);
}

TEST(a_folder_is_found_by_its_marker_alone)
{
    sl_entries entries;
    sl_page_end end;
    sluice_error error;
    assert_int_equal(read_xml(HEAD END TAIL, "a/", &entries, &end, &error), SLUICE_OK);
    assert_false(entries.found);
    sl_entries_close(&entries);
    assert_int_equal(
        read_xml(HEAD END "<Contents><Key>a/</Key></Contents>" TAIL, "a/", &entries, &end, &error),
        SLUICE_OK);
    assert_true(entries.found);
    assert_int_equal(entries.count, 0);
    sl_entries_close(&entries);
}

TEST(names_that_no_path_can_name_are_marked)
{
    static const char *const keys[] = {"a//", "a/./", "a/../"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char page[512];
        sl_entries entries;
        sl_page_end end;
        sluice_error error;
        (void)snprintf(page, sizeof(page),
                       HEAD END "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" TAIL,
                       keys[i]);
        assert_int_equal(read_xml(page, "a/", &entries, &end, &error), SLUICE_OK);
        assert_true(entries.has_dots);
        sl_entries_close(&entries);
    }
}

TEST(bad_pages_of_s3_are_refused)
{
    static const char *const bad[] = {
        "",
        "garbage",
        "<html></html>",
        HEAD,
        HEAD TAIL,
        HEAD "<IsTruncated>true</IsTruncated>" TAIL,
        HEAD END "<Contents><Size>1</Size></Contents>" TAIL,
        HEAD END "<Contents><Key>b/x</Key></Contents>" TAIL,
        HEAD END "<Contents><Key>a/x/y</Key></Contents>" TAIL,
        HEAD END "<Contents><Key>a/x</Key><Size>-1</Size></Contents>" TAIL,
        HEAD END "<Contents><Key>a/x</Key><Size>1 MB</Size></Contents>" TAIL,
        HEAD END "<Contents><Key>a/x</Key><Size></Size></Contents>" TAIL,
        "<!DOCTYPE l [<!ENTITY x \"y\">]><ListBucketResult>" END TAIL,
        HEAD END "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a>"
                 "</a></a></a></a></a></a></a></a></a></a></a></a>" TAIL,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sl_entries entries;
        sl_page_end end;
        sluice_error error;
        if (read_xml(bad[i], "a/", &entries, &end, &error) != SLUICE_CORRUPT) {
            fail_msg("page %zu is taken", i);
        }
        assert_null(end.token);
        sl_entries_close(&entries);
    }
}

TEST(a_code_is_found_in_an_error_that_is_cut)
{
    char code[16];
    const sl_bytes whole = text_bytes("<Error><Code>SlowDown</Code><Region>eu-west-1</Region>");
    sl_list_xml_find(whole, "Code", code, sizeof(code));
    assert_string_equal(code, "SlowDown");
    sl_list_xml_find(whole, "Region", code, sizeof(code));
    assert_string_equal(code, "eu-west-1");
    sl_list_xml_find((sl_bytes){whole.data, 17}, "Code", code, sizeof(code));
    assert_string_equal(code, "Slow");
    sl_list_xml_find((sl_bytes){whole.data, 0}, "Code", code, sizeof(code));
    assert_string_equal(code, "");
    sl_list_xml_find(text_bytes("<Code>a\nb\"c%sdefghijklmnopqrstuvwxyz</Code>"), "Code", code,
                     sizeof(code));
    assert_string_equal(code, "abcsdefghijklmn");
}

TEST(a_page_of_the_hub_is_read)
{
    static const char page[] =
        "[{\"type\":\"directory\",\"oid\":\"1\",\"size\":0,\"path\":\"data/sub\"},"
        "{\"type\":\"file\",\"oid\":\"git\",\"size\":12,\"path\":\"data/README.md\"},"
        "{\"type\":\"file\",\"oid\":\"git2\",\"size\":5000000000,\"path\":\"data/0.parquet\","
        "\"lfs\":{\"oid\":\"sha\",\"size\":5000000000,\"pointerSize\":134}}]";
    sl_entries entries = {.count = 0};
    sluice_error error;
    assert_int_equal(sl_json_answer_read(text_bytes(page), "data/", &entries, &error), SLUICE_OK);
    sl_entries_sort(&entries);
    assert_int_equal(entries.count, 3);
    assert_int_equal(find_entry(&entries, "sub")->kind, SL_ENTRY_FOLDER);
    assert_string_equal(sl_entries_etag(&entries, find_entry(&entries, "README.md")), "\"git\"");
    const sl_named_entry *file = find_entry(&entries, "0.parquet");
    assert_int_equal(file->bytes, 5000000000);
    assert_string_equal(sl_entries_etag(&entries, file), "\"sha\"");
    sl_entries_close(&entries);
}

TEST(bad_pages_of_the_hub_are_refused)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[1]",
        "[{\"type\":\"file\",\"size\":1}]",
        "[{\"type\":\"file\",\"size\":-1,\"path\":\"a/x\"}]",
        "[{\"type\":\"link\",\"size\":1,\"path\":\"a/x\"}]",
        "[{\"type\":\"file\",\"size\":1,\"path\":\"b/x\"}]",
        "[{\"type\":\"file\",\"size\":1,\"path\":\"a/\"}]",
        "[{\"type\":\"file\",\"size\":1,\"path\":\"a/x/y\"}]",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sl_entries entries = {.count = 0};
        sluice_error error;
        if (sl_json_answer_read(text_bytes(bad[i]), "a/", &entries, &error) != SLUICE_CORRUPT) {
            fail_msg("page %zu is taken", i);
        }
        sl_entries_close(&entries);
    }
}

TEST(entries_are_sorted_and_doubles_dropped)
{
    static const char *const names[] = {"b", "a", "c", "a", "", "ab", "b"};
    sl_entries entries = {.count = 0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const sl_entry_facts facts = {.name = text_bytes(names[i]),
                                      .kind = i == 6 ? SL_ENTRY_FOLDER : SL_ENTRY_FILE,
                                      .bytes = i,
                                      .etag = ""};
        assert_true(sl_entries_add(&entries, &facts));
    }
    sl_entries_sort(&entries);
    assert_int_equal(entries.count, 6);
    assert_true(entries.has_dots);
    assert_int_equal(find_entry(&entries, "b")->kind, SL_ENTRY_FILE);
    assert_string_equal(sl_entries_name(&entries, find_entry(&entries, "ab")), "ab");
    sl_entries_close(&entries);
}

/* Any cut lies between its ends, contains no slash and stays ASCII. */
TEST(cuts_are_between_their_ends)
{
    enum { KEYS = 400 };
    static const char letters[] = "0123456789abcXYZ_-.";
    char keys[KEYS][16];
    sl_key_alphabet alphabet = {.count = 0};
    sl_random random = sl_random_for(7, 0, 0, 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        const size_t bytes = 1 + sl_random_below(&random, 9);
        for (size_t j = 0; j < bytes; j++) {
            keys[i][j] = letters[sl_random_below(&random, sizeof(letters) - 1)];
        }
        keys[i][bytes] = '\0';
        sl_key_alphabet_add(&alphabet, keys[i]);
    }
    sl_key_alphabet_rank(&alphabet);
    uint32_t cut = 0;
    for (uint32_t i = 0; i + 1 < KEYS; i++) {
        char middle[32];
        const bool turned = strcmp(keys[i], keys[i + 1]) > 0;
        const char *low = keys[turned ? i + 1 : i];
        const char *high = keys[turned ? i : i + 1];
        if (strcmp(low, high) < 0 && sl_key_middle(&alphabet, low, high, middle, sizeof(middle))) {
            cut++;
            assert_true(strcmp(low, middle) < 0);
            assert_true(strcmp(middle, high) < 0);
            assert_null(strchr(middle, '/'));
        }
    }
    assert_true(cut > KEYS / 2);
}

TEST(numbers_are_cut_in_halves)
{
    sl_key_alphabet alphabet = {.count = 0};
    char cut[32];
    sl_key_alphabet_add(&alphabet, "0123456789");
    sl_key_alphabet_rank(&alphabet);
    assert_true(sl_key_middle(&alphabet, "0000999", "9", cut, sizeof(cut)));
    assert_string_equal(cut, "4");
    assert_true(sl_key_middle(&alphabet, "0479", "1", cut, sizeof(cut)));
    assert_string_equal(cut, "07");
    assert_true(sl_key_beyond(&alphabet, "0000000", "0000999", 0, cut, sizeof(cut)));
    assert_string_equal(cut, "0001");
    assert_true(sl_key_beyond(&alphabet, "0000000", "0000999", 3, cut, sizeof(cut)));
    assert_string_equal(cut, "1");
    assert_false(sl_key_beyond(&alphabet, "0000000", "0000999", 4, cut, sizeof(cut)));
}
