/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_segments.h"

#include <string.h>

enum {
    APP0 = JPEG_APP0,
    APP1 = JPEG_APP0 + 1,
    APP14 = JPEG_APP0 + 14,
    APP_LAST = JPEG_APP0 + 15,
    LENGTH_MAX = 0xFFFF,
    /* minimum lengths of segments that libjpeg accepts */
    JFIF_BYTES = 14,
    ADOBE_BYTES = 12,
    JFIF_THUMBNAIL_AT = 12
};

void sl_jpeg_segments_save(j_decompress_ptr from, bool drop)
{
    jpeg_save_markers(from, APP0, LENGTH_MAX);
    jpeg_save_markers(from, APP14, LENGTH_MAX);
    if (drop) {
        return;
    }
    for (int marker = APP0 + 1; marker <= APP_LAST; marker++) {
        jpeg_save_markers(from, marker, LENGTH_MAX);
    }
    jpeg_save_markers(from, JPEG_COM, LENGTH_MAX);
}

uint32_t sl_jpeg_segments_count(j_decompress_ptr from)
{
    uint32_t count = 0;
    for (jpeg_saved_marker_ptr segment = from->marker_list; segment != NULL;
         segment = segment->next) {
        count++;
    }
    return count;
}

static bool is_jfif(jpeg_saved_marker_ptr segment)
{
    return segment->marker == APP0 && segment->data_length >= JFIF_BYTES &&
           memcmp(segment->data, "JFIF", 5) == 0;
}

static bool is_adobe(jpeg_saved_marker_ptr segment)
{
    return segment->marker == APP14 && segment->data_length >= ADOBE_BYTES &&
           memcmp(segment->data, "Adobe", 5) == 0;
}

/* Writes a JFIF segment without the thumbnail that may follow its fixed part. */
static void write_jfif(j_compress_ptr to, jpeg_saved_marker_ptr segment)
{
    JOCTET data[JFIF_BYTES];
    memcpy(data, segment->data, JFIF_BYTES);
    memset(data + JFIF_THUMBNAIL_AT, 0, JFIF_BYTES - JFIF_THUMBNAIL_AT);
    jpeg_write_marker(to, APP0, data, JFIF_BYTES);
}

void sl_jpeg_orientation_write(j_compress_ptr to, uint32_t orientation)
{
    const JOCTET data[] = {
        'E', 'x', 'i', 'f', 0, 0,                                     /* */
        'M', 'M', 0,   42,  0, 0, 0, 8,                               /* TIFF header */
        0,   1,                                                       /* one entry: */
        1,   18,  0,   3,   0, 0, 0, 1, 0, (JOCTET)orientation, 0, 0, /* orientation, SHORT */
        0,   0,   0,   0                                              /* no other directory */
    };
    jpeg_write_marker(to, APP1, data, sizeof(data));
}

static void write_needed(j_compress_ptr to, jpeg_saved_marker_ptr segment)
{
    if (is_jfif(segment)) {
        write_jfif(to, segment);
    } else if (is_adobe(segment)) {
        jpeg_write_marker(to, APP14, segment->data, segment->data_length);
    }
}

void sl_jpeg_segments_write(j_compress_ptr to, j_decompress_ptr from, uint32_t count, bool drop,
                            uint32_t orientation)
{
    jpeg_saved_marker_ptr segment = from->marker_list;
    for (uint32_t i = 0; i < count; i++, segment = segment->next) {
        if (drop) {
            write_needed(to, segment);
        } else {
            jpeg_write_marker(to, segment->marker, segment->data, segment->data_length);
        }
    }
    if (drop && orientation != 1) {
        sl_jpeg_orientation_write(to, orientation);
    }
}
