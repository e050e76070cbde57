/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_msan: wraps calls to zlib, zstd, LZ4, Brotli, jansson and expat. Also reports
 * uninitialized bytes passed to an unpacker. Threads: any. */
#include "foreign_msan.h"

#include <brotli/decode.h>
#include <expat.h>
#include <jansson.h>
#include <lz4.h>
#include <lz4frame.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

static _Thread_local bool inside;

void foreign_begin(void)
{
    if (!inside) {
        __msan_scoped_disable_interceptor_checks();
    }
    inside = true;
}

void foreign_end(void)
{
    if (inside) {
        __msan_scoped_enable_interceptor_checks();
    }
    inside = false;
}

/* NOLINTBEGIN: the names are the linker's */

FOREIGN_WRAPPED(_Noreturn void, longjmp, (jmp_buf where, int value))
{
    foreign_end();
    __real_longjmp(where, value);
}

/* ---- zlib ---- */

/* Wraps a function that takes only the stream. */
#define FOREIGN_WRAPPED_STREAM(name)          \
    FOREIGN_WRAPPED(int, name, (z_streamp z)) \
    {                                         \
        const int result = __real_##name(z);  \
        __msan_unpoison(z, sizeof(*z));       \
        return result;                        \
    }

#define FOREIGN_WRAPPED_STEP(name)                                \
    FOREIGN_WRAPPED(int, name, (z_streamp z, int flush))          \
    {                                                             \
        Bytef *to = z->next_out;                                  \
        __msan_check_mem_is_initialized(z->next_in, z->avail_in); \
        const int result = __real_##name(z, flush);               \
        __msan_unpoison(z, sizeof(*z));                           \
        __msan_unpoison(to, (size_t)(z->next_out - to));          \
        return result;                                            \
    }

FOREIGN_WRAPPED_STREAM(inflateReset)
FOREIGN_WRAPPED_STREAM(inflateEnd)
FOREIGN_WRAPPED_STREAM(deflateEnd)
FOREIGN_WRAPPED_STEP(inflate)
FOREIGN_WRAPPED_STEP(deflate)

FOREIGN_WRAPPED(int, inflateInit2_, (z_streamp z, int window, const char *version, int size))
{
    const int result = __real_inflateInit2_(z, window, version, size);
    __msan_unpoison(z, sizeof(*z));
    return result;
}

FOREIGN_WRAPPED(int, inflateInit_, (z_streamp z, const char *version, int size))
{
    const int result = __real_inflateInit_(z, version, size);
    __msan_unpoison(z, sizeof(*z));
    return result;
}

FOREIGN_WRAPPED(int, deflateInit2_,
                (z_streamp z, int level, int method, int window, int memory, int strategy,
                 const char *version, int size))
{
    const int result =
        __real_deflateInit2_(z, level, method, window, memory, strategy, version, size);
    __msan_unpoison(z, sizeof(*z));
    return result;
}

FOREIGN_WRAPPED(int, compress2,
                (Bytef * to, uLongf *capacity, const Bytef *from, uLong bytes, int level))
{
    const int result = __real_compress2(to, capacity, from, bytes, level);
    __msan_unpoison(to, *capacity);
    return result;
}

/* ---- zstd ---- */

static void wrote(void *to, size_t result)
{
    if (!ZSTD_isError(result)) {
        __msan_unpoison(to, result);
    }
}

FOREIGN_WRAPPED(size_t, ZSTD_decompress,
                (void *to, size_t capacity, const void *from, size_t bytes))
{
    __msan_check_mem_is_initialized(from, bytes);
    const size_t result = __real_ZSTD_decompress(to, capacity, from, bytes);
    wrote(to, result);
    return result;
}

FOREIGN_WRAPPED(size_t, ZSTD_decompressDCtx,
                (ZSTD_DCtx * context, void *to, size_t capacity, const void *from, size_t bytes))
{
    __msan_check_mem_is_initialized(from, bytes);
    const size_t result = __real_ZSTD_decompressDCtx(context, to, capacity, from, bytes);
    wrote(to, result);
    return result;
}

FOREIGN_WRAPPED(size_t, ZSTD_decompressStream,
                (ZSTD_DStream * context, ZSTD_outBuffer *out, ZSTD_inBuffer *in))
{
    const size_t from = out->pos;
    __msan_check_mem_is_initialized((const char *)in->src + in->pos, in->size - in->pos);
    const size_t result = __real_ZSTD_decompressStream(context, out, in);
    if (!ZSTD_isError(result)) { /* otherwise pos may count unwritten bytes */
        __msan_unpoison((char *)out->dst + from, out->pos - from);
    }
    return result;
}

FOREIGN_WRAPPED(size_t, ZSTD_compress,
                (void *to, size_t capacity, const void *from, size_t bytes, int level))
{
    __msan_check_mem_is_initialized(from, bytes);
    const size_t result = __real_ZSTD_compress(to, capacity, from, bytes, level);
    wrote(to, result);
    return result;
}

FOREIGN_WRAPPED(size_t, ZSTD_compressStream2,
                (ZSTD_CCtx * context, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
                 ZSTD_EndDirective end))
{
    const size_t from = out->pos;
    const size_t result = __real_ZSTD_compressStream2(context, out, in, end);
    __msan_unpoison((char *)out->dst + from, out->pos - from);
    return result;
}

/* ---- LZ4 ---- */

FOREIGN_WRAPPED(int, LZ4_decompress_safe, (const char *from, char *to, int bytes, int capacity))
{
    __msan_check_mem_is_initialized(from, (size_t)bytes);
    const int result = __real_LZ4_decompress_safe(from, to, bytes, capacity);
    __msan_unpoison(to, result > 0 ? (size_t)result : 0);
    return result;
}

FOREIGN_WRAPPED(LZ4F_errorCode_t, LZ4F_createDecompressionContext,
                (LZ4F_dctx * *context, unsigned version))
{
    const LZ4F_errorCode_t result = __real_LZ4F_createDecompressionContext(context, version);
    __msan_unpoison(context, sizeof(*context));
    return result;
}

FOREIGN_WRAPPED(size_t, LZ4F_decompress,
                (LZ4F_dctx * context, void *to, size_t *made, const void *from, size_t *taken,
                 const LZ4F_decompressOptions_t *options))
{
    __msan_check_mem_is_initialized(from, *taken);
    const size_t result = __real_LZ4F_decompress(context, to, made, from, taken, options);
    __msan_unpoison(to, *made);
    return result;
}

/* ---- Brotli ---- */

FOREIGN_WRAPPED(BrotliDecoderResult, BrotliDecoderDecompressStream,
                (BrotliDecoderState * state, size_t *left, const uint8_t **from, size_t *capacity,
                 uint8_t **to, size_t *total))
{
    uint8_t *begin = *to;
    __msan_check_mem_is_initialized(*from, *left);
    const BrotliDecoderResult result =
        __real_BrotliDecoderDecompressStream(state, left, from, capacity, to, total);
    __msan_unpoison(begin, (size_t)(*to - begin));
    return result;
}

/* ---- jansson and expat: all of their memory has a value ---- */

static void *take_written(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory != NULL) {
        __msan_unpoison(memory, bytes);
    }
    return memory;
}

static void *retake_written(void *memory, size_t bytes)
{
    void *moved = realloc(memory, bytes);
    if (moved != NULL) {
        __msan_unpoison(moved, bytes);
    }
    return moved;
}

__attribute__((constructor)) static void begin_json(void)
{
    json_set_alloc_funcs(take_written, free);
}

FOREIGN_WRAPPED(json_t *, json_loadb,
                (const char *text, size_t bytes, size_t flags, json_error_t *error))
{
    __msan_check_mem_is_initialized(text, bytes);
    foreign_begin();
    json_t *json = __real_json_loadb(text, bytes, flags, error);
    foreign_end();
    __msan_unpoison(error, error != NULL ? sizeof(*error) : 0);
    return json;
}

FOREIGN_WRAPPED(json_t *, json_load_callback,
                (json_load_callback_t give, void *user, size_t flags, json_error_t *error))
{
    foreign_begin();
    json_t *json = __real_json_load_callback(give, user, flags, error);
    foreign_end();
    __msan_unpoison(error, error != NULL ? sizeof(*error) : 0);
    return json;
}

FOREIGN_WRAPPED(size_t, json_dumpb, (const json_t *json, char *to, size_t capacity, size_t flags))
{
    foreign_begin();
    const size_t bytes = __real_json_dumpb(json, to, capacity, flags);
    foreign_end();
    __msan_unpoison(to, bytes < capacity ? bytes : capacity);
    return bytes;
}

static XML_Memory_Handling_Suite given; /* of our one parser with its own functions */

static void *take_given(size_t bytes)
{
    void *memory = given.malloc_fcn(bytes);
    __msan_unpoison(memory, memory != NULL ? bytes : 0);
    return memory;
}

static void *retake_given(void *memory, size_t bytes)
{
    void *moved = given.realloc_fcn(memory, bytes);
    __msan_unpoison(moved, moved != NULL ? bytes : 0);
    return moved;
}

FOREIGN_WRAPPED(XML_Parser, XML_ParserCreate_MM,
                (const XML_Char *encoding, const XML_Memory_Handling_Suite *memory,
                 const XML_Char *separator))
{
    given = *memory;
    const XML_Memory_Handling_Suite marked = {take_given, retake_given, given.free_fcn};
    return __real_XML_ParserCreate_MM(encoding, &marked, separator);
}

FOREIGN_WRAPPED(XML_Parser, XML_ParserCreate, (const XML_Char *encoding))
{
    static const XML_Memory_Handling_Suite memory = {take_written, retake_written, free};
    return __real_XML_ParserCreate_MM(encoding, &memory, NULL);
}

FOREIGN_WRAPPED(enum XML_Status, XML_Parse,
                (XML_Parser parser, const char *text, int bytes, int is_last))
{
    foreign_begin();
    const enum XML_Status status = __real_XML_Parse(parser, text, bytes, is_last);
    foreign_end();
    return status;
}

FOREIGN_WRAPPED(enum XML_Status, XML_ParseBuffer, (XML_Parser parser, int bytes, int is_last))
{
    foreign_begin();
    const enum XML_Status status = __real_XML_ParseBuffer(parser, bytes, is_last);
    foreign_end();
    return status;
}
/* NOLINTEND */
