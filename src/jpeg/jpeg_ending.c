/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_ending.h"

#include "jpeg_source.h"

enum {
    MARK = 0xFF,
    MARKER_TEM = 0x01,
    MARKER_DHT = 0xC4,
    MARKER_RST7 = JPEG_RST0 + 7,
    MARKER_SOS = 0xDA,
    MARKER_DQT = 0xDB,
    MARKER_DRI = 0xDD,
    MARKER_APP15 = JPEG_APP0 + 15,
    LENGTH_BYTES = 2,
    SCAN_LEAST = 6, /* bytes of a scan's header without components */
    SCAN_COMPONENT = 2
};

bool sl_jpeg_is_complete(j_decompress_ptr cinfo)
{
    for (int i = 0; i < cinfo->num_components; i++) {
        if (cinfo->comp_info[i].quant_table == NULL) {
            return false;
        }
        for (int k = 0; cinfo->progressive_mode && k < DCTSIZE2; k++) {
            if (cinfo->coef_bits == NULL || cinfo->coef_bits[i][k] != 0) {
                return false;
            }
        }
    }
    return true;
}

static bool scan_is_read(const struct jpeg_decompress_struct *cinfo)
{
    return cinfo->input_iMCU_row >= cinfo->total_iMCU_rows;
}

bool sl_jpeg_may_end(j_decompress_ptr cinfo)
{
    return !cinfo->arith_code && !scan_is_read(cinfo) && sl_jpeg_is_complete(cinfo);
}

static size_t segment_length(sl_bytes bytes)
{
    return bytes.size < LENGTH_BYTES ? 0 : (size_t)bytes.data[0] << 8 | bytes.data[1];
}

static bool has_component(const struct jpeg_decompress_struct *cinfo, uint8_t id)
{
    for (int i = 0; i < cinfo->num_components; i++) {
        if (cinfo->comp_info[i].component_id == id) {
            return true;
        }
    }
    return false;
}

/* Returns whether the bytes, from a scan's length on, are a header for this image. */
static bool is_scan_header(const struct jpeg_decompress_struct *cinfo, sl_bytes bytes)
{
    const size_t length = segment_length(bytes);
    const size_t components = bytes.size > LENGTH_BYTES ? bytes.data[LENGTH_BYTES] : 0;
    if (components == 0 || length != SCAN_LEAST + SCAN_COMPONENT * components ||
        length > bytes.size) {
        return false;
    }
    for (size_t i = 0; i < components; i++) {
        if (!has_component(cinfo, bytes.data[LENGTH_BYTES + 1 + SCAN_COMPONENT * i])) {
            return false;
        }
    }
    return true;
}

/* Drops bytes up to and including the next marker, and returns it; 0: none. */
static int jpeg_ending_next_marker(sl_bytes *rest)
{
    for (size_t i = 0; i + 1 < rest->size; i++) {
        const int marker = rest->data[i + 1];
        if (rest->data[i] == MARK && marker != 0 && marker != MARK) {
            *rest = (sl_bytes){rest->data + i + 2, rest->size - i - 2};
            return marker;
        }
    }
    return 0;
}

static bool stands_alone(int marker)
{
    return marker == MARKER_TEM || (marker >= JPEG_RST0 && marker <= MARKER_RST7);
}

/* Returns whether a marker with a length may be between two scans. */
static bool is_between_scans(int marker)
{
    return marker == MARKER_DHT || marker == MARKER_DQT || marker == MARKER_DRI ||
           marker == JPEG_COM || (marker >= JPEG_APP0 && marker <= MARKER_APP15);
}

/* Returns whether libjpeg must continue: another scan follows, after segments, or an extra
 * interval, which means that this scan was misread. */
static bool must_go_on(const struct jpeg_decompress_struct *cinfo, sl_bytes rest, int marker)
{
    marker = marker != 0 ? marker : jpeg_ending_next_marker(&rest);
    while (stands_alone(marker) || is_between_scans(marker)) {
        const size_t skip = stands_alone(marker) ? 0 : segment_length(rest);
        if (stands_alone(marker) && marker != MARKER_TEM && cinfo->restart_interval > 0) {
            return true;
        }
        if (is_between_scans(marker) && (skip < LENGTH_BYTES || skip > rest.size)) {
            return false;
        }
        rest = (sl_bytes){rest.data + skip, rest.size - skip};
        marker = jpeg_ending_next_marker(&rest);
    }
    return marker == MARKER_SOS && is_scan_header(cinfo, rest);
}

void sl_jpeg_ending_check(j_decompress_ptr cinfo)
{
    struct jpeg_source_mgr *source = cinfo->src;
    if (cinfo->arith_code || !scan_is_read(cinfo) || !sl_jpeg_is_complete(cinfo) ||
        must_go_on(cinfo, (sl_bytes){source->next_input_byte, source->bytes_in_buffer},
                   cinfo->unread_marker)) {
        return;
    }
    cinfo->unread_marker = 0;
    sl_jpeg_source_end(cinfo);
}
