/* SPDX-License-Identifier: Apache-2.0 */
#include "photo_jpeg.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <setjmp.h>

struct failure {
    struct jpeg_error_mgr manager; /* first, so that libjpeg's pointer is ours */
    jmp_buf jump;
};

static void on_error(j_common_ptr common)
{
    struct failure *failure = (struct failure *)common->err;
    longjmp(failure->jump, 1);
}

/* Inverts the decoders' conversion of Adobe's inverted CMYK: R = C*K/255. */
static void to_cmyk(const uint8_t *rgb, uint8_t *cmyk, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, rgb += 3, cmyk += 4) {
        uint8_t most = rgb[0] > rgb[1] ? rgb[0] : rgb[1];
        most = rgb[2] > most ? rgb[2] : most;
        for (int c = 0; c < 3; c++) {
            cmyk[c] = (uint8_t)(most == 0 ? 255 : rgb[c] * 255 / most);
        }
        cmyk[3] = most;
    }
}

/* Computes BT.601 luma in fixed point, JFIF's definition of grey. */
static void to_grey(const uint8_t *rgb, uint8_t *grey, uint32_t width)
{
    for (uint32_t x = 0; x < width; x++, rgb += 3) {
        grey[x] = (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
    }
}

static bool reserve_row(struct photo_jpeg *jpeg, const struct photo *photo)
{
    size_t bytes = (size_t)photo->width * 4;
    if (bytes > jpeg->row_bytes) {
        free(jpeg->row);
        jpeg->row = malloc(bytes);
        jpeg->row_bytes = jpeg->row == NULL ? 0 : bytes;
    }
    return jpeg->row != NULL;
}

static void configure(struct jpeg_compress_struct *encoder, const struct photo *photo)
{
    bool cmyk = photo->colour == PHOTO_CMYK;
    bool grey = photo->colour == PHOTO_GREY;
    encoder->image_width = photo->width;
    encoder->image_height = photo->height;
    encoder->input_components = cmyk ? 4 : (grey ? 1 : 3);
    encoder->in_color_space = cmyk ? JCS_CMYK : (grey ? JCS_GRAYSCALE : JCS_RGB);
    jpeg_set_defaults(encoder);
    jpeg_set_quality(encoder, photo->quality, TRUE);
    encoder->optimize_coding = TRUE; /* like 98 % of ImageNet */
    if (!cmyk && !grey) {
        encoder->comp_info[0].h_samp_factor = photo->colour == PHOTO_444 ? 1 : 2;
        encoder->comp_info[0].v_samp_factor = photo->colour == PHOTO_420 ? 2 : 1;
    }
    if (photo->progressive) {
        jpeg_simple_progression(encoder);
    }
}

static uint8_t *convert_row(const struct photo_jpeg *jpeg, const struct photo *photo, uint8_t *rgb)
{
    if (photo->colour == PHOTO_CMYK) {
        to_cmyk(rgb, jpeg->row, photo->width);
        return jpeg->row;
    }
    if (photo->colour == PHOTO_GREY) {
        to_grey(rgb, jpeg->row, photo->width);
        return jpeg->row;
    }
    return rgb;
}

bool photo_jpeg_encode(struct photo_jpeg *jpeg, const struct photo *photo, uint8_t *rgb)
{
    if (!reserve_row(jpeg, photo)) {
        return false;
    }
    struct jpeg_compress_struct encoder;
    struct failure failure;
    encoder.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_error;
    /* libjpeg offers no other way out of an error. */
    if (setjmp(failure.jump) != 0) { // NOLINT(cert-err52-cpp)
        jpeg_destroy_compress(&encoder);
        return false;
    }
    jpeg_create_compress(&encoder);
    jpeg->size = jpeg->capacity;
    unsigned char *before = jpeg->bytes;
    jpeg_mem_dest(&encoder, &jpeg->bytes, &jpeg->size);
    configure(&encoder, photo);
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < photo->height) {
        uint8_t *line = rgb + (size_t)encoder.next_scanline * photo->width * 3;
        JSAMPROW row = convert_row(jpeg, photo, line);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    if (jpeg->bytes != before) {
        free(before);
        jpeg->capacity = jpeg->size;
    }
    return true;
}

void photo_jpeg_free(struct photo_jpeg *jpeg)
{
    free(jpeg->bytes);
    free(jpeg->row);
    *jpeg = (struct photo_jpeg){0};
}
