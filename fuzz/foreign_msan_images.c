/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_msan_images: wraps calls to libjpeg, libpng and libwebp. libjpeg and libpng store their
 * state in our memory, which sl_poison_foreign has marked. Threads: those of a decoder or
 * encoder. */
#include "foreign_msan.h"

#include <stdio.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>
#include <webp/encode.h>

/* NOLINTBEGIN: the names are the linker's */

/* ---- libjpeg ---- */

/* libjpeg calls our functions with at most this many arguments, whose shadows it does not set. */
enum { ARGUMENTS = 6 };

static void (*format_message)(j_common_ptr cinfo, char *text);

static void format_written(j_common_ptr cinfo, char *text)
{
    format_message(cinfo, text);
    __msan_unpoison(text, JMSG_LENGTH_MAX);
}

FOREIGN_WRAPPED(struct jpeg_error_mgr *, jpeg_std_error, (struct jpeg_error_mgr * errors))
{
    foreign_begin();
    (void)__real_jpeg_std_error(errors);
    foreign_end();
    __msan_unpoison(errors, sizeof(*errors));
    format_message = errors->format_message;
    errors->format_message = format_written;
    return errors;
}

FOREIGN_WRAPPED(void, jpeg_CreateDecompress,
                (j_decompress_ptr cinfo, int version, size_t structure))
{
    foreign_begin();
    __real_jpeg_CreateDecompress(cinfo, version, structure);
    foreign_end();
    __msan_unpoison(cinfo, sizeof(*cinfo));
    __msan_unpoison(cinfo->mem, sizeof(*cinfo->mem));
}

FOREIGN_WRAPPED(int, jpeg_read_header, (j_decompress_ptr cinfo, boolean wants_image))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    const int result = __real_jpeg_read_header(cinfo, wants_image);
    foreign_end();
    __msan_unpoison(cinfo->comp_info, (size_t)cinfo->num_components * sizeof(*cinfo->comp_info));
    return result;
}

FOREIGN_WRAPPED(boolean, jpeg_start_decompress, (j_decompress_ptr cinfo))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    const boolean result = __real_jpeg_start_decompress(cinfo);
    foreign_end();
    return result;
}

FOREIGN_WRAPPED(jvirt_barray_ptr *, jpeg_read_coefficients, (j_decompress_ptr cinfo))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    jvirt_barray_ptr *arrays = __real_jpeg_read_coefficients(cinfo);
    foreign_end();
    return arrays;
}

FOREIGN_WRAPPED(void, jpeg_crop_scanline,
                (j_decompress_ptr cinfo, JDIMENSION *x, JDIMENSION *width))
{
    foreign_begin();
    __real_jpeg_crop_scanline(cinfo, x, width);
    foreign_end();
    __msan_unpoison(x, sizeof(*x));
    __msan_unpoison(width, sizeof(*width));
}

FOREIGN_WRAPPED(JDIMENSION, jpeg_read_scanlines,
                (j_decompress_ptr cinfo, JSAMPARRAY rows, JDIMENSION most))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    const JDIMENSION count = __real_jpeg_read_scanlines(cinfo, rows, most);
    foreign_end();
    for (JDIMENSION i = 0; i < count; i++) {
        __msan_unpoison(rows[i], (size_t)cinfo->output_width * (size_t)cinfo->output_components);
    }
    return count;
}

/* ---- libjpeg, of what makes seeds ---- */

/* State of jpeg_mem_dest. */
static unsigned char **made;
static unsigned long *made_bytes;

FOREIGN_WRAPPED(void, jpeg_CreateCompress, (j_compress_ptr cinfo, int version, size_t structure))
{
    foreign_begin();
    __real_jpeg_CreateCompress(cinfo, version, structure);
    foreign_end();
    __msan_unpoison(cinfo, sizeof(*cinfo));
    __msan_unpoison(cinfo->mem, sizeof(*cinfo->mem));
}

FOREIGN_WRAPPED(void, jpeg_set_defaults, (j_compress_ptr cinfo))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    __real_jpeg_set_defaults(cinfo);
    foreign_end();
    __msan_unpoison(cinfo->comp_info, MAX_COMPONENTS * sizeof(*cinfo->comp_info));
}

FOREIGN_WRAPPED(void, jpeg_mem_dest,
                (j_compress_ptr cinfo, unsigned char **data, unsigned long *bytes))
{
    foreign_begin();
    __real_jpeg_mem_dest(cinfo, data, bytes);
    foreign_end();
    __msan_unpoison(cinfo->dest, sizeof(*cinfo->dest));
    made = data;
    made_bytes = bytes;
}

FOREIGN_WRAPPED(void, jpeg_finish_compress, (j_compress_ptr cinfo))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    __real_jpeg_finish_compress(cinfo);
    foreign_end();
    if (made != NULL) {
        __msan_unpoison(made, sizeof(*made));
        __msan_unpoison(made_bytes, sizeof(*made_bytes));
        __msan_unpoison(*made, *made_bytes);
    }
    made = NULL;
}

/* ---- libpng ---- */

static _Thread_local size_t row_bytes; /* maximum row size of the image being read */
static _Thread_local png_error_ptr own_error;
static _Thread_local png_error_ptr own_warning;

static void error_written(png_structp png, png_const_charp text)
{
    __msan_unpoison_string(text);
    own_error(png, text);
    png_longjmp(png, 1);
}

static void warning_written(png_structp png, png_const_charp text)
{
    __msan_unpoison_string(text);
    own_warning(png, text);
}

FOREIGN_WRAPPED(png_structp, png_create_read_struct_2,
                (png_const_charp version, png_voidp error_data, png_error_ptr error,
                 png_error_ptr warning, png_voidp memory_data, png_malloc_ptr take,
                 png_free_ptr give))
{
    own_error = error;
    own_warning = warning;
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    png_structp png = __real_png_create_read_struct_2(version, error_data, error_written,
                                                      warning_written, memory_data, take, give);
    foreign_end();
    return png;
}

FOREIGN_WRAPPED(void, png_read_info, (png_structp png, png_infop info))
{
    foreign_begin();
    __real_png_read_info(png, info);
    foreign_end();
    const size_t depth = png_get_bit_depth(png, info) == 16 ? 2 : 1;
    row_bytes = (size_t)png_get_image_width(png, info) * png_get_channels(png, info) * depth;
}

FOREIGN_WRAPPED(void, png_read_row, (png_structp png, png_bytep row, png_bytep shown))
{
    __msan_unpoison_param(ARGUMENTS);
    foreign_begin();
    __real_png_read_row(png, row, shown);
    foreign_end();
    __msan_unpoison(row, row != NULL ? row_bytes : 0);
}

/* ---- libwebp ---- */

static _Thread_local const WebPDecoderConfig *of_pieces;

static void unpoison_output(const WebPDecoderConfig *config)
{
    __msan_unpoison(config->output.u.RGBA.rgba, config->output.u.RGBA.size);
}

FOREIGN_WRAPPED(int, WebPInitDecoderConfigInternal, (WebPDecoderConfig * config, int version))
{
    const int result = __real_WebPInitDecoderConfigInternal(config, version);
    __msan_unpoison(config, sizeof(*config));
    return result;
}

FOREIGN_WRAPPED(VP8StatusCode, WebPDecode,
                (const uint8_t *data, size_t bytes, WebPDecoderConfig *config))
{
    __msan_check_mem_is_initialized(data, bytes);
    const VP8StatusCode status = __real_WebPDecode(data, bytes, config);
    unpoison_output(config);
    return status;
}

FOREIGN_WRAPPED(WebPIDecoder *, WebPIDecode,
                (const uint8_t *data, size_t bytes, WebPDecoderConfig *config))
{
    of_pieces = config;
    return __real_WebPIDecode(data, bytes, config);
}

FOREIGN_WRAPPED(VP8StatusCode, WebPIUpdate,
                (WebPIDecoder * decoder, const uint8_t *data, size_t bytes))
{
    const VP8StatusCode status = __real_WebPIUpdate(decoder, data, bytes);
    unpoison_output(of_pieces);
    return status;
}

/* ---- libwebp, of what makes seeds ---- */

FOREIGN_WRAPPED(int, WebPConfigInitInternal,
                (WebPConfig * config, WebPPreset preset, float quality, int version))
{
    const int result = __real_WebPConfigInitInternal(config, preset, quality, version);
    __msan_unpoison(config, sizeof(*config));
    return result;
}

FOREIGN_WRAPPED(int, WebPPictureInitInternal, (WebPPicture * picture, int version))
{
    const int result = __real_WebPPictureInitInternal(picture, version);
    __msan_unpoison(picture, sizeof(*picture));
    return result;
}

FOREIGN_WRAPPED(void, WebPMemoryWriterInit, (WebPMemoryWriter * writer))
{
    __real_WebPMemoryWriterInit(writer);
    __msan_unpoison(writer, sizeof(*writer));
}

FOREIGN_WRAPPED(int, WebPEncode, (const WebPConfig *config, WebPPicture *picture))
{
    const int result = __real_WebPEncode(config, picture);
    const WebPMemoryWriter *writer = picture->custom_ptr;
    __msan_unpoison(writer->mem, writer->size);
    return result;
}
/* NOLINTEND */
