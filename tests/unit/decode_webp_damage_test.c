/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and hostile WebPs, animations, and limits. */
#include "codecs.h"
#include "decoder_setup.h"
#include "test.h"
#include "webp_make.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RIFF = 12, HEAD = 8 };

static int setup(void **state)
{
    *state = decoder_open(sl_codec_webp.number, SLUICE_EXIF_APPLY, 0);
    return 0;
}

static int teardown(void **state)
{
    decoder_close(*state);
    return 0;
}

static sluice_status decode(const decoder_setup *f, const webp_file *file)
{
    return decoder_try(f, file->data, file->size, 0, NULL);
}

static void expect(const decoder_setup *f, const webp_file *file, sluice_status expected,
                   const char *words)
{
    decoder_expect(f, file->data, file->size, expected, words);
}

static const webp_options kinds[] = {
    {0},
    {.alpha = true, .orientation = 5},
    {.lossless = true},
    {.lossless = true, .alpha = true, .orientation = 2},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void store32(uint8_t *to, size_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Truncated anywhere, also if the container's size matches. */
TEST_WITH(truncated_everywhere, setup, teardown)
{
    for (uint32_t i = 0; i < KINDS; i++) {
        webp_file file = webp_make(33, 21, i, &kinds[i]);
        assert_int_equal(decode(*state, &file), SLUICE_OK);
        for (size_t size = 1; size < file.size; size++) {
            sluice_error error = SLUICE_ERROR_INIT;
            assert_int_equal(decoder_try(*state, file.data, size, 0, &error), SLUICE_CORRUPT);
            assert_in_range(error.offset, 0, size);
        }
        for (size_t size = RIFF; size + 36 < file.size; size++) {
            store32(file.data + 4, size - HEAD);
            assert_int_equal(decoder_try(*state, file.data, size, 0, NULL), SLUICE_CORRUPT);
        }
        webp_free(&file);
    }
}

/* A truncated image in complete chunks: libwebp must detect it. */
TEST_WITH(short_picture_data, setup, teardown)
{
    for (uint32_t i = 0; i < 3; i += 2) {
        webp_file file = webp_make(65, 67, i, &kinds[i]);
        for (size_t size = 20; size < file.size - 64; size += 2) {
            store32(file.data + 4, size);
            store32(file.data + RIFF + 4, size - RIFF);
            sluice_error error = SLUICE_ERROR_INIT;
            assert_int_equal(decoder_try(*state, file.data, size + HEAD, 0, &error),
                             SLUICE_CORRUPT);
        }
        webp_free(&file);
    }
}

TEST_WITH(flipped_everywhere, setup, teardown)
{
    uint32_t refused = 0;
    for (uint32_t i = 0; i < KINDS; i++) {
        webp_file file = webp_make(33, 21, i, &kinds[i]);
        for (size_t bit = 0; bit < 8 * file.size; bit += bit < 800 ? 1 : 7) {
            sluice_error error = SLUICE_ERROR_INIT;
            file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
            const sluice_status status = decoder_try(*state, file.data, file.size, 0, &error);
            assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT ||
                        status == SLUICE_UNSUPPORTED);
            refused += status != SLUICE_OK;
            file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
        webp_free(&file);
    }
    assert_true(refused > 300);
}

TEST_WITH(containers_that_lie, setup, teardown)
{
    const webp_options animated = {.animated = true};
    const webp_options turned = {.orientation = 1};
    webp_file file = webp_make(20, 20, 1, &animated);
    expect(*state, &file, SLUICE_UNSUPPORTED, "animation");
    webp_free(&file);
    file = webp_make(20, 20, 1, &turned);
    file.data[RIFF + HEAD + 4] ^= 1; /* the canvas's width */
    expect(*state, &file, SLUICE_CORRUPT, "different sizes");
    file.data[RIFF + HEAD + 4] ^= 1;
    memcpy(file.data + RIFF + HEAD + 10, "VP8x", 4);
    expect(*state, &file, SLUICE_CORRUPT, "no image");
    memcpy(file.data + RIFF, "ALPH", 4);
    expect(*state, &file, SLUICE_CORRUPT, "not VP8, VP8L or VP8X");
    webp_free(&file);
}

/* 16383 x 16383 pixels in a kilobyte. */
TEST_WITH(large_sizes_are_refused_by_the_header, setup, teardown)
{
    for (uint32_t i = 0; i < 3; i += 2) {
        webp_file file = webp_make(20, 20, i, &kinds[i]);
        uint8_t *picture = file.data + RIFF + HEAD;
        if (kinds[i].lossless) {
            store32(picture + 1, 0x0FFFFFFF);
        } else {
            store32(picture + 6, 0xFFFFFFFF);
        }
        expect(*state, &file, SLUICE_UNSUPPORTED, "above the limit");
        webp_free(&file);
    }
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss << 10;
}

/* Peak memory of decoding, measured in a separate process because peaks never decrease. */
static bool stays_below(uint64_t bound, const webp_file *file)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        decoder_setup *own = decoder_open(sl_codec_webp.number, SLUICE_EXIF_APPLY, bound);
        const uint64_t before = peak_bytes();
        const sluice_status status = decode(own, file);
        _exit(status == SLUICE_OK && peak_bytes() - before < bound + file->size ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Sanitizers need extra memory for each allocation. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED true
#else
#    define SANITIZED false
#endif

/* libwebp's heap allocations are counted too. */
TEST(memory_stays_within_the_bound)
{
    enum { WIDTH = 3000, HEIGHT = 1000 };
    const uint64_t bound = sl_codec_webp.scratch_bytes((uint64_t)WIDTH * HEIGHT);
    for (uint32_t i = 0; i < 4; i++) {
        /* 0, 1: kinds 0 and 2; 2, 3: the same in one column */
        const webp_options *kind = &kinds[i % 2 == 0 ? 0 : 2];
        webp_file file = i < 2 ? webp_make(WIDTH, HEIGHT, i, kind) : webp_make(2, 16000, i, kind);
        assert_true(SANITIZED || stays_below(bound, &file));
        decoder_setup *own =
            decoder_open(sl_codec_webp.number, SLUICE_EXIF_APPLY, (uint64_t)2 << 20);
        assert_int_equal(decode(own, &file), SLUICE_NOMEM);
        decoder_close(own);
        webp_free(&file);
    }
}

TEST_WITH(stops_when_nobody_waits, setup, teardown)
{
    decoder_setup *f = *state;
    for (uint32_t i = 0; i < 2; i++) {
        webp_file file = webp_make(i == 0 ? 20 : 2000, i == 0 ? 20 : 1100, 1, &kinds[0]);
        atomic_store_explicit(&f->stop, true, memory_order_relaxed);
        assert_int_equal(decode(f, &file), SLUICE_CANCELED);
        atomic_store_explicit(&f->stop, false, memory_order_relaxed);
        assert_int_equal(decode(f, &file), SLUICE_OK);
        webp_free(&file);
    }
}
