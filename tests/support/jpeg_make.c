/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_make.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

static const jpeg_options defaults;

uint32_t jpeg_channels(const jpeg_options *options)
{
    switch (options != NULL ? options->colour : JPEG_YCBCR) {
    case JPEG_GREY:
        return 1;
    case JPEG_CMYK:
    case JPEG_YCCK:
        return 4;
    default:
        return 3;
    }
}

static void fatal(j_common_ptr cinfo)
{
    cinfo->err->output_message(cinfo);
    abort();
}

static void set_colour(j_compress_ptr cinfo, const jpeg_options *options)
{
    static const J_COLOR_SPACE in[] = {JCS_RGB, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_CMYK};
    static const J_COLOR_SPACE stored[] = {JCS_YCbCr, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK};
    cinfo->input_components = (int)jpeg_channels(options);
    cinfo->in_color_space = in[options->colour];
    jpeg_set_defaults(cinfo);
    jpeg_set_colorspace(cinfo, stored[options->colour]);
    int usual = options->colour == JPEG_YCBCR || options->colour == JPEG_YCCK ? 2 : 1;
    for (int c = 0; c < cinfo->num_components; c++) {
        cinfo->comp_info[c].h_samp_factor = 1;
        cinfo->comp_info[c].v_samp_factor = 1;
    }
    cinfo->comp_info[0].h_samp_factor = options->h_factor > 0 ? options->h_factor : usual;
    cinfo->comp_info[0].v_samp_factor = options->v_factor > 0 ? options->v_factor : usual;
    if (options->colour == JPEG_YCCK) { /* black has luma's resolution */
        cinfo->comp_info[3].h_samp_factor = cinfo->comp_info[0].h_samp_factor;
        cinfo->comp_info[3].v_samp_factor = cinfo->comp_info[0].v_samp_factor;
    }
}

static void write_orientation(j_compress_ptr cinfo, const jpeg_options *options)
{
    uint8_t segment[] = {'E', 'x', 'i',  'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, /* header */
                         1,   0,   0x12, 1,   3, 0, 1,   0,   0,  0, 0, 0, 0, 0, /* one entry */
                         0,   0,   0,    0};
    segment[24] = (uint8_t)options->orientation;
    if (options->exif_big_endian) {
        const uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1};
        memcpy(segment + 6, big, sizeof(big));
        segment[24] = 0;
        segment[25] = (uint8_t)options->orientation;
    }
    if (options->exif_long) {
        segment[options->exif_big_endian ? 19 : 18] = 4;
        segment[25] = 0;
        segment[options->exif_big_endian ? 27 : 24] = (uint8_t)options->orientation;
    }
    jpeg_write_marker(cinfo, JPEG_APP0 + 1, segment, sizeof(segment));
}

jpeg_file jpeg_make(const uint8_t *pixels, uint32_t width, uint32_t height,
                    const jpeg_options *options)
{
    options = options != NULL ? options : &defaults;
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct cinfo;
    unsigned char *data = NULL;
    unsigned long size = 0;
    cinfo.err = jpeg_std_error(&errors);
    errors.error_exit = fatal;
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &data, &size);
    cinfo.image_width = width;
    cinfo.image_height = height;
    set_colour(&cinfo, options);
    jpeg_set_quality(&cinfo, options->quality > 0 ? options->quality : 90, TRUE);
    cinfo.restart_interval = (unsigned)options->restart_interval;
    cinfo.arith_code = options->arithmetic;
    cinfo.optimize_coding = options->own_tables;
    jpeg_scan_info scans[4] = {0};
    if (options->progressive) {
        jpeg_simple_progression(&cinfo);
    } else if (options->separate_scans) {
        for (int c = 0; c < cinfo.num_components; c++) {
            scans[c] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {c}, .Se = 63};
        }
        cinfo.scan_info = scans;
        cinfo.num_scans = cinfo.num_components;
    }
    jpeg_start_compress(&cinfo, TRUE);
    if (options->orientation > 0) {
        write_orientation(&cinfo, options);
    }
    size_t stride = (size_t)width * jpeg_channels(options);
    JSAMPLE *row = malloc(stride); /* libjpeg takes only non-const rows */
    if (row == NULL) {
        abort();
    }
    while (cinfo.next_scanline < height) {
        memcpy(row, pixels + stride * cinfo.next_scanline, stride);
        (void)jpeg_write_scanlines(&cinfo, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return (jpeg_file){data, size};
}

jpeg_file jpeg_make_pattern(uint32_t width, uint32_t height, uint32_t seed,
                            const jpeg_options *options)
{
    uint32_t channels = jpeg_channels(options);
    uint8_t *pixels = malloc((size_t)width * height * channels);
    if (pixels == NULL) {
        abort();
    }
    pattern_fill(pixels, width, height, channels, seed);
    jpeg_file file = jpeg_make(pixels, width, height, options);
    free(pixels);
    return file;
}

void jpeg_free(jpeg_file *file)
{
    free(file->data);
    *file = (jpeg_file){0};
}

static uint32_t mix(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7FEB352DU;
    value ^= value >> 15;
    value *= 0x846CA68BU;
    return value ^ value >> 16;
}

void pattern_fill(uint8_t *pixels, uint32_t width, uint32_t height, uint32_t channels,
                  uint32_t seed)
{
    double *across_at = malloc(((size_t)width + height + 1) * sizeof(double));
    if (across_at == NULL) {
        abort();
    }
    double *down_at = across_at + width;
    for (uint32_t c = 0; c < channels; c++) {
        uint32_t random = mix(seed * 16 + c + 1);
        double across = 0.02 + (random & 63) * 0.002;
        double down = 0.02 + (random >> 6 & 63) * 0.002;
        double base = 90 + (random >> 12 & 63);
        for (uint32_t x = 0; x < width; x++) {
            across_at[x] = 60 * sin(x * across);
        }
        for (uint32_t y = 0; y < height; y++) {
            down_at[y] = cos(y * down);
        }
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                double edge = ((x / 37) ^ (y / 29)) & 1 ? 30 : 0;
                double noise = mix(random ^ (y * 65537 + x)) & 7;
                double value = base + across_at[x] * down_at[y] + edge + noise;
                value = value < 0 ? 0 : value;
                pixels[((size_t)y * width + x) * channels + c] =
                    (uint8_t)(value > 255 ? 255 : value);
            }
        }
    }
    free(across_at);
}

typedef struct plain_errors {
    struct jpeg_error_mgr pub;
    jmp_buf jump;
} plain_errors;

static void give_up(j_common_ptr cinfo)
{
    longjmp(((plain_errors *)(void *)cinfo->err)->jump, 1);
}

/* Ignores the warning that does not concern the pixels. */
static void count_warning(j_common_ptr cinfo, int level)
{
    cinfo->err->num_warnings += level < 0 && cinfo->err->msg_code != JWRN_JFIF_MAJOR;
}

bool jpeg_can_arithmetic(void)
{
    jpeg_options options = {.arithmetic = true};
    plain_errors errors;
    struct jpeg_compress_struct cinfo;
    unsigned char *volatile data = NULL;
    unsigned char *buffer = NULL;
    unsigned long size = 0;
    volatile bool can = false;
    cinfo.err = jpeg_std_error(&errors.pub);
    errors.pub.error_exit = give_up;
    jpeg_create_compress(&cinfo);
    if (setjmp(errors.jump) == 0) {
        jpeg_mem_dest(&cinfo, &buffer, &size);
        data = buffer;
        cinfo.image_width = 8;
        cinfo.image_height = 8;
        set_colour(&cinfo, &options);
        cinfo.arith_code = TRUE;
        jpeg_start_compress(&cinfo, TRUE);
        can = true;
    }
    jpeg_destroy_compress(&cinfo);
    free(data);
    return can;
}

uint8_t *jpeg_plain_decode(const uint8_t *data, size_t size, uint32_t *width, uint32_t *height,
                           uint32_t *channels, long *warnings)
{
    return jpeg_scaled_decode(data, size, 1, width, height, channels, warnings);
}

// NOLINTNEXTLINE(readability-function-size): four results
uint8_t *jpeg_scaled_decode(const uint8_t *data, size_t size, uint32_t denominator, uint32_t *width,
                            uint32_t *height, uint32_t *channels, long *warnings)
{
    plain_errors errors;
    struct jpeg_decompress_struct cinfo;
    uint8_t *volatile pixels = NULL;
    cinfo.err = jpeg_std_error(&errors.pub);
    errors.pub.error_exit = give_up;
    errors.pub.emit_message = count_warning;
    jpeg_create_decompress(&cinfo);
    if (setjmp(errors.jump) != 0) {
        jpeg_destroy_decompress(&cinfo);
        free(pixels);
        return NULL;
    }
    jpeg_mem_src(&cinfo, data, size);
    (void)jpeg_read_header(&cinfo, TRUE);
    cinfo.scale_num = 1;
    cinfo.scale_denom = denominator;
    (void)jpeg_start_decompress(&cinfo);
    *width = cinfo.output_width;
    *height = cinfo.output_height;
    *channels = (uint32_t)cinfo.output_components;
    size_t stride = (size_t)cinfo.output_width * *channels;
    pixels = malloc(stride * cinfo.output_height);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW rows[1] = {pixels + stride * cinfo.output_scanline};
        (void)jpeg_read_scanlines(&cinfo, rows, 1);
    }
    (void)jpeg_finish_decompress(&cinfo);
    if (warnings != NULL) {
        *warnings = errors.pub.num_warnings;
    }
    jpeg_destroy_decompress(&cinfo);
    return pixels;
}
