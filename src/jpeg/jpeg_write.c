/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_write.h"

#include "error.h"
#include "jpeg_compressor.h"
#include "jpeg_segments.h"
#include "memory.h"

#include <string.h>

#define STAGE "jpeg"
#define FIRST ((size_t)64 << 10)

enum { ICC_HEAD = 14, ICC_SPACE = 16, SEGMENT_HEAD = 4 };

typedef struct writer {
    const sl_jpeg_picture *picture;
    bool grey;
    JSAMPROW row;
    sl_jpeg_compressor out;
} writer;

static bool is_grey(const sl_jpeg_picture *picture)
{
    const size_t pixels = (size_t)picture->width * picture->height;
    for (size_t i = 0; i < pixels; i++) {
        const uint8_t *rgb = picture->rgb + 3 * i;
        if (rgb[0] != rgb[1] || rgb[0] != rgb[2]) {
            return false;
        }
    }
    return true;
}

/* ---- segments ---- */

/* Returns whether the first piece of a profile describes the colours that are written. */
static bool jpeg_write_fits(sl_bytes segment, bool grey)
{
    return segment.size >= ICC_HEAD + ICC_SPACE + 4 &&
           memcmp(segment.data + ICC_HEAD + ICC_SPACE, grey ? "GRAY" : "RGB ", 4) == 0;
}

/* Writes the pieces of the profile, in their order, unchanged. */
static void write_profile(j_compress_ptr out, sl_bytes jpeg, bool grey)
{
    static const uint8_t signature[] = "ICC_PROFILE"; /* with its NUL */
    bool wanted = false;
    size_t at = 2;
    while (jpeg.size > at + SEGMENT_HEAD && jpeg.data[at] == 0xFF) {
        const uint8_t marker = jpeg.data[at + 1];
        if (marker == 0xFF) { /* a fill byte */
            at++;
            continue;
        }
        const size_t length = (size_t)jpeg.data[at + 2] << 8 | jpeg.data[at + 3];
        if (marker == 0xDA || marker < 0xC0 || length < 2 || length > jpeg.size - at - 2) {
            return;
        }
        const sl_bytes segment = {jpeg.data + at + SEGMENT_HEAD, length - 2};
        if (marker == JPEG_APP0 + 2 && segment.size > ICC_HEAD &&
            memcmp(segment.data, signature, sizeof(signature)) == 0) {
            wanted =
                wanted || (segment.data[sizeof(signature)] == 1 && jpeg_write_fits(segment, grey));
            if (wanted) {
                jpeg_write_marker(out, JPEG_APP0 + 2, segment.data, (unsigned)segment.size);
            }
        }
        at += 2 + length;
    }
}

/* ---- pixels ---- */

/* Writes the rows; libjpeg's interface takes them without const. */
static void write_rows(writer *w)
{
    const sl_jpeg_picture *picture = w->picture;
    const size_t bytes = (size_t)picture->width * 3;
    for (uint32_t y = 0; y < picture->height; y++) {
        const uint8_t *rgb = picture->rgb + y * bytes;
        for (uint32_t x = 0; w->grey && x < picture->width; x++) {
            w->row[x] = rgb[(size_t)x * 3];
        }
        if (!w->grey) {
            memcpy(w->row, rgb, bytes);
        }
        (void)jpeg_write_scanlines(&w->out.cinfo, &w->row, 1);
    }
}

static void jpeg_write_work(void *argument)
{
    writer *w = argument;
    j_compress_ptr out = &w->out.cinfo;
    out->image_width = w->picture->width;
    out->image_height = w->picture->height;
    out->input_components = w->grey ? 1 : 3;
    out->in_color_space = w->grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(out);
    jpeg_set_quality(out, (int)w->picture->quality, TRUE);
    out->dct_method = JDCT_ISLOW;
    out->optimize_coding = (boolean)w->picture->optimise;
    jpeg_start_compress(out, TRUE);
    if (w->picture->orientation > 1) {
        sl_jpeg_orientation_write(out, w->picture->orientation);
    }
    if (w->picture->profile_of.size > 0) {
        write_profile(out, w->picture->profile_of, w->grey);
    }
    write_rows(w);
    jpeg_finish_compress(out);
}

static sluice_status jpeg_write_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for a JPEG");
}

sluice_status sl_jpeg_write(const sl_jpeg_picture *picture, sl_scratch *scratch, uint8_t **jpeg,
                            size_t *bytes, sluice_error *error)
{
    writer *w = sl_calloc(1, sizeof(*w));
    *jpeg = NULL;
    if (w == NULL) {
        return jpeg_write_no_memory(error);
    }
    const size_t mark = sl_scratch_mark(scratch);
    w->picture = picture;
    w->grey = is_grey(picture);
    w->row = sl_scratch_take(scratch, (size_t)picture->width * 3);
    sluice_status status =
        sl_jpeg_compressor_open(&w->out, FIRST, SIZE_MAX / 4) && w->row != NULL
            ? sl_jpeg_compressor_run(&w->out, STAGE, scratch, jpeg_write_work, w, error)
            : jpeg_write_no_memory(error);
    if (status == SLUICE_OK) {
        *bytes = sl_jpeg_compressor_bytes(&w->out).size;
        *jpeg = w->out.bytes; /* owned by the caller now */
        w->out.bytes = NULL;
    }
    sl_jpeg_compressor_close(&w->out);
    sl_scratch_release(scratch, mark);
    sl_free(w);
    return status;
}
