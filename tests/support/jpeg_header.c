/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_header.h"

#include "jpeg_make.h"
#include "jpeg_segments.h"
#include "jpeg_zigzag.h"
#include "test.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef struct library {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf out;
    bool exif; /* there is an APP1 segment */
} library;

static void leave(j_common_ptr cinfo)
{
    library *l = cinfo->client_data;
    longjmp(l->out, 1);
}

/* Ignores warnings about unknown JFIF versions, as the decoder does (jpeg_error.c). */
static void pass_over(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static bool same_quantizers(const sl_jpeg_frame_component *ours, const JQUANT_TBL *theirs)
{
    for (int i = 0; theirs != NULL && i < DCTSIZE2; i++) {
        const uint8_t *at = ours->quantizers + (ours->wide ? 2 * i : i);
        const int value = ours->wide ? at[0] << 8 | at[1] : at[0];
        if (theirs->quantval[sl_jpeg_natural_order[i]] != value) {
            return false;
        }
    }
    return theirs != NULL;
}

static bool same_code(const sl_huffman_code *ours, const JHUFF_TBL *theirs)
{
    size_t symbols = 0;
    for (int length = 1; length <= 16; length++) {
        symbols += ours->bits[length];
    }
    return theirs != NULL && memcmp(theirs->bits + 1, ours->bits + 1, 16) == 0 &&
           memcmp(theirs->huffval, ours->symbols, symbols) == 0;
}

static const char *component_difference(j_decompress_ptr cinfo, const sl_jpeg_frame *frame, int i)
{
    const jpeg_component_info *theirs = &cinfo->comp_info[i];
    const sl_jpeg_frame_component *ours = &frame->components[i];
    const bool alone = frame->component_count == 1;
    if (cinfo->cur_comp_info[i] != theirs) {
        return "the order of the components";
    }
    if (!alone && (theirs->h_samp_factor != (i == 0 ? (int)frame->across : 1) ||
                   theirs->v_samp_factor != (i == 0 ? (int)frame->down : 1))) {
        return "a sampling factor";
    }
    if (!same_quantizers(ours, cinfo->quant_tbl_ptrs[theirs->quant_tbl_no])) {
        return "a quantisation table";
    }
    if (!same_code(&ours->dc, cinfo->dc_huff_tbl_ptrs[theirs->dc_tbl_no]) ||
        !same_code(&ours->ac, cinfo->ac_huff_tbl_ptrs[theirs->ac_tbl_no])) {
        return "a Huffman code";
    }
    return NULL;
}

static const char *difference(j_decompress_ptr cinfo, const sl_jpeg_frame *frame, sl_bytes jpeg)
{
    if (cinfo->image_width != frame->width || cinfo->image_height != frame->height) {
        return "the size";
    }
    if (cinfo->progressive_mode || cinfo->arith_code || cinfo->data_precision != 8 ||
        cinfo->comps_in_scan != cinfo->num_components || cinfo->Ss != 0 ||
        cinfo->Se != DCTSIZE2 - 1 || cinfo->Ah != 0 || cinfo->Al != 0) {
        return "the kind of coding";
    }
    if (cinfo->num_components != (int)frame->component_count ||
        cinfo->jpeg_color_space != (cinfo->num_components == 1 ? JCS_GRAYSCALE : JCS_YCbCr)) {
        return "the colours";
    }
    if (cinfo->restart_interval != frame->interval) {
        return "the restart interval";
    }
    if (cinfo->src->next_input_byte != jpeg.data + frame->scan) {
        return "where the scan begins";
    }
    for (int i = 0; i < cinfo->num_components; i++) {
        const char *found = component_difference(cinfo, frame, i);
        if (found != NULL) {
            return found;
        }
    }
    return (sl_jpeg_segments_count(cinfo) > 0) == frame->has_app1 ? NULL : "an APP1 segment";
}

const char *jpeg_header_difference(sl_bytes jpeg, bool *taken)
{
    sl_jpeg_frame frame;
    library l;
    *taken = sl_jpeg_frame_read(&frame, jpeg);
    if (!*taken) {
        return NULL;
    }
    l.cinfo.err = jpeg_std_error(&l.errors);
    l.errors.error_exit = leave;
    l.errors.emit_message = pass_over;
    jpeg_create_decompress(&l.cinfo);
    l.cinfo.client_data = &l;
    if (setjmp(l.out) != 0) {
        jpeg_destroy_decompress(&l.cinfo);
        return "libjpeg refuses the header";
    }
    jpeg_mem_src(&l.cinfo, jpeg.data, jpeg.size);
    jpeg_save_markers(&l.cinfo, JPEG_APP0 + 1, 1);
    (void)jpeg_read_header(&l.cinfo, TRUE);
    const char *found = difference(&l.cinfo, &frame, jpeg);
    jpeg_destroy_decompress(&l.cinfo);
    return found;
}

void jpeg_put(jpeg_pieces *pieces, const void *data, size_t size)
{
    assert_true(size <= sizeof(pieces->data) - pieces->size);
    memcpy(pieces->data + pieces->size, data, size);
    pieces->size += size;
}

void jpeg_put_segment(jpeg_pieces *pieces, uint8_t marker, const void *data, size_t size)
{
    const uint8_t head[] = {0xFF, marker, (uint8_t)((size + 2) >> 8), (uint8_t)(size + 2)};
    jpeg_put(pieces, head, sizeof(head));
    jpeg_put(pieces, data, size);
}

void jpeg_expect_same_pixels(sl_bytes a, sl_bytes b)
{
    uint32_t size[2][3];
    long warnings = 0;
    uint8_t *old = jpeg_plain_decode(a.data, a.size, &size[0][0], &size[0][1], &size[0][2], NULL);
    uint8_t *new =
        jpeg_plain_decode(b.data, b.size, &size[1][0], &size[1][1], &size[1][2], &warnings);
    assert_non_null(old);
    assert_non_null(new);
    assert_int_equal(warnings, 0);
    assert_memory_equal(size[0], size[1], sizeof(size[0]));
    assert_memory_equal(old, new, (size_t)size[0][0] * size[0][1] * size[0][2]);
    free(old);
    free(new);
}
