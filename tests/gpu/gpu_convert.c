/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_convert: tests the conversion kernels on the chip. For random sizes, pixels and flags, all
 * eight must equal the arithmetic of device/conversion.h on the host, bit for bit, and must write
 * nothing else. Then measures the bandwidth of each, also with mirrored rows, against a copy on the
 * device: f16 and bf16 NCHW, which training uses, must come close. --exact-only: no bandwidth.
 * --ptx: the kernels that the driver compiles.
 */
#include "apply.h"
#include "conversion.h"
#include "conversion_kernel.h"
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device address, as a pointer. */
#define AT(address) ((void *)(uintptr_t)(address)) /* NOLINT(performance-no-int-to-ptr) */

enum { CASES = 48, GUARD = 4096, POISON = 0xa5 };

static const sluice_dtype dtypes[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};
static const char *const layout_names[] = {"nhwc", "nchw"};

/* ---- what it should be ---- */

static void put(uint8_t *to, sluice_dtype dtype, uint8_t value, float scale, float bias)
{
    const float result = fmaf((float)value, scale, bias);
    uint16_t half;
    switch (dtype) {
    case SLUICE_F32:
        memcpy(to, &result, sizeof(result));
        return;
    case SLUICE_F16:
        half = sl_half_from_float(result);
        break;
    case SLUICE_BF16:
        half = sl_bfloat16_from_float(result);
        break;
    default:
        *to = value;
        return;
    }
    memcpy(to, &half, sizeof(half));
}

static void convert_row(const sl_conversion *c, const uint8_t *from, uint8_t flags, uint8_t *to)
{
    const bool flip = (flags & SL_ROW_MIRROR) != 0;
    const size_t bytes = sluice_dtype_bytes(c->dtype);
    const size_t pixels = (size_t)c->width * c->height;
    if ((flags & SL_ROW_ZERO) != 0) {
        memset(to, 0, pixels * 3 * bytes);
        return;
    }
    for (size_t pixel = 0; pixel < pixels; pixel++) {
        const size_t y = pixel / c->width;
        const size_t x = pixel % c->width;
        const size_t source = y * c->width + (flip ? c->width - 1 - x : x);
        for (size_t ch = 0; ch < 3; ch++) {
            const size_t at = c->layout == SLUICE_NHWC ? pixel * 3 + ch : ch * pixels + pixel;
            put(to + at * bytes, c->dtype, from[source * 3 + ch], c->scale[ch], c->bias[ch]);
        }
    }
}

/* ---- one case ---- */

typedef struct job {
    sl_conversion conversion;
    uint32_t rows;
    size_t row_values, in_bytes, out_bytes;
    uint8_t *in, *flags, *expected, *got;
} job;

/* Every fourth case has results at the limits of 16 bits: subnormal ones, halves between two
 * values, finite ones that round to infinity. */
static void choose_factors(sl_conversion *c, uint64_t *seed)
{
    static const float extremes[][2] = {
        {1e-40F, 1e-41F}, {0.125F, 2048.0F}, {1.333e36F, 0.0F}, {-1.333e36F, 0.0F}};
    const bool extreme = gpu_random(seed) % 4 == 0;
    for (int ch = 0; ch < 3; ch++) {
        const float *chosen = extremes[gpu_random(seed) % 4];
        c->scale[ch] = extreme ? chosen[0] : (float)(gpu_random(seed) % 1000 + 1) / 40000;
        c->bias[ch] = extreme ? chosen[1] : (float)(gpu_random(seed) % 5000) / -1000;
    }
}

static void *capacity(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        gpu_die("out of memory");
    }
    return memory;
}

/* The width is a multiple of `step`, which determines how much kernels read and write at once. */
static void job_make(job *j, uint32_t step, uint64_t *seed)
{
    sl_conversion *c = &j->conversion;
    c->width = (1 + (uint32_t)(gpu_random(seed) % 97) + step - 1) / step * step;
    c->height = 1 + (uint32_t)(gpu_random(seed) % 61);
    j->rows = 1 + (uint32_t)(gpu_random(seed) % 9);
    choose_factors(c, seed);
    j->row_values = (size_t)c->width * c->height * 3;
    j->in_bytes = j->row_values * j->rows;
    j->out_bytes = j->in_bytes * sluice_dtype_bytes(c->dtype);
    j->in = capacity(j->in_bytes);
    j->flags = capacity(j->rows);
    j->expected = capacity(j->out_bytes + GUARD);
    j->got = capacity(j->out_bytes + GUARD);
    memset(j->in, 0, j->in_bytes);
    for (size_t i = 0; i < j->in_bytes; i++) {
        j->in[i] = (uint8_t)gpu_random(seed);
    }
    memset(j->expected, POISON, j->out_bytes + GUARD);
    for (uint32_t row = 0; row < j->rows; row++) {
        j->flags[row] = (uint8_t)(gpu_random(seed) % 4); /* none, either, both */
        convert_row(c, j->in + row * j->row_values, j->flags[row],
                    j->expected + row * j->row_values * sluice_dtype_bytes(c->dtype));
    }
}

static void job_free(const job *j)
{
    free(j->in);
    free(j->flags);
    free(j->expected);
    free(j->got);
}

static void job_run(const gpu *g, const job *j)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_cu_address in = gpu_alloc(g, j->in_bytes);
    const sl_cu_address flags = gpu_alloc(g, j->rows);
    const sl_cu_address out = gpu_alloc(g, j->out_bytes + GUARD);
    const sl_conversion_rows rows = {
        .from = AT(in),
        .flags = AT(flags),
        .to = AT(out),
        .rows = j->rows,
    };
    gpu_upload(g, in, j->in, j->in_bytes);
    gpu_upload(g, flags, j->flags, j->rows);
    GPU_DO(g, fill, out, POISON, j->out_bytes + GUARD, g->stream);
    if (g->device->ops->convert(g->device, &j->conversion, &rows, g->stream, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    gpu_download(g, j->got, out, j->out_bytes + GUARD);
    gpu_free(g, in);
    gpu_free(g, flags);
    gpu_free(g, out);
}

/* Returns the number of wrong bytes in CASES cases. */
static uint64_t check_variant(const gpu *g, sluice_dtype dtype, sluice_layout layout)
{
    static const uint32_t steps[] = {1, 4, 8, 16};
    uint64_t seed = 1 + (uint64_t)dtype * 2 + (uint64_t)layout;
    uint64_t wrong = 0;
    for (int i = 0; i < CASES; i++) {
        job j = {.conversion = {.dtype = dtype, .layout = layout}};
        job_make(&j, steps[i % 4], &seed);
        job_run(g, &j);
        for (size_t at = 0; at < j.out_bytes + GUARD; at++) {
            wrong += j.got[at] != j.expected[at];
        }
        job_free(&j);
    }
    return wrong;
}

/* ---- bandwidth ---- */

enum { ROWS = 256, SIDE = 224, LAPS = 60, BUFFERS = 4 };

static double convert_seconds(const gpu *g, const sl_conversion *c, const sl_cu_address *in,
                              const sl_cu_address *out, sl_cu_address flags)
{
    gpu_timer timer;
    gpu_timer_open(g, &timer);
    double best = 1e9;
    for (int repeat = 0; repeat < 5; repeat++) {
        gpu_timer_begin(g, &timer);
        for (int lap = 0; lap < LAPS; lap++) {
            const sl_conversion_rows rows = {
                .from = AT(in[lap % BUFFERS]),
                .flags = AT(flags),
                .to = AT(out[lap % BUFFERS]),
                .rows = ROWS,
            };
            if (g->device->ops->convert(g->device, c, &rows, g->stream, NULL) != SLUICE_OK) {
                gpu_die("a conversion could not be queued");
            }
        }
        const double seconds = gpu_timer_end(g, &timer) / LAPS;
        best = seconds < best ? seconds : best;
    }
    gpu_timer_close(g, &timer);
    return best;
}

static double copy_seconds(const gpu *g, const sl_cu_address *buffers, size_t bytes)
{
    gpu_timer timer;
    gpu_timer_open(g, &timer);
    double best = 1e9;
    for (int repeat = 0; repeat < 5; repeat++) {
        gpu_timer_begin(g, &timer);
        for (int lap = 0; lap < LAPS; lap++) {
            GPU_DO(g, copy_on_device, buffers[lap % BUFFERS], buffers[(lap + 1) % BUFFERS], bytes,
                   g->stream);
        }
        const double seconds = gpu_timer_end(g, &timer) / LAPS;
        best = seconds < best ? seconds : best;
    }
    gpu_timer_close(g, &timer);
    return best;
}

/* Measures bytes read and written per second, for the conversion and for a copy. Uses several
 * buffers, so that they do not stay in the device's cache. */
static void measure(const gpu *g, sluice_dtype dtype, sluice_layout layout, bool mirrored)
{
    const bool judged =
        layout == SLUICE_NCHW && (dtype == SLUICE_F16 || dtype == SLUICE_BF16) && !mirrored;
    const sl_conversion c = {.dtype = dtype,
                             .layout = layout,
                             .width = SIDE,
                             .height = SIDE,
                             .scale = {0.017f, 0.0175f, 0.0174f},
                             .bias = {-2.1f, -2.0f, -1.8f}};
    const size_t in_bytes = (size_t)ROWS * SIDE * SIDE * 3;
    const size_t out_bytes = in_bytes * sluice_dtype_bytes(dtype);
    const sl_cu_address flags = gpu_alloc(g, ROWS);
    sl_cu_address in[BUFFERS];
    sl_cu_address out[BUFFERS];
    char name[64];
    for (int i = 0; i < BUFFERS; i++) {
        in[i] = gpu_alloc(g, in_bytes);
        out[i] = gpu_alloc(g, out_bytes);
        GPU_DO(g, fill, in[i], (unsigned char)i, in_bytes, g->stream);
        GPU_DO(g, fill, out[i], 0, out_bytes, g->stream);
    }
    GPU_DO(g, fill, flags, mirrored ? SL_ROW_MIRROR : 0, ROWS, g->stream);
    const double copy = (double)(2 * out_bytes) / copy_seconds(g, out, out_bytes);
    const double convert = (double)(in_bytes + out_bytes) / convert_seconds(g, &c, in, out, flags);
    snprintf(name, sizeof(name), "convert_%s_%s%s", sluice_dtype_name(dtype), layout_names[layout],
             mirrored ? "_mirrored" : "");
    gpu_figure(name, convert * 1e-9, "GB/s");
    snprintf(name, sizeof(name), "convert_%s_%s%s_of_copy", sluice_dtype_name(dtype),
             layout_names[layout], mirrored ? "_mirrored" : "");
    gpu_figure(name, 100 * convert / copy, "%");
    gpu_expect(!judged || convert >= 0.8 * copy,
               "%s %s is converted at %.0f GB/s, less than 80 %% of a copy's %.0f GB/s",
               sluice_dtype_name(dtype), layout_names[layout], convert * 1e-9, copy * 1e-9);
    if (dtype == SLUICE_F16 && judged) {
        gpu_figure("device_copy", copy * 1e-9, "GB/s");
    }
    gpu_free(g, flags);
    for (int i = 0; i < BUFFERS; i++) {
        gpu_free(g, in[i]);
        gpu_free(g, out[i]);
    }
}

static void measure_all(const gpu *g)
{
    gpu_warm_up(g);
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            measure(g, dtypes[i], (sluice_layout)layout, false);
            measure(g, dtypes[i], (sluice_layout)layout, true);
        }
    }
}

/* ---- the images ---- */

static bool refuse_fatbin;

sluice_status __real_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);
sluice_status __wrap_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);

/* With --ptx, replaces the fatbin, if there is one, by an image that every driver rejects as too
 * new. */
sluice_status __wrap_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error)
{
    static const char newer[] = ".version 99.0\n.target sm_75\n.address_size 64\n";
    const sluice_status status = __real_sl_conversion_unpack_fatbin(fatbin, error);
    if (refuse_fatbin && status == SLUICE_OK) {
        memcpy(*fatbin, newer, sizeof(newer));
    }
    return status;
}

/* Without kernels, ends the program: a failure, unless they were not built. */
static void expect_kernels(gpu *g)
{
    char text[1024];
    g->device->ops->describe(g->device, text, sizeof(text));
    printf("%s\n", text);
    if (g->device->converts) {
        gpu_expect(!refuse_fatbin || strstr(text, "by PTX") != NULL, "the PTX is not used");
        return;
    }
    gpu_close(g);
    if (!sl_conversion_has_images()) {
        printf("skipped: this build has no kernels\n");
        exit(77);
    }
    gpu_die("this device does not take the kernels: %s", text);
}

int main(int argc, char **argv)
{
    bool exact_only = false;
    for (int i = 1; i < argc; i++) {
        exact_only = exact_only || strcmp(argv[i], "--exact-only") == 0;
        refuse_fatbin = refuse_fatbin || strcmp(argv[i], "--ptx") == 0;
    }
    gpu g;
    gpu_open(&g);
    expect_kernels(&g);
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            const uint64_t wrong = check_variant(&g, dtypes[i], (sluice_layout)layout);
            gpu_expect(wrong == 0, "%s %s: %llu bytes are wrong", sluice_dtype_name(dtypes[i]),
                       layout_names[layout], (unsigned long long)wrong);
        }
    }
    if (!exact_only) {
        measure_all(&g);
    }
    gpu_figure("convert_cases", 8.0 * CASES, "cases");
    gpu_close(&g);
    return gpu_result();
}
