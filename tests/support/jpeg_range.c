/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_range.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

/*
 * Limit on the sum of magnitudes in a block's column, dequantized. The first pass of a transform
 * multiplies by 4 and cosines of at most 1.39 (1.85 when scaling), and keeps 16 bits.
 */
enum { COLUMN_MOST = 4000 };

typedef struct reading {
    struct jpeg_error_mgr errors;
    jmp_buf jump;
} reading;

static void on_error(j_common_ptr cinfo)
{
    longjmp(((reading *)(void *)cinfo->err)->jump, 1);
}

static void on_message(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static bool block_is_in_range(const JCOEF *block, const UINT16 *quantizers)
{
    for (int x = 0; x < DCTSIZE; x++) {
        int64_t sum = 0;
        for (int i = x; i < DCTSIZE2; i += DCTSIZE) {
            sum += llabs((long long)block[i] * quantizers[i]);
        }
        if (sum > COLUMN_MOST) {
            return false;
        }
    }
    return true;
}

static bool component_is_in_range(j_decompress_ptr cinfo, jpeg_component_info *part,
                                  jvirt_barray_ptr blocks)
{
    if (part->quant_table == NULL) {
        return false;
    }
    for (JDIMENSION y = 0; y < part->height_in_blocks; y++) {
        JBLOCKARRAY rows = cinfo->mem->access_virt_barray((j_common_ptr)cinfo, blocks, y, 1, FALSE);
        for (JDIMENSION x = 0; x < part->width_in_blocks; x++) {
            if (!block_is_in_range(rows[0][x], part->quant_table->quantval)) {
                return false;
            }
        }
    }
    return true;
}

bool jpeg_is_in_range(const uint8_t *data, size_t size)
{
    struct jpeg_decompress_struct cinfo;
    reading r;
    volatile bool in_range = false;
    cinfo.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    if (setjmp(r.jump) == 0) {
        jpeg_create_decompress(&cinfo);
        jpeg_mem_src(&cinfo, data, (unsigned long)size);
        (void)jpeg_read_header(&cinfo, TRUE);
        jvirt_barray_ptr *blocks = jpeg_read_coefficients(&cinfo);
        bool all = true;
        for (int i = 0; i < cinfo.num_components && all; i++) {
            all = component_is_in_range(&cinfo, &cinfo.comp_info[i], blocks[i]);
        }
        in_range = all;
    }
    jpeg_destroy_decompress(&cinfo);
    return in_range;
}

bool jpeg_is_portable(const uint8_t *data, size_t size)
{
#if defined(__x86_64__)
    (void)data;
    (void)size;
    return true;
#else
    return jpeg_is_in_range(data, size);
#endif
}
