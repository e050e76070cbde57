/* SPDX-License-Identifier: Apache-2.0 */
/* Tests addresses of remote objects: parsing, errors, printing without secrets, escaping and
 * resolving. */
#include "error.h"
#include "philox.h"
#include "test.h"
#include "url.h"

#include <stdlib.h>
#include <string.h>

typedef struct parsed {
    const char *address;
    sl_scheme scheme;
    const char *bucket, *key, *query, *revision;
} parsed;

static const parsed good[] = {
    {"s3://photos/train/a.jpg", SL_SCHEME_S3, "photos", "train/a.jpg", "", ""},
    {"s3://photos", SL_SCHEME_S3, "photos", "", "", ""},
    {"s3://photos/", SL_SCHEME_S3, "photos", "", "", ""},
    {"s3://photos//a//b/../c?d#e%20 \xc3\xa4+=", SL_SCHEME_S3, "photos",
     "/a//b/../c?d#e%20 \xc3\xa4+=", "", ""},
    {"gs://my_bucket.x/k", SL_SCHEME_GS, "my_bucket.x", "k", "", ""},
    {"hf://datasets/me/set/a/b.parquet", SL_SCHEME_HF, "datasets/me/set", "a/b.parquet", "",
     "main"},
    {"hf://datasets/me/set", SL_SCHEME_HF, "datasets/me/set", "", "", "main"},
    {"hf://datasets/me/set@v1.0/b", SL_SCHEME_HF, "datasets/me/set", "b", "", "v1.0"},
    {"hf://datasets/me/set@refs/convert/parquet/x/y", SL_SCHEME_HF, "datasets/me/set", "x/y", "",
     "refs/convert/parquet"},
    {"hf://datasets/me/set@refs/pr/12", SL_SCHEME_HF, "datasets/me/set", "", "", "refs/pr/12"},
    {"hf://datasets/me/set@a%2Fb/c", SL_SCHEME_HF, "datasets/me/set", "c", "", "a/b"},
    {"hf://datasets/me/set/a@b", SL_SCHEME_HF, "datasets/me/set", "a@b", "", "main"},
    {"https://Example.ORG/a/b", SL_SCHEME_HTTPS, "example.org", "a/b", "", ""},
    {"HTTPS://example.org", SL_SCHEME_HTTPS, "example.org", "", "", ""},
    {"http://127.0.0.1:8080/a%20b?x=%2F&y", SL_SCHEME_HTTP, "127.0.0.1:8080", "a%20b", "x=%2F&y",
     ""},
    {"http://[::1]:80/a b/\xc3\xa4/50%/\"", SL_SCHEME_HTTP, "[::1]:80", "a%20b/%C3%A4/50%25/%22",
     "", ""},
    {"https://h?q=1", SL_SCHEME_HTTPS, "h", "", "q=1", ""},
    {"https://h/@user/./a/../b//c", SL_SCHEME_HTTPS, "h", "@user/./a/../b//c", "", ""},
};

TEST(parses_addresses)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        sl_url url;
        sluice_error error;
        sl_error_clear(&error);
        assert_true(sl_url_is(good[i].address));
        assert_int_equal(sl_url_parse(&url, good[i].address, &error), SLUICE_OK);
        assert_int_equal(url.scheme, good[i].scheme);
        assert_string_equal(url.bucket, good[i].bucket);
        assert_string_equal(url.key, good[i].key);
        assert_string_equal(url.query, good[i].query);
        assert_string_equal(url.revision, good[i].revision);
    }
    assert_false(sl_url_is("/data/s3://x"));
    assert_false(sl_url_is("s3:/x"));
    assert_false(sl_url_is("file:///etc/passwd"));
    assert_false(sl_url_is(""));
}

/* No error message repeats a user, a password or a query. */
TEST(refuses_addresses_without_their_secrets)
{
    static const char *const bad[] = {
        "https://",
        "https:///a?SECRET",
        "https://me:SECRET@host/a",
        "https://me:SEC/RET@host/a",
        "https://SECRET@host/a",
        "https://host:0/a?SECRET",
        "https://host:65536/a",
        "https://host:99999999999/a",
        "https://host:x/a",
        "https://host:/a",
        "https://ho st/a",
        "https://h\xc3\xb6st/a",
        "https://[::1/a",
        "https://[]/a",
        "https://[::1]x/a",
        "https://host/a?SECRET#b",
        "https://host/a#SECRET",
        "http://host\r\nX: SECRET@/",
        "s3://",
        "s3:///key",
        "s3://ACCESS:SECRET@bucket/key",
        "s3://../key",
        "s3://b:1/key",
        "gs:// /key",
        "hf://models/a/b/c",
        "hf://datasets",
        "hf://datasets/",
        "hf://datasets/a",
        "hf://datasets/a/",
        "hf://datasets/a@b/c",
        "hf://datasets/a/b@/c",
        "file:///etc/passwd",
        "plain/path",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        sl_url url;
        sluice_error error = SLUICE_ERROR_INIT;
        char text[2048];
        sl_error_clear(&error);
        assert_int_equal(sl_url_parse(&url, bad[i], &error), SLUICE_INVALID);
        sluice_error_format(&error, text, sizeof(text));
        assert_null(strstr(text, "SECRET"));
        assert_null(strstr(text, "RET@"));
        assert_true(error.text[0] != '\0');
    }
}

TEST(refuses_what_is_too_long)
{
    char address[3 * SL_URL_BYTES];
    static const char *const before[] = {
        "s3://b/", "https://h/", "https://h/?",     "hf://datasets/a/b/", "hf://datasets/a/b@",
        "s3://",   "https://",   "hf://datasets/a/"};
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        const size_t length = strlen(before[i]);
        memset(address, 'x', sizeof(address));
        memcpy(address, before[i], length);
        sluice_error error;
        sl_url url;
        address[length + SL_URL_BYTES] = '\0';
        sl_error_clear(&error);
        assert_int_equal(sl_url_parse(&url, address, &error), SLUICE_INVALID);
        if (i < 4) { /* the longest that fits */
            address[length + SL_URL_BYTES - 1] = '\0';
            assert_int_equal(sl_url_parse(&url, address, &error), SLUICE_OK);
        }
    }
}

TEST(prints_addresses_without_their_secrets)
{
    static const char *const printed[][2] = {
        {"https://host/a?X-Amz-Signature=1#f", "https://host/a"},
        {"https://host?q", "https://host"},
        {"https://me:pw@host:80/a?b", "https://host:80/a"},
        {"https://me:p@w@host/a@b", "https://host/a@b"},
        {"https://me:p/w@host/a", "https://..."},
        {"http://host/a%20b", "http://host/a%20b"},
        {"s3://bucket/a?b#c", "s3://bucket/a?b#c"},
        {"s3://KEY:SECRET@bucket/a", "s3://bucket/a"},
        {"hf://datasets/a/b@c/d", "hf://datasets/a/b@c/d"},
        {"plain/path?x", "plain/path?x"},
    };
    for (size_t i = 0; i < sizeof(printed) / sizeof(*printed); i++) {
        char text[64];
        sl_url_print(printed[i][0], text, sizeof(text));
        assert_string_equal(text, printed[i][1]);
    }
    char few[10];
    sl_url_print("https://host/a?b", few, sizeof(few));
    assert_string_equal(few, "https://h");
}

TEST(escapes_and_unescapes)
{
    char text[64];
    assert_true(sl_url_escape(text, sizeof(text), "a b/c+d=\xc3\xa4~-._%", true));
    assert_string_equal(text, "a%20b/c%2Bd%3D%C3%A4~-._%25");
    assert_true(sl_url_escape(text, sizeof(text), "a/b", false));
    assert_string_equal(text, "a%2Fb");
    assert_true(sl_url_escape(text, 2, "a", false));
    assert_false(sl_url_escape(text, 1, "a", false));
    assert_false(sl_url_escape(text, 3, " ", false));
    assert_true(sl_url_escape(text, 4, " ", false));
    char bad[] = "%zz%4%00%41%2f%";
    assert_int_equal(sl_url_unescape(bad), 11);
    assert_string_equal(bad, "%zz%4%00A/%");
}

TEST(unescaping_reverses_escaping)
{
    sl_random chance = sl_random_for(5, 0, 0, 0);
    for (int round = 0; round < TEST_AMOUNT(2000, 300); round++) {
        char raw[32] = "";
        char text[128];
        const uint64_t length = sl_random_below(&chance, sizeof(raw));
        for (uint64_t i = 0; i < length; i++) {
            raw[i] = (char)(1 + sl_random_below(&chance, 255));
        }
        assert_true(sl_url_escape(text, sizeof(text), raw, round % 2 == 0));
        assert_int_equal(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789-._~%/"),
                         strlen(text));
        assert_int_equal(sl_url_unescape(text), length);
        assert_string_equal(text, raw);
    }
}

typedef struct resolved {
    const char *base, *location, *result; /* NULL: invalid */
} resolved;

/* The examples of RFC 3986, 5.4, and redirects that must not be followed. */
static const resolved redirects[] = {
    {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
    {"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
    {"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
    {"http://a/b/c/d;p?q", "/g", "http://a/g"},
    {"http://a/b/c/d;p?q", "//g", "http://g"},
    {"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
    {"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"},
    {"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p"},
    {"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y"},
    {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p"},
    {"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
    {"http://a/b/c/d;p?q", "..", "http://a/b/"},
    {"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
    {"http://a/b/c/d;p?q", "../../g", "http://a/g"},
    {"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
    {"http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"},
    {"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"},
    {"http://a", "g", "http://a/g"},
    {"http://a?q", "g", "http://a/g"},
    {"http://a/x", "https://b:8/y?z", "https://b:8/y?z"},
    {"https://a/x", "https://b/a b\xc3\xa4", "https://b/a%20b%C3%A4"},
    {"https://a/x", "/k?X-Amz-Signature=a%2Fb", "https://a/k?X-Amz-Signature=a%2Fb"},
    {"http://a/x", "HTTP://[::1]:9/y", "HTTP://[::1]:9/y"},
    {"https://a/x", "http://b/y", NULL},
    {"http://a/x", "file:///etc/passwd", NULL},
    {"http://a/x", "ftp://b/y", NULL},
    {"http://a/x", "javascript:1", NULL},
    {"http://a/x", "http:/y", NULL},
    {"http://a/x", "http://", NULL},
    {"http://a/x", "http://u:p@b/y", NULL},
    {"http://a/x", "//b:x/y", NULL},
    {"ftp://a/x", "/y", NULL},
    {"http://a/x y/z", "w", NULL},
};

TEST(resolves_redirects)
{
    for (size_t i = 0; i < sizeof(redirects) / sizeof(*redirects); i++) {
        char text[64];
        const resolved *one = &redirects[i];
        const bool fits = sl_url_resolve(text, sizeof(text), one->base, one->location);
        assert_int_equal(fits, one->result != NULL);
        if (fits) {
            assert_string_equal(text, one->result);
        }
    }
    char text[16];
    assert_false(sl_url_resolve(text, sizeof(text), "http://a/x", "/1234567"));
    assert_true(sl_url_resolve(text, sizeof(text), "http://a/x", "/123456"));
    assert_false(sl_url_resolve(text, 3, "http://a/x", "y"));
}
