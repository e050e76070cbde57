/* SPDX-License-Identifier: Apache-2.0 */
/* Error records, their text, and the names of things. */
#include "error.h"
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

TEST(set_records_and_returns)
{
    sluice_error error;
    memset(&error, 0x5a, sizeof(error));
    assert_int_equal(sl_error_set(&error, SLUICE_CORRUPT, "decode", "%d of %d", 3, 7),
                     SLUICE_CORRUPT);
    assert_int_equal(error.struct_size, sizeof(error));
    assert_int_equal(error.status, SLUICE_CORRUPT);
    assert_int_equal(error.sys_errno, 0);
    assert_int_equal(error.device_code, 0);
    assert_true(error.sample == -1 && error.offset == -1);
    assert_string_equal(error.stage, "decode");
    assert_string_equal(error.file, "");
    assert_string_equal(error.text, "3 of 7");
    assert_int_equal(sl_error_set(NULL, SLUICE_IO, "io", "nobody listens"), SLUICE_IO);
    assert_int_equal(sl_error_file(NULL, SLUICE_IO, "io", 1, "f", 2, "same"), SLUICE_IO);
}

TEST(shortages_say_what_for)
{
    sluice_error error;
    assert_int_equal(sl_no_memory(&error, "io", "for %u reads", 7), SLUICE_NOMEM);
    assert_int_equal(error.status, SLUICE_NOMEM);
    assert_string_equal(error.stage, "io");
    assert_string_equal(error.text, "out of memory for 7 reads");
    assert_int_equal(sl_no_memory_file(&error, "tar", "/a/b", "reading it"), SLUICE_NOMEM);
    assert_string_equal(error.file, "/a/b");
    assert_string_equal(error.text, "out of memory reading it");
    assert_true(error.offset == -1 && error.sys_errno == 0);
    assert_int_equal(sl_no_memory(NULL, "io", "unheard"), SLUICE_NOMEM);
}

TEST(text_is_never_empty)
{
    sluice_error error;
    sl_error_set(&error, SLUICE_INTERNAL, "api", "%s", "");
    assert_true(error.text[0] != '\0');
}

TEST(arguments_may_be_the_error_itself)
{
    sluice_error error;
    sl_error_file(&error, SLUICE_IO, "io", EIO, "/a/b", 10, "first");
    sl_error_file(&error, SLUICE_CORRUPT, error.stage, 0, error.file, 20, "then: %s", error.text);
    assert_string_equal(error.stage, "io");
    assert_string_equal(error.file, "/a/b");
    assert_string_equal(error.text, "then: first");
}

TEST(long_things_are_cut)
{
    char path[2000];
    memset(path, 'x', sizeof(path));
    memcpy(path + sizeof(path) - 10, "/end.jpeg", 10);
    sluice_error error;
    sl_error_file(&error, SLUICE_IO, "a stage of too many letters", 0, path, 0, "%s", path);
    assert_int_equal(strlen(error.file), sizeof(error.file) - 1);
    assert_string_equal(error.file + strlen(error.file) - 9, "/end.jpeg");
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    assert_int_equal(strlen(error.stage), sizeof(error.stage) - 1);
}

TEST(secrets_of_addresses_are_left_out)
{
    static const char *const cases[][2] = {
        {"https://h/a/b.tar?X-Amz-Signature=secret", "https://h/a/b.tar"},
        {"http://h:80/a#secret", "http://h:80/a"},
        {"https://me:secret@h/a?secret", "https://h/a"},
        {"https://me:se@cret@h/a", "https://h/a"},
        {"s3://key:secret@bucket/a@b", "s3://bucket/a@b"},
        {"ftp://me:secret@h/a@b", "ftp://h/a@b"},
        {"hf://datasets/o/n@main/a", "hf://datasets/o/n@main/a"},
        {"a:b@c/d://e", "a:b@c/d://e"},
        {"https://h/a@b", "https://h/a@b"},
        {"https://h?secret@x/y", "https://h"},
        {"s3://bucket/what?#@", "s3://bucket/what?#@"}, /* a key */
        {"/local/file?#@", "/local/file?#@"},
        {"https://", "https://"},
    };
    sluice_error error;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sl_error_file(&error, SLUICE_IO, "io", 0, cases[i][0], -1, "x");
        assert_string_equal(error.file, cases[i][1]);
    }
    char path[1500] = "https://me:secret@h/";
    memset(path + strlen(path), 'k', 1000);
    (void)snprintf(path + 1020, sizeof(path) - 1020, "/end?secret");
    sl_error_file(&error, SLUICE_IO, "io", 0, path, -1, "x");
    assert_int_equal(strlen(error.file), sizeof(error.file) - 1);
    assert_string_equal(error.file + strlen(error.file) - 5, "k/end");
    assert_null(strstr(error.file, "secret"));
}

TEST(paths_are_cut_between_characters)
{
    char path[601];
    for (size_t i = 0; i < 600; i += 3) {
        memcpy(path + i, "\xe2\x82\xac", 3); /* the euro sign */
    }
    path[600] = '\0';
    sluice_error error;
    sl_error_clear(&error);
    sl_error_set_path(&error, path);
    assert_int_equal(strlen(error.file) % 3, 0);
    assert_int_equal(strlen(error.file), 510);
    assert_memory_equal(error.file, "\xe2\x82\xac", 3);
}

TEST(copy_out_respects_the_size)
{
    sluice_error from;
    sl_error_file(&from, SLUICE_IO, "io", EIO, "/a", 5, "text");
    for (uint32_t size = 0; size <= sizeof(sluice_error) + 8; size += 4) {
        union {
            sluice_error error;
            unsigned char bytes[sizeof(sluice_error) + 16];
        } to;
        memset(&to, 0xee, sizeof(to));
        to.error.struct_size = size;
        sl_error_copy_out(&to.error, &from);
        assert_int_equal(to.error.struct_size, size);
        const size_t end = size < sizeof(from) ? (size < 4 ? 4 : size) : sizeof(from);
        assert_memory_equal(to.bytes + 4, (const char *)&from + 4, end - 4);
        for (size_t i = end; i < sizeof(to); i++) {
            assert_int_equal(to.bytes[i], 0xee);
        }
    }
    sl_error_copy_out(NULL, &from);
}

static void expect_format(const sluice_error *error, const char *expected)
{
    char text[2048];
    assert_int_equal(sluice_error_format(error, text, sizeof(text)), strlen(expected));
    assert_string_equal(text, expected);
}

TEST(format_tells_what_is_known)
{
    sluice_error error;
    sl_error_set(&error, SLUICE_INVALID, "api", "batch_size is 0");
    expect_format(&error, "api: batch_size is 0");
    error.sample = 17;
    expect_format(&error, "api: sample 17: batch_size is 0");
    sl_error_file(&error, SLUICE_IO, "io", ENOENT, "/d/a.jpg", -1, "cannot open");
    expect_format(&error, "io: /d/a.jpg: cannot open (No such file or directory)");
    sl_error_file(&error, SLUICE_IO, "io", EIO, "/d/a.jpg", 4096, "read failed");
    error.sample = 3;
    expect_format(&error, "io: /d/a.jpg, offset 4096, sample 3: read failed (Input/output error)");
    sl_error_file(&error, SLUICE_CORRUPT, "", 0, NULL, 12, "odd");
    expect_format(&error, "offset 12: odd");
}

TEST(format_never_writes_past_its_capacity)
{
    sluice_error error;
    sl_error_file(&error, SLUICE_IO, "io", EIO, "/d/a.jpg", 4096, "read failed");
    char whole[256];
    const size_t length = sluice_error_format(&error, whole, sizeof(whole));
    assert_int_equal(length, strlen(whole));
    assert_int_equal(sluice_error_format(&error, NULL, 0), length);
    for (size_t capacity = 1; capacity <= length + 2; capacity++) {
        char text[256];
        memset(text, '#', sizeof(text));
        assert_int_equal(sluice_error_format(&error, text, capacity), length);
        const size_t kept = capacity - 1 < length ? capacity - 1 : length;
        assert_int_equal(strlen(text), kept);
        assert_memory_equal(text, whole, kept);
        assert_int_equal(text[capacity], '#');
    }
}

/* Names come from data, and terminals execute control sequences. */
TEST(what_is_printed_is_safe)
{
    static const struct {
        const char *given, *safe;
    } texts[] = {
        {"plain ~ text", "plain ~ text"},
        {"\x1b[2J\a\n\t\x7f", "\\x1b[2J\\x07\\x0a\\x09\\x7f"},
        {"\xc2\x9b"
         "31m\xc2\x85",
         "\\xc2\\x9b31m\\xc2\\x85"},                        /* CSI and NEL as C1 controls */
        {"\xe2\x82\xac \xc2\xa0", "\xe2\x82\xac \xc2\xa0"}, /* euro, no-break space */
        {"\xf0\x9f\x90\x88", "\xf0\x9f\x90\x88"},
        {"\xe4 \xff\x80", "\\xe4 \\xff\\x80"},                 /* Latin-1, and invalid bytes */
        {"\xc0\x9b\xe0\x82\x9b", "\\xc0\\x9b\\xe0\\x82\\x9b"}, /* longer than need be */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                   /* a surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"}, /* cut */
        {"\\x1b", "\\x1b"},         /* safe already */
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        sluice_error error;
        char wanted[256];
        sl_error_file(&error, SLUICE_IO, "io", 0, texts[i].given, -1, "class \"%s\"",
                      texts[i].given);
        assert_string_equal(error.file, texts[i].given); /* the file's unescaped name */
        (void)snprintf(wanted, sizeof(wanted), "class \"%s\"", texts[i].safe);
        assert_string_equal(error.text, wanted);
        (void)snprintf(wanted, sizeof(wanted), "io: %s: class \"%s\"", texts[i].safe,
                       texts[i].safe);
        expect_format(&error, wanted);
    }
    /* A caller's own struct may contain anything. */
    sluice_error error = SLUICE_ERROR_INIT;
    memset(error.stage, '\x1b', sizeof(error.stage));
    memset(error.text, '\x1b', sizeof(error.text));
    char text[4096];
    assert_int_equal(sluice_error_format(&error, text, sizeof(text)),
                     4 * (sizeof(error.stage) + sizeof(error.text)) + 2);
    assert_null(strchr(text, '\x1b'));
}

/* Characters and escapes are either complete or omitted. */
TEST(what_is_cut_is_safe)
{
    char name[600];
    sluice_error error;
    memset(name, '\x1b', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t before = 0; before < 8; before++) {
        sl_error_set(&error, SLUICE_IO, "io", "%.*s%s", (int)before, "12345678", name);
        assert_int_equal((strlen(error.text) - before) % 4, 0);
        assert_true(strlen(error.text) > sizeof(error.text) - 5);
    }
    for (size_t i = 0; i + 3 < sizeof(name); i += 3) {
        memcpy(name + i, "\xe2\x82\xac", 3);
        name[i + 3] = '\0';
    }
    for (size_t before = 0; before < 8; before++) {
        sl_error_set(&error, SLUICE_IO, "io", "%.*s%s", (int)before, "12345678", name);
        assert_null(strchr(error.text, '\\'));
        assert_true(strlen(error.text) > sizeof(error.text) - 5);
    }
    sl_error_file(&error, SLUICE_IO, "", 0, "a\x1b\xe2\x82\xac", -1, "b");
    char whole[32];
    const size_t length = sluice_error_format(&error, whole, sizeof(whole));
    assert_string_equal(whole, "a\\x1b\xe2\x82\xac: b");
    for (size_t capacity = 1; capacity <= length; capacity++) {
        char text[32];
        assert_int_equal(sluice_error_format(&error, text, capacity), length);
        assert_true(strlen(text) < capacity && strncmp(text, whole, strlen(text)) == 0);
        const size_t kept = strlen(text);
        assert_true(kept <= 1 || kept == 5 || kept >= 8);
    }
}

/* Values are part of the ABI and of files, so they are written out here. Codes are DLPack's. */
TEST(dtypes)
{
    static const struct {
        const char *name;
        uint8_t bytes, code;
    } known[] = {{"u8", 1, 1},  {"f32", 4, 2}, {"f16", 2, 2}, {"bf16", 2, 4}, {"i64", 8, 0},
                 {"i32", 4, 0}, {"i16", 2, 0}, {"i8", 1, 0},  {"u16", 2, 1},  {"u32", 4, 1},
                 {"u64", 8, 1}, {"f64", 8, 2}, {"bool", 1, 6}};
    const int count = sizeof(known) / sizeof(known[0]);
    assert_int_equal(SLUICE_BOOL, count - 1);
    for (int i = -1; i <= count; i++) {
        const sluice_dtype dtype = (sluice_dtype)i;
        const bool is_one = i >= 0 && i < count;
        uint8_t code = 99;
        uint8_t bits = 99;
        assert_string_equal(sluice_dtype_name(dtype), is_one ? known[i].name : "unknown");
        assert_int_equal(sluice_dtype_bytes(dtype), is_one ? known[i].bytes : 0);
        assert_int_equal(sluice_dtype_dlpack(dtype, &code, &bits),
                         is_one ? SLUICE_OK : SLUICE_INVALID);
        assert_int_equal(code, is_one ? known[i].code : 99);
        assert_int_equal(bits, is_one ? 8 * known[i].bytes : 99);
    }
    uint8_t number;
    assert_int_equal(sluice_dtype_dlpack(SLUICE_U8, NULL, &number), SLUICE_INVALID);
    assert_int_equal(sluice_dtype_dlpack(SLUICE_U8, &number, NULL), SLUICE_INVALID);
}

TEST(names_and_version)
{
    static const struct {
        sluice_status status;
        const char *name;
    } names[] = {
        {SLUICE_OK, "ok"},
        {SLUICE_END, "end"},
        {SLUICE_AGAIN, "again"},
        {SLUICE_INVALID, "invalid"},
        {SLUICE_STATE, "state"},
        {SLUICE_NOMEM, "nomem"},
        {SLUICE_IO, "io"},
        {SLUICE_CORRUPT, "corrupt"},
        {SLUICE_UNSUPPORTED, "unsupported"},
        {SLUICE_DEVICE, "device"},
        {SLUICE_CANCELED, "canceled"},
        {SLUICE_INTERNAL, "internal"},
        {(sluice_status)-99, "unknown"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_string_equal(sluice_status_name(names[i].status), names[i].name);
    }
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR,
             SLUICE_VERSION_PATCH);
    assert_string_equal(sluice_version(), version);
}

/* ---- options that a sentence names ---- */

static const char *shout(void *user, const char *option)
{
    const char *const *own = user;
    return strcmp(option, "max_bytes") == 0  ? own[0]
           : strcmp(option, "the rest") == 0 ? own[1]
                                             : NULL;
}

TEST(a_sentence_calls_options_as_c_does)
{
    sluice_error error;
    sl_error_set(&error, SLUICE_INVALID, "api",
                 "more than %d (" SL_OPTION("max_bytes") "), or \"%s\"", 3, "\033[0m");
    assert_string_equal(error.text, "more than 3 (max_bytes), or \"\\x1b[0m\"");
    assert_int_equal(error.option_count, 1);
    assert_int_equal(error.option_bytes[0], strlen("max_bytes"));
    assert_memory_equal(error.text + error.option_at[0], "max_bytes", error.option_bytes[0]);
    sl_error_set(&error, SLUICE_INVALID, "api", "%s", "none");
    assert_int_equal(error.option_count, 0);
}

TEST(others_call_them_as_they_like)
{
    const char *own[] = {"--max", NULL};
    sluice_error error;
    sl_error_set(
        &error, SLUICE_INVALID, "api",
        SL_OPTION("max_bytes") " and " SL_OPTION("the rest") " and " SL_OPTION("other") ".");
    assert_string_equal(error.text, "max_bytes and the rest and other.");
    sluice_error_respell(&error, shout, own);
    assert_string_equal(error.text, "--max and the rest and other.");
    sluice_error_respell(&error, shout, own); /* it no longer names an option */
    assert_string_equal(error.text, "--max and the rest and other.");
    own[1] = "everything else that there is";
    sl_error_set(&error, SLUICE_INVALID, "api", "%s", "a");
    sl_error_add(&error, 1, "b " SL_OPTION("the rest"));
    sl_error_add(&error, SIZE_MAX, " c " SL_OPTION("max_bytes"));
    sluice_error_respell(&error, shout, own);
    assert_string_equal(error.text, "ab everything else that there is c --max");
    sl_error_set(&error, SLUICE_INVALID, "api",
                 "long " SL_OPTION("max_bytes") " " SL_OPTION("the rest"));
    sl_error_add(&error, strlen("long max_bytes"), "!");
    assert_string_equal(error.text, "long max_bytes!");
    assert_int_equal(error.option_count, 1);
    sl_error_add(&error, strlen("long max"), "!");
    assert_string_equal(error.text, "long max!");
    assert_int_equal(error.option_count, 0);
    sluice_error_respell(NULL, shout, own);
    sluice_error_respell(&error, NULL, NULL);
}

TEST(sentences_with_options_are_cut_like_others)
{
    char filler[600];
    char big[600];
    const char *own[] = {big, NULL};
    sluice_error error;
    memset(filler, 'x', sizeof(filler));
    memset(big, 'B', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    for (size_t before = 480; before < 520; before++) {
        sl_error_set(&error, SLUICE_INVALID, "api", "%.*s" SL_OPTION("max_bytes") "y", (int)before,
                     filler);
        const size_t length = strlen(error.text);
        assert_true(length < sizeof(error.text));
        assert_null(memchr(error.text, 14, length));
        assert_null(memchr(error.text, 15, length));
        assert_int_equal(error.option_count,
                         before + strlen("max_bytes") < sizeof(error.text) ? 1 : 0);
        sluice_error_respell(&error, shout, own);
        assert_true(strlen(error.text) < sizeof(error.text));
        assert_memory_equal(error.text, filler, 480);
    }
    for (int many = 0; many < 20; many++) {
        sl_error_set(
            &error, SLUICE_INVALID, "api", "%.*s", many * 3,
            "\016a\017\016a\017\016a\017\016a\017"
            "\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017"
            "\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017\016a\017");
        assert_true(error.option_count <= SLUICE_ERROR_OPTIONS_MAX);
    }
}

/* A text that the library never writes comes from a caller or from data. */
TEST(what_makes_no_sense_stays)
{
    const char *own[] = {"--max", NULL};
    sluice_error error;
    sl_error_set(&error, SLUICE_IO, "io", "%s", "\016NAME\017 \016open \016\017");
    assert_string_equal(error.text, "\\x0eNAME\\x0f \\x0eopen \\x0e\\x0f");
    assert_int_equal(error.option_count, 0);
    sl_error_set(&error, SLUICE_INVALID, "api", SL_OPTION("max_bytes"));
    const sluice_error good = error;
    const struct {
        uint32_t count;
        uint16_t at, bytes;
    } wrong[] = {{5, 0, 9}, {UINT32_MAX, 0, 9}, {1, 600, 9}, {1, 5, 9}, {1, 0, 0}, {1, 0, 65535}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        error = good;
        error.option_count = wrong[i].count;
        error.option_at[0] = wrong[i].at;
        error.option_bytes[0] = wrong[i].bytes;
        sluice_error_respell(&error, shout, own);
        assert_string_equal(error.text, "max_bytes");
    }
    error = good;
    error.struct_size = offsetof(sluice_error, option_count); /* from an older header */
    sluice_error_respell(&error, shout, own);
    assert_string_equal(error.text, "max_bytes");
}
