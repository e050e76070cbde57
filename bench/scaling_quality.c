/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scaling_quality: measures the effect of DCT scaling. Crops and resizes each JPEG as in training,
 * once decoded at full size ("exact") and once scaled down by the loader's rule, for several output
 * sizes, so that all denominators occur. Prints PSNR over RGB, mean SSIM of luma (8 x 8 windows, 4
 * apart), and CPU time of decoding alone.
 *
 * Usage: scaling_quality FILE ...
 */
#include "decoder.h"
#include "error.h"
#include "recipe.h"
#include "resample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIDE_MAX = 224, DRAWS = 20, WINDOW = 8, STEP = 4, SIZES = 4 };

static const uint32_t sides[SIZES] = {224, 112, 56, 28};

typedef struct row {
    uint32_t count;
    double psnr_sum, psnr_least, ssim_sum, ssim_least;
    double exact_ms, scaled_ms;
} row;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(sluice_status status, const sluice_error *error, const char *path)
{
    if (status != SLUICE_OK) {
        fprintf(stderr, "%s: %s\n", path, error->text);
        exit(1);
    }
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size + 1);
    if (data == NULL || fread(data, 1, *size, file) != *size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return data;
}

static double psnr(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    double sum = 0;
    for (size_t i = 0; i < bytes; i++) {
        const double difference = (double)a[i] - b[i];
        sum += difference * difference;
    }
    return sum > 0 ? 10 * log10(255.0 * 255.0 * (double)bytes / sum) : 99;
}

static double luma(const uint8_t *pixel)
{
    return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
}

static double ssim_window(const uint8_t *a, const uint8_t *b, size_t stride)
{
    const double n = WINDOW * WINDOW;
    double sums[5] = {0};
    for (size_t y = 0; y < WINDOW; y++) {
        for (size_t x = 0; x < WINDOW; x++) {
            const double p = luma(a + y * stride + x * 3);
            const double q = luma(b + y * stride + x * 3);
            sums[0] += p;
            sums[1] += q;
            sums[2] += p * p;
            sums[3] += q * q;
            sums[4] += p * q;
        }
    }
    const double c1 = 0.01 * 255 * 0.01 * 255;
    const double c2 = 0.03 * 255 * 0.03 * 255;
    const double mean_a = sums[0] / n;
    const double mean_b = sums[1] / n;
    const double variances = (sums[2] + sums[3]) / n - mean_a * mean_a - mean_b * mean_b;
    const double covariance = sums[4] / n - mean_a * mean_b;
    return (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
           ((mean_a * mean_a + mean_b * mean_b + c1) * (variances + c2));
}

static double ssim(const uint8_t *a, const uint8_t *b, uint32_t side)
{
    const size_t stride = (size_t)side * 3;
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t y = 0; y + WINDOW <= side; y += STEP) {
        for (uint32_t x = 0; x + WINDOW <= side; x += STEP) {
            const size_t at = y * stride + (size_t)x * 3;
            sum += ssim_window(a + at, b + at, stride);
            count++;
        }
    }
    return sum / count;
}

typedef struct sample {
    sl_decoder *decoder;
    const char *path;
    sl_value stored;
    sl_params params;
} sample;

/* Returns the denominator; `*ms` receives the decoder's time. */
static uint32_t make(const sample *s, bool exact, uint8_t *out, double *ms)
{
    sluice_error error;
    sl_error_clear(&error);
    sl_picture picture;
    sl_image view;
    uint32_t width = 0;
    uint32_t height = 0;
    if (!exact) {
        sl_mapping_least(&s->params.geometries[0].box, &s->params.need, &width, &height);
    }
    const double start = cpu_ms();
    must(sl_decoder_open_picture(s->decoder, &s->stored, &picture, &error), &error, s->path);
    must(sl_decoder_decode(s->decoder, s->params.need, width, height, &view, &error), &error,
         s->path);
    *ms = cpu_ms() - start;
    must(sl_resample(sl_simd_best(), &view, &s->params.geometries[0].box, out,
                     sl_decoder_scratch(s->decoder), &error),
         &error, s->path);
    return view.denominator;
}

static void measure(sample *s, const sluice_augment *recipe, uint64_t number, row *rows)
{
    static uint8_t exact[SIDE_MAX * SIDE_MAX * 3];
    static uint8_t scaled[SIDE_MAX * SIDE_MAX * 3];
    sluice_error error;
    sl_error_clear(&error);
    sl_picture picture;
    must(sl_decoder_open_picture(s->decoder, &s->stored, &picture, &error), &error, s->path);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        must(sl_draw(recipe, &(sl_draw_key){.seed = 1, .epoch = draw, .sample = number},
                     picture.width, picture.height, &s->params, &error),
             &error, s->path);
        double exact_ms;
        double scaled_ms;
        (void)make(s, true, exact, &exact_ms);
        row *to = &rows[make(s, false, scaled, &scaled_ms)];
        const double quality = psnr(exact, scaled, (size_t)recipe->width * recipe->height * 3);
        const double likeness = ssim(exact, scaled, recipe->width);
        to->psnr_least = to->count == 0 ? quality : fmin(to->psnr_least, quality);
        to->ssim_least = to->count == 0 ? likeness : fmin(to->ssim_least, likeness);
        to->psnr_sum += quality;
        to->ssim_sum += likeness;
        to->exact_ms += exact_ms;
        to->scaled_ms += scaled_ms;
        to->count++;
    }
}

static void print_rows(uint32_t side, const row *rows)
{
    for (uint32_t d = 2; d <= 8; d *= 2) {
        const row *r = &rows[d];
        if (r->count > 0) {
            const double n = r->count;
            printf("%4u  1/%u %6u  %6.2f %6.2f  %6.4f %6.4f  %6.3f %6.3f\n", side, d, r->count,
                   r->psnr_sum / n, r->psnr_least, r->ssim_sum / n, r->ssim_least, r->exact_ms / n,
                   r->scaled_ms / n);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: scaling_quality FILE ...\n");
        return 2;
    }
    static sl_geometry geometries[SL_GEOMETRIES_MAX];
    static sl_operation operations[SL_OPERATIONS_MAX];
    sample s = {.params = {.operations_most = SL_OPERATIONS_MAX,
                           .geometries = geometries,
                           .operations = operations}};
    sluice_error error;
    sl_error_clear(&error);
    const sl_decoder_config config = {.max_pixels = 1 << 28, .max_unpacked_bytes = 1 << 20};
    must(sl_decoder_open(&s.decoder, &config, &error), &error, "a decoder");
    printf("side scale  crops    PSNR, dB         SSIM      decode, CPU ms\n"
           "                   mean    min    mean    min   exact scaled\n");
    for (int size = 0; size < SIZES; size++) {
        sluice_augment *recipe = NULL;
        (void)sluice_augment_create(&recipe);
        (void)sluice_augment_random_resized_crop(recipe, sides[size], sides[size], 0.08, 1, 0.75,
                                                 4.0 / 3);
        row rows[9] = {0};
        for (int i = 1; i < argc; i++) {
            size_t bytes;
            uint8_t *data = read_file(argv[i], &bytes);
            s.path = argv[i];
            s.stored = (sl_value){.bytes = {data, bytes}};
            measure(&s, recipe, (uint64_t)i, rows);
            free(data);
        }
        print_rows(sides[size], rows);
        sluice_augment_destroy(recipe);
    }
    sl_decoder_close(s.decoder);
    return 0;
}
