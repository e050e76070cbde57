/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_stream: any bytes as a compressed file, read in any order, compared with zlib and libzstd
 * run over the whole file. Input: one byte for the chunks, READS pairs of position and length, then
 * the file. */
#include "fuzz.h"

#include "file.h"
#include "stream.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum { READS = 8, HEAD_BYTES = 1 + 2 * READS };
/* Most output that is compared: of larger outputs, only the beginning is read. */
#define OUT_BYTES ((size_t)1536 << 10)

/* The unpacked contents of a file. */
typedef struct oracle {
    size_t bytes;
    bool good, is_zstd;
    bool large; /* more than fits */
    uint8_t out[OUT_BYTES];
} oracle;

static void run_gzip(oracle *o, sl_bytes packed)
{
    z_stream z = {.next_in = packed.data, .avail_in = (uInt)packed.size};
    z.next_out = o->out;
    z.avail_out = (uInt)OUT_BYTES;
    fuzz_expect(inflateInit2(&z, 16 + 15) == Z_OK, "zlib works");
    int result = Z_OK;
    do {
        result = inflate(&z, Z_NO_FLUSH);
        if (result == Z_STREAM_END && z.avail_in > 0 && z.next_in[0] == 0x1f) {
            result = inflateReset(&z);
        }
    } while (result == Z_OK && z.avail_out > 0);
    while (result == Z_STREAM_END && z.avail_in > 0 && z.next_in[0] == 0) {
        z.next_in++;
        z.avail_in--;
    }
    o->bytes = OUT_BYTES - z.avail_out;
    o->large = z.avail_out == 0;
    o->good = result == Z_STREAM_END && z.avail_in == 0;
    (void)inflateEnd(&z);
}

/* Unpacks piece by piece, like the stream: for damaged frames, libzstd's output depends on the
 * output space, and it accepts some frames that it rejects with more space. */
static void run_zstd(oracle *o, sl_bytes packed)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    fuzz_expect(context != NULL, "memory");
    (void)ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, SL_UNPACK_WINDOW_LOG);
    ZSTD_inBuffer in = {packed.data, packed.size, 0};
    size_t result = 1;
    size_t taken = 0;
    size_t came = 0;
    o->bytes = 0;
    do {
        const size_t left = OUT_BYTES - o->bytes;
        const size_t most = SL_STREAM_CHUNK_BYTES - o->bytes % SL_STREAM_CHUNK_BYTES;
        ZSTD_outBuffer out = {o->out + o->bytes, left < most ? left : most, 0};
        taken = in.pos;
        result = ZSTD_decompressStream(context, &out, &in);
        /* After an error, libzstd may count bytes that were never written (frames of zstd 0.5). */
        came = ZSTD_isError(result) ? 0 : out.pos;
        o->bytes += came;
    } while (!ZSTD_isError(result) && (in.pos > taken || came > 0) &&
             (in.pos < in.size || result != 0) && o->bytes < OUT_BYTES);
    o->large = o->bytes == OUT_BYTES;
    o->good = result == 0 && in.pos == in.size;
    (void)ZSTD_freeDCtx(context);
}

static void check_read(sl_stream *stream, const oracle *o, uint64_t offset, size_t bytes)
{
    size_t got = SIZE_MAX;
    sluice_error error = SLUICE_ERROR_INIT;
    uint8_t *to = malloc(bytes + 1); /* of exactly that size, for the sanitizer */
    fuzz_expect(to != NULL, "memory");
    const sluice_status status = sl_stream_read_some(stream, offset, to, bytes, &got, &error);
    const size_t there = offset < o->bytes ? o->bytes - (size_t)offset : 0;
    const size_t most = bytes < there ? bytes : there;
    /* How much of a damaged frame is unpacked depends on the output space. */
    fuzz_expect(got <= most || (o->is_zstd && !o->good && got <= bytes),
                "no more comes out than there is");
    const size_t known = got < most ? got : most;
    fuzz_expect(known == 0 || memcmp(to, &o->out[offset], known) == 0, "what comes out is right");
    fuzz_expect(status <= 0, "a status");
    if (status == SLUICE_OK) {
        fuzz_expect(got >= most, "all of it comes out");
        fuzz_expect(got == bytes || o->good, "damage is not taken for the end");
    } else {
        fuzz_expect(!o->good, "a valid stream is not refused");
        fuzz_expect(error.status == status && error.text[0] != '\0', "a refusal has a reason");
        fuzz_expect(error.file[0] != '\0' && error.offset >= 0, "and a place");
    }
    free(to);
}

static void check_all(sl_stream *stream, const oracle *o, const uint8_t *reads)
{
    /* If the output is too large, all reads end within its known part. */
    const uint64_t end = o->large ? o->bytes : o->bytes + 300;
    for (size_t i = 0; i < READS; i++) {
        const uint64_t offset = end * reads[2 * i] / 256;
        const uint64_t most = end - offset;
        check_read(stream, o, offset, (size_t)(most * reads[2 * i + 1] / 255));
    }
    check_read(stream, o, 0, (size_t)end);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static oracle o;
    if (size < HEAD_BYTES) {
        return 0;
    }
    const sl_bytes file = {data + HEAD_BYTES, size - HEAD_BYTES};
    const sl_packing packing = sl_packing_of(file);
    if (packing == SL_PACKING_NONE) {
        return 0;
    }
    o.is_zstd = packing == SL_PACKING_ZSTD;
    if (packing == SL_PACKING_GZIP) {
        run_gzip(&o, file);
    } else {
        run_zstd(&o, file);
    }
    char path[64];
    struct stat facts;
    const int fd = memfd_create("stream", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file.data, file.size) == (ssize_t)file.size,
                "a file of memory");
    fuzz_expect(fstat(fd, &facts) == 0, "facts");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const sl_packed packed = {.packing = packing, .file = sl_file_identity_of(&facts)};
    sl_stream *stream = NULL;
    fuzz_expect(sl_stream_open(&stream, path, &packed, 1 + data[0] % 4, NULL) == SLUICE_OK,
                "it is opened");
    check_all(stream, &o, data + 1);
    sl_stream_close(stream);
    (void)close(fd);
    return 0;
}

/* ---- seeds ---- */

static size_t add_gzip(uint8_t *to, size_t at, const uint8_t *from, size_t bytes, int level)
{
    z_stream z = {.next_in = from, .avail_in = (uInt)bytes};
    z.next_out = to + at;
    z.avail_out = (uInt)(FUZZ_INPUT_MAX - at);
    fuzz_expect(deflateInit2(&z, level, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
                    deflate(&z, Z_FINISH) == Z_STREAM_END,
                "zlib packs");
    at += z.total_out;
    (void)deflateEnd(&z);
    return at;
}

static size_t add_zstd(uint8_t *to, size_t at, const uint8_t *from, size_t bytes, int level)
{
    const size_t made = ZSTD_compress(to + at, FUZZ_INPUT_MAX - at, from, bytes, level);
    fuzz_expect(!ZSTD_isError(made), "zstd packs");
    return at + made;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const uint8_t pattern[2 * READS] = {0,   9,   40, 3,  10, 200, 250, 255,
                                               128, 128, 0,  90, 70, 1,   255, 255};
    static uint8_t text[900 << 10]; /* 100 kB of words, and zeros */
    static const uint8_t skipped[] = "\x57\x2a\x4d\x18\x02\0\0\0ab";
    if (index >= 8)
        return 0;
    for (size_t i = 0; i < (size_t)100 << 10; i++)
        text[i] = (uint8_t)((unsigned char)"abcdefgh"[i * i / 7 % 8] + i / 30000);
    buffer[0] = (uint8_t)index;
    memcpy(buffer + 1, pattern, sizeof(pattern));
    size_t at = HEAD_BYTES;
    size_t (*add)(uint8_t *, size_t, const uint8_t *, size_t, int) =
        index % 2 == 0 ? add_gzip : add_zstd;
    const size_t bytes = index < 4 ? 1000 : sizeof(text);
    if (index == 3) {
        memcpy(buffer + at, skipped, sizeof(skipped) - 1);
        at += sizeof(skipped) - 1;
    }
    at = add(buffer, at, text, bytes, index < 6 ? 1 : 9);
    if (index % 4 > 1) {
        at = add(buffer, at, text, 0, 1);
        at = add(buffer, at, text + 5, bytes / 2, 5);
    }
    if (index == 2)
        buffer[at++] = 0; /* padding */
    return at;
}
