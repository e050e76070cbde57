/* SPDX-License-Identifier: Apache-2.0 */
/* Streams made by hand from their specifications: RFC 1952 and 1951, RFC 7932, LZ4's two formats.
 */
#include "inflate.h"
#include "test.h"
#include "unpack_brotli.h"
#include "unpack_lz4.h"

#include <string.h>

typedef bool (*unpacker)(sl_bytes packed, uint8_t *to, size_t size);

static bool members(sl_bytes packed, uint8_t *to, size_t size)
{
    return sl_inflate_members(packed, to, size);
}

/* Expects the data to unpack to `text`, and fail if cut, extended, or given another size. */
static void check(unpacker unpack, sl_bytes packed, const char *text)
{
    uint8_t to[64];
    uint8_t longer[128] = {0};
    const size_t size = strlen(text);
    memcpy(longer, packed.data, packed.size);
    assert_true(unpack(packed, to, size));
    assert_memory_equal(to, text, size);
    for (size_t cut = 0; cut < packed.size; cut++)
        assert_false(unpack((sl_bytes){packed.data, cut}, to, size));
    assert_false(unpack((sl_bytes){longer, packed.size + 1}, to, size));
    for (size_t other = 0; other < size + 5; other++)
        assert_true(unpack(packed, to, other) == (other == size));
}

#define BYTES(text)                               \
    (sl_bytes)                                    \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

#define HELLO_GZIP "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0"

TEST(test_members)
{
    uint8_t to[16];
    check(members, BYTES(HELLO_GZIP), "hello");
    assert_true(members(BYTES(HELLO_GZIP HELLO_GZIP), to, 10));
    assert_memory_equal(to, "hellohello", 10);
    assert_false(members(BYTES(HELLO_GZIP HELLO_GZIP), to, 5));
    assert_false(members(BYTES(HELLO_GZIP "\x1f\x8b"), to, 5));
    assert_true(members(BYTES("\x78\x9c\x03\0\0\0\0\x01"), NULL, 0)); /* zlib's, of nothing */
}

TEST(test_brotli)
{
    if (!sl_brotli_is_there())
        skip();
    check(sl_brotli_unpack, BYTES("\x40\0\x10hello\x03"), "hello");
}

#define HELLO_FRAME  "\x04\x22\x4d\x18\x60\x40\x82\x05\0\0\x80hello\0\0\0\0"
#define HELLO_HADOOP "\0\0\0\x05\0\0\0\x06\x50hello"

TEST(test_lz4)
{
    uint8_t to[16];
    if (!sl_lz4_is_there())
        skip();
    check(sl_lz4_unpack_block, BYTES("\x50hello"), "hello");
    check(sl_lz4_unpack_block, BYTES("\x15\x61\x01\0\x50hello"), "aaaaaaaaaahello");
    check(sl_lz4_unpack_frame, BYTES(HELLO_FRAME), "hello");
    assert_true(sl_lz4_unpack_frame(BYTES(HELLO_FRAME HELLO_FRAME), to, 10));
    check(sl_lz4_unpack_any, BYTES(HELLO_HADOOP), "hello");
    assert_true(sl_lz4_unpack_any(BYTES(HELLO_HADOOP HELLO_HADOOP), to, 10));
    assert_true(
        sl_lz4_unpack_any(BYTES("\0\0\0\x0a\0\0\0\x06\x50hello\0\0\0\x06\x50hello"), to, 10));
    assert_memory_equal(to, "hellohello", 10);
    check(sl_lz4_unpack_any, BYTES(HELLO_FRAME), "hello");
    check(sl_lz4_unpack_any, BYTES("\x50hello"), "hello");
    assert_false(sl_lz4_unpack_any(BYTES("\0\0\0\x05\xff\xff\xff\xff\x50hello"), to, 5));
}
