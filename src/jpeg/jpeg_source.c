/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_source.h"

#include "jpeg_ending.h"

#include <assert.h>

#include <jerror.h>

static const JOCTET end_of_image[2] = {0xFF, JPEG_EOI};

static sl_jpeg_source *source_of(j_decompress_ptr cinfo)
{
    return (sl_jpeg_source *)(void *)cinfo->src;
}

static void jpeg_source_nothing(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

static boolean fill_input_buffer(j_decompress_ptr cinfo)
{
    sl_jpeg_source *source = source_of(cinfo);
    source->ended = true;
    source->pub.next_input_byte = end_of_image;
    source->pub.bytes_in_buffer = sizeof(end_of_image);
    if (source->past_end == SL_JPEG_PAST_END_ERROR ||
        (source->past_end == SL_JPEG_PAST_END_LAST_SCAN && !sl_jpeg_may_end(cinfo))) {
        ERREXIT(cinfo, JERR_INPUT_EOF);
    }
    return TRUE;
}

static void skip_input_data(j_decompress_ptr cinfo, long bytes)
{
    struct jpeg_source_mgr *pub = cinfo->src;
    size_t skip = bytes > 0 ? (size_t)bytes : 0;
    if (skip > pub->bytes_in_buffer) {
        (void)fill_input_buffer(cinfo);
        return;
    }
    pub->next_input_byte += skip;
    pub->bytes_in_buffer -= skip;
}

void sl_jpeg_source_begin(sl_jpeg_source *source, j_decompress_ptr cinfo, sl_bytes bytes)
{
    *source = (sl_jpeg_source){
        .pub = {.next_input_byte = bytes.data,
                .bytes_in_buffer = bytes.size,
                .init_source = jpeg_source_nothing,
                .fill_input_buffer = fill_input_buffer,
                .skip_input_data = skip_input_data,
                .resync_to_restart = jpeg_resync_to_restart,
                .term_source = jpeg_source_nothing},
        .bytes = bytes,
        .past_end = SL_JPEG_PAST_END_ERROR,
    };
    cinfo->src = &source->pub;
}

void sl_jpeg_source_end(j_decompress_ptr cinfo)
{
    source_of(cinfo)->past_end = SL_JPEG_PAST_END_MARKER;
    (void)fill_input_buffer(cinfo);
}

int64_t sl_jpeg_source_offset(const sl_jpeg_source *source)
{
    if (source->ended) {
        return (int64_t)source->bytes.size;
    }
    assert(source->pub.bytes_in_buffer <= source->bytes.size);
    return (int64_t)(source->bytes.size - source->pub.bytes_in_buffer);
}
