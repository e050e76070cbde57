/* SPDX-License-Identifier: Apache-2.0 */
#include "full_decode.h"

#include "clock.h"
#include "interrupt.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <jpeglib.h>

enum { PICTURES = 300 };

static const double round_limit_s = 2; /* CPU; a round of huge images ends early */
/* Maximum reading time in a round; reading from a store is slow. */
static const double reading_limit_s = 1;
static const double bytes_max = 3 * 100000000.0; /* of one decoded image */

/* Memory directly from the kernel: when released, it does not count in the process' peak. */
struct buffer {
    unsigned char *bytes;
    size_t size;
};

struct failure {
    struct jpeg_error_mgr manager; /* first, so that libjpeg's pointer is ours */
    jmp_buf jump;
};

static void release(struct buffer *buffer)
{
    if (buffer->size > 0) {
        munmap(buffer->bytes, buffer->size);
    }
    *buffer = (struct buffer){0};
}

static bool reserve(struct buffer *buffer, size_t size)
{
    if (size <= buffer->size) {
        return true;
    }
    release(buffer);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return false;
    }
    memset(bytes, 0, size); /* so that page faults are not in the time */
    *buffer = (struct buffer){bytes, size};
    return true;
}

static void on_error(j_common_ptr common)
{
    struct failure *failure = (struct failure *)common->err;
    longjmp(failure->jump, 1);
}

static void on_message(j_common_ptr common)
{
    (void)common; /* warnings matter to the loader, not to the baseline */
}

static void decode_rows(struct jpeg_decompress_struct *decoder, struct buffer *pixels)
{
    /* libjpeg does not convert CMYK to RGB; four channels are the same work. */
    bool cmyk = decoder->num_components == 4;
    decoder->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(decoder);
    size_t line = (size_t)decoder->output_width * (size_t)decoder->output_components;
    while (decoder->output_scanline < decoder->output_height) {
        JSAMPROW row = pixels->bytes + decoder->output_scanline * line;
        jpeg_read_scanlines(decoder, &row, 1);
    }
    jpeg_finish_decompress(decoder);
}

/* Decodes one image; `*seconds` is its CPU time. False: not a valid JPEG. */
static bool decode(const unsigned char *bytes, size_t size, struct buffer *pixels, double *seconds)
{
    struct jpeg_decompress_struct decoder;
    struct failure failure;
    decoder.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_error;
    failure.manager.output_message = on_message;
    /* libjpeg offers no other way out of an error. */
    if (setjmp(failure.jump) != 0) { // NOLINT(cert-err52-cpp)
        jpeg_destroy_decompress(&decoder);
        return false;
    }
    double start = clock_thread_cpu();
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, bytes, (unsigned long)size);
    jpeg_read_header(&decoder, TRUE);
    double header = clock_thread_cpu() - start;
    double capacity = (double)decoder.image_width * (double)decoder.image_height * 4;
    if (capacity > bytes_max || !reserve(pixels, (size_t)capacity)) {
        jpeg_destroy_decompress(&decoder);
        return false;
    }
    start = clock_thread_cpu();
    decode_rows(&decoder, pixels);
    jpeg_destroy_decompress(&decoder);
    *seconds = header + clock_thread_cpu() - start;
    return true;
}

static bool read_picture(const struct full_decode *yardstick, uint64_t index, struct buffer *buffer,
                         size_t *size)
{
    sluice_status status = sluice_dataset_read(yardstick->dataset, index, yardstick->field,
                                               buffer->bytes, buffer->size, size, NULL);
    if (status == SLUICE_AGAIN && reserve(buffer, *size)) {
        status = sluice_dataset_read(yardstick->dataset, index, yardstick->field, buffer->bytes,
                                     buffer->size, size, NULL);
    }
    return status == SLUICE_OK;
}

void full_decode_begin(struct full_decode *yardstick, const sluice_dataset *dataset,
                       const char *field, uint64_t samples)
{
    *yardstick = (struct full_decode){.dataset = dataset, .field = field, .samples = samples};
    yardstick->count = samples < PICTURES ? samples : PICTURES;
}

void full_decode_round(struct full_decode *yardstick)
{
    assert(yardstick->rounds < FULL_DECODE_ROUNDS_MAX);
    struct buffer encoded = {0};
    struct buffer pixels = {0};
    double total = 0;
    uint64_t decoded = 0;
    uint64_t i = 0;
    if (yardstick->field == NULL || !reserve(&encoded, (size_t)1 << 20)) {
        return;
    }
    const double begin = clock_seconds();
    for (; i < yardstick->count && total < round_limit_s &&
           clock_seconds() - begin < round_limit_s + reading_limit_s && !interrupt_pending();
         i++) {
        uint64_t index =
            (uint64_t)((double)yardstick->samples * (double)i / (double)yardstick->count);
        size_t size;
        double seconds;
        if (read_picture(yardstick, index, &encoded, &size) &&
            decode(encoded.bytes, size, &pixels, &seconds)) {
            total += seconds;
            decoded++;
        }
    }
    release(&encoded);
    release(&pixels);
    if (decoded > 0) {
        yardstick->round_ms[yardstick->rounds++] = total * 1e3 / (double)decoded;
        /* A shortened round sets the spacing, so that later rounds still span the dataset. */
        yardstick->count = i < yardstick->count ? i : yardstick->count;
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double full_decode_median_ms(const struct full_decode *yardstick)
{
    uint32_t rounds = yardstick->rounds;
    if (rounds == 0) {
        return NAN;
    }
    double sorted[FULL_DECODE_ROUNDS_MAX];
    memcpy(sorted, yardstick->round_ms, rounds * sizeof *sorted);
    qsort(sorted, rounds, sizeof *sorted, compare);
    return (sorted[rounds / 2] + sorted[(rounds - 1) / 2]) / 2;
}
