/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After its first images a decoder allocates nothing, neither through our counters nor inside
 * libjpeg and zstd. The program replaces the C library's malloc for all of them, which sanitizers
 * do not allow; there, only our counters are checked.
 */
#include "decoder.h"
#include "jpeg_make.h"
#include "memory.h"
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

static _Atomic uint64_t mallocs;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#    define COUNTS_MALLOC 1
/* glibc's own entry points, for programs that replace malloc. */
void *__libc_malloc(size_t size);               /* NOLINT */
void *__libc_calloc(size_t nmemb, size_t size); /* NOLINT */
void *__libc_realloc(void *ptr, size_t size);   /* NOLINT */

/* Visible to the shared libraries, regardless of the build's default. */
#    define EXPORTED __attribute__((visibility("default")))

static void count(void)
{
    atomic_fetch_add_explicit(&mallocs, 1, memory_order_relaxed); /* relaxed: a sum */
}

EXPORTED void *malloc(size_t size) /* NOLINT */
{
    count();
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t nmemb, size_t size) /* NOLINT */
{
    count();
    return __libc_calloc(nmemb, size);
}

EXPORTED void *realloc(void *ptr, size_t size) /* NOLINT */
{
    count();
    return __libc_realloc(ptr, size);
}
#else
#    define COUNTS_MALLOC 0
#endif

enum { KINDS = 7, ROUNDS = 100 };

static void decode_all(sl_decoder *decoder, const sl_value *images)
{
    for (int i = 0; i < KINDS; i++) {
        sl_picture picture;
        sl_image view;
        sluice_error error;
        error.struct_size = sizeof(error);
        sluice_status status = sl_decoder_open_picture(decoder, &images[i], &picture, &error);
        if (status == SLUICE_OK) {
            sl_rect need = {0, 0, picture.width, picture.height};
            status = sl_decoder_decode(decoder, need, 0, 0, &view, &error);
        }
        bool good = status == SLUICE_OK;
        if (good != (i != KINDS - 1)) {
            abort();
        }
    }
}

TEST(the_counter_sees_the_libraries)
{
    uint64_t before = atomic_load_explicit(&mallocs, memory_order_relaxed);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    uint64_t after = atomic_load_explicit(&mallocs, memory_order_relaxed);
    (void)ZSTD_freeDCtx(context);
    assert_true(COUNTS_MALLOC == 0 || after > before);
}

TEST(steady_state_allocates_nothing)
{
    const jpeg_options options[KINDS] = {
        {0},
        {.progressive = true, .orientation = 6},
        {.colour = JPEG_YCCK},
        {.separate_scans = true, .restart_interval = 2},
        {.colour = JPEG_GREY},
    };
    jpeg_file files[KINDS];
    sl_value images[KINDS];
    for (uint32_t i = 0; i < KINDS; i++) {
        files[i] = jpeg_make_pattern(300 + i * 10, 200, i, &options[i]);
        images[i] = (sl_value){.bytes = {files[i].data, files[i].size}};
    }
    /* one packed in a zstd frame, one invalid */
    size_t bound = ZSTD_compressBound(files[5].size);
    uint8_t *packed = malloc(bound);
    assert_non_null(packed);
    images[5].bytes.size = ZSTD_compress(packed, bound, files[5].data, files[5].size, 3);
    images[5].bytes.data = packed;
    images[5].packing = &sl_value_packing_zstd;
    images[6].bytes.size /= 2;

    sl_decoder *decoder = NULL;
    sl_decoder_config config = {
        .max_pixels = 1 << 24, .max_unpacked_bytes = 1 << 24, .exif = SLUICE_EXIF_APPLY};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    decode_all(decoder, images);
    uint64_t ours = sl_memory_allocations();
    uint64_t all = atomic_load_explicit(&mallocs, memory_order_relaxed);
    for (int round = 0; round < ROUNDS; round++) {
        decode_all(decoder, images);
    }
    uint64_t all_after = atomic_load_explicit(&mallocs, memory_order_relaxed);
    assert_int_equal(sl_memory_allocations(), ours);
    assert_int_equal(all_after, all);
    sl_decoder_close(decoder);
    free(packed);
    for (int i = 0; i < KINDS; i++) {
        jpeg_free(&files[i]);
    }
}
