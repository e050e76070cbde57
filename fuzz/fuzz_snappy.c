/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_snappy: any bytes unpack to their stated size or fail; nothing else is written. Unpacking
 * piece by piece gives the same. */
#include "fuzz.h"

#include "snappy.h"
#include "snappy_stream.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_HERE = 4096, GUARD = 0x5a };

/* The block's stated size, if it has a small one. */
static size_t size_of(const uint8_t *data, size_t size)
{
    size_t told = size > 0 ? data[0] & 0x7fU : 0;
    if (size > 1 && data[0] >= 0x80) {
        told |= (size_t)(data[1] & 0x1fU) << 7;
    }
    return told;
}

/* Unpacks in pieces of up to 7 bytes. Returns SIZE_MAX on failure. */
static size_t run_pieces(const uint8_t *data, size_t size, uint8_t to[SIZE_MAX_HERE])
{
    sl_snappy_stream *stream = sl_snappy_stream_open();
    fuzz_expect(stream != NULL, "memory");
    sl_unpack_step step = {{NULL, 0}, NULL, 0};
    step.to = to;
    size_t given = 0;
    size_t came = 0;
    bool good = true;
    for (size_t idle = 0; good && idle < 2;) {
        const size_t piece = 1 + came % 7;
        step.in = (sl_bytes){data + given, size - given < piece ? size - given : piece};
        step.capacity = SIZE_MAX_HERE - came < piece ? SIZE_MAX_HERE - came : piece;
        const sl_unpack_step before = step;
        good = sl_snappy_stream_run(stream, &step).text == NULL;
        fuzz_expect(step.capacity <= before.capacity && step.in.size <= before.in.size,
                    "it moves on");
        given += before.in.size - step.in.size;
        came += before.capacity - step.capacity;
        idle = step.capacity == before.capacity && step.in.size == before.in.size ? idle + 1 : 0;
    }
    good = good && given == size && sl_snappy_stream_ended(stream);
    sl_snappy_stream_close(stream);
    return good ? came : SIZE_MAX;
}

int fuzz_run(const uint8_t *data, size_t size)
{
    uint8_t twice[2][SIZE_MAX_HERE + 1];
    const size_t told = size_of(data, size);
    bool good[2];
    for (int i = 0; i < 2; i++) {
        memset(twice[i], i == 0 ? 0 : 0xff, told);
        twice[i][told] = GUARD;
        good[i] = sl_snappy_unpack((sl_bytes){data, size}, twice[i], told);
        fuzz_expect(twice[i][told] == GUARD, "nothing is written behind the end");
    }
    fuzz_expect(good[0] == good[1], "the result does not depend on old contents");
    fuzz_expect(!good[0] || memcmp(twice[0], twice[1], told) == 0, "every byte is written");
    uint8_t pieces[SIZE_MAX_HERE];
    const size_t came = run_pieces(data, size, pieces);
    fuzz_expect(!good[0] || (came == told && memcmp(pieces, twice[0], told) == 0),
                "in pieces it is the same");
    fuzz_expect(came != told || good[0], "input refused as a whole is refused in pieces");
    return 0;
}

/* The second block is from google/snappy's library. */
size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char repeats[] = "\x64\x08"
                                  "abc\xfe\x03\x00\x82\x03\x00";
    static const char text[] =
        "\xca\x01\x78\x74\x68\x65\x20\x71\x75\x69\x63\x6b\x20\x62\x72\x6f\x77\x6e\x20\x66\x6f\x78"
        "\x20\x6a\x75\x6d\x70\x73\x20\x6f\x76\x65\x72\x20\x01\x1f\x20\x6c\x61\x7a\x79\x20\x64\x6f"
        "\x67\x3b\x05\x0e\x3e\x2d\x00\x18\x73\x6c\x65\x65\x70\x73\x2c\x05\x1c\x11\x2a\x2e\x42\x00"
        "\x08\x69\x74\x2e\x05\x1c\x3e\x38\x00\xfe\x65\x00\x42\x65\x00";
    static const char far[] = "\x09\x0c"
                              "abcd\x03\x02\x00\x00\x00\x01\x03";
    static const struct {
        const char *block;
        size_t bytes;
    } seeds[] = {{repeats, sizeof(repeats) - 1}, {text, sizeof(text) - 1}, {far, sizeof(far) - 1}};
    if (index >= sizeof(seeds) / sizeof(seeds[0])) {
        return 0;
    }
    memcpy(buffer, seeds[index].block, seeds[index].bytes);
    return seeds[index].bytes;
}
