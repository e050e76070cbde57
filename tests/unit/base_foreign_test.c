/* SPDX-License-Identifier: Apache-2.0 */
/* Files under a wrong name are recognised by their first bytes, and no other files are. */
#include "foreign.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define HEAD(text) (const uint8_t *)(text), sizeof(text) - 1

static void expect_kind(const uint8_t *head, size_t bytes, const char *words)
{
    const char *kind = sl_foreign_kind(head, bytes);
    if (words == NULL ? kind != NULL : kind == NULL || strstr(kind, words) == NULL) {
        fail_msg("\"%s\" is taken for %s, not for %s", (const char *)head,
                 kind != NULL ? kind : "nothing", words != NULL ? words : "nothing");
    }
}

TEST(texts_are_recognised)
{
    (void)state;
    expect_kind(HEAD("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
                "run `git lfs pull`");
    expect_kind(HEAD("version https://hawser.github.com/spec/v1\noid sha256:4d7a\n"), "Git LFS");
    expect_kind(HEAD("/annex/objects/SHA256E-s12--ab.jpg\n"), "git annex get");
    expect_kind(HEAD("<!DOCTYPE html><html>"), "an HTML page");
    expect_kind(HEAD("\r\n\t <HTML lang='en'>"), "an HTML page");
    expect_kind(HEAD("\xef\xbb\xbf<!doctype HTML>"), "an HTML page");
    expect_kind(HEAD("<?xml version=\"1.0\"?>\n<!-- made -->\n<svg xmlns='http://a'/>"), "SVG");
    expect_kind(HEAD("<svg width='8'/>"), "SVG");
    expect_kind(HEAD("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>"),
                "a server's error");
    expect_kind(HEAD("<?xml version=\"1.0\"?><annotation>"), NULL);
    expect_kind(HEAD("\xef\xbb\xbfpath,label\n"), "EF BB BF");
    expect_kind(HEAD("\xff\xfe{\0\"\0a\0"), "UTF-16");
    expect_kind(HEAD("\xfe\xff\0{\0\"\0a"), "UTF-16");
    expect_kind(HEAD("{\0\"\0a\0\"\0:\0"), "UTF-16");
    expect_kind(HEAD("\xff\xfe\0\0{\0\0\0\"\0\0\0"), "UTF-32");
    expect_kind(HEAD("path,label\na.jpg,3\n"), NULL);
    expect_kind(HEAD("{\"images\": []}"), NULL);
    expect_kind(HEAD("version 2 of this list\n"), NULL);
    expect_kind(HEAD("P6 is a format, BM another\n"), NULL);
    assert_string_equal(sl_foreign_or_known_kind(HEAD(" [1, 2]")), "JSON text");
}

TEST(binary_files_are_recognised)
{
    (void)state;
    expect_kind(HEAD("\0\5\x16\7\0\2\0\0Mac OS X        "), "AppleDouble");
    expect_kind(HEAD("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.txt"),
                "a ZIP archive");
    expect_kind(HEAD("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.npy"),
                "NAME.npz");
    expect_kind(HEAD("PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xa\0\0\0a/data.pkl"),
                "saved by PyTorch");
    expect_kind(HEAD("PK\3\4"), "a ZIP archive");
    expect_kind(HEAD("\x1f\x8b\x08\0"), "compressed by gzip");
    expect_kind(HEAD("\x80\4\x95\0"), "a Python pickle");
    expect_kind(HEAD("\x80\2}q\0"), "a Python pickle");
    expect_kind(HEAD("GIF89a\1\0\1\0"), "an image (GIF): convert it");
    expect_kind(HEAD("\0\0\0\x20"
                     "ftypheic\0\0\0\0"),
                "an image (HEIF): convert it");
    expect_kind(HEAD("BM\x36\0\0\0\0\0\0\0"), "an image (BMP)");
    expect_kind(HEAD("\xff\xd8\xff\xe0"), NULL);
    expect_kind(HEAD("\x89PNG\r\n\x1a\n"), NULL);
    const uint8_t zeros[64] = {0};
    expect_kind(zeros, sizeof(zeros), "all zero bytes");
    expect_kind(zeros, 4, NULL);
    expect_kind(zeros, 0, NULL);
}

/* Record files begin with the first record's length, which may be any number. */
TEST(lengths_are_not_evidence)
{
    (void)state;
    for (uint32_t length = 0; length < 1U << 16; length++) {
        const uint8_t head[16] = {(uint8_t)length, (uint8_t)(length >> 8), [8] = 0x5a, [9] = 0xa5};
        const char *kind = sl_foreign_kind(head, sizeof(head));
        if (kind != NULL) {
            fail_msg("a length of %u is taken for %s", length, kind);
        }
    }
}

static sluice_status explain(const char *path, int64_t offset, const uint8_t *head, size_t bytes,
                             sluice_error *error)
{
    sl_error_clear(error);
    (void)sl_error_file(error, SLUICE_CORRUPT, "dataset", 0, path, offset, "damaged");
    return sl_foreign_explain(SLUICE_CORRUPT, path, head, bytes, error);
}

/* A message is kept where the reader may know better. */
TEST(complaints_are_replaced)
{
    (void)state;
    sluice_error error;
    assert_int_equal(explain("a/x.tar", 0, HEAD("version https://git-lfs"), &error),
                     SLUICE_CORRUPT);
    assert_non_null(strstr(error.text, "the file is a Git LFS pointer"));
    assert_string_equal(error.file, "a/x.tar");
    (void)explain("a/x.tar", 0, HEAD("PK\3\4"), &error);
    assert_non_null(strstr(error.text, "a ZIP archive"));
    (void)explain("a/x.npz", 0, HEAD("PK\3\4"), &error);
    assert_string_equal(error.text, "damaged");
    (void)explain("a.gz/x", 0, HEAD("\x1f\x8b\x08"), &error);
    assert_non_null(strstr(error.text, "compressed by gzip"));
    (void)explain("a/x.tar.gz", 0, HEAD("\x1f\x8b\x08"), &error);
    assert_string_equal(error.text, "damaged");
    (void)explain("a.csv", 900, HEAD("\xef\xbb\xbfpath,label\n"), &error);
    assert_string_equal(error.text, "damaged");
    (void)explain("a.csv", 0, HEAD("\xef\xbb\xbfpath,label\n"), &error);
    assert_non_null(strstr(error.text, "byte order mark"));
    (void)explain("a.parquet", 0, HEAD("PAR1\x15\4"), &error);
    assert_string_equal(error.text, "damaged");
    sl_error_clear(&error);
    (void)sl_error_file(&error, SLUICE_IO, "io", 5, "a", 0, "cannot read");
    assert_int_equal(sl_foreign_explain(SLUICE_IO, "a", HEAD("version https://git-lfs"), &error),
                     SLUICE_IO);
    assert_string_equal(error.text, "cannot read");
}

/* Any header is recognised or not, at any size; reads stay inside it. */
TEST(any_bytes_are_fine)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < TEST_AMOUNT(200000, 20000); i++) {
        static const char *const begins[] = {"",         "PK\3\4",  "<?xml ", "\xef\xbb\xbf",
                                             "\xff\xfe", "version "};
        uint8_t head[48];
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const size_t bytes = (seed >> 33) % sizeof(head);
        const char *begin = begins[(seed >> 40) % (sizeof(begins) / sizeof(begins[0]))];
        for (size_t k = 0; k < bytes; k++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            head[k] = k < strlen(begin) ? (uint8_t)begin[k] : (uint8_t)(seed >> 56);
        }
        uint8_t *own = malloc(bytes > 0 ? bytes : 1);
        assert_non_null(own);
        memcpy(own, head, bytes);
        const char *kind = sl_foreign_or_known_kind(own, bytes);
        assert_true(kind == NULL || strlen(kind) > 0);
        free(own);
    }
}
