/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_kernels.h"

#include "jpeg_idct.h"
#include "jpeg_rows.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { MARGIN = 64, ALIGN = 64 }; /* bytes that rows may read on each side */

typedef struct plane {
    uint8_t *memory;
    uint8_t *samples; /* row 0, column 0 */
    size_t stride;
    uint32_t size; /* of an inverse-transformed block */
    uint32_t width, height;
} plane;

static void *must(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void open_file(j_decompress_ptr cinfo, struct jpeg_error_mgr *errors, const jpeg_file *file)
{
    cinfo->err = jpeg_std_error(errors); /* its error_exit ends the process */
    jpeg_create_decompress(cinfo);
    jpeg_mem_src(cinfo, file->data, (unsigned long)file->size);
    (void)jpeg_read_header(cinfo, TRUE);
}

static uint32_t up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit;
}

/* Returns the block size of a component when the finest component's is `least` (libjpeg's rule). */
static uint32_t block_size(j_decompress_ptr cinfo, const jpeg_component_info *component,
                           uint32_t least)
{
    uint32_t across = (uint32_t)cinfo->max_h_samp_factor * least;
    uint32_t down = (uint32_t)cinfo->max_v_samp_factor * least;
    uint32_t size = least;
    while (size < DCTSIZE && across % ((uint32_t)component->h_samp_factor * size * 2) == 0 &&
           down % ((uint32_t)component->v_samp_factor * size * 2) == 0) {
        size *= 2;
    }
    return size;
}

/* Allocates samples of whole blocks, with margins. */
static plane plane_open(j_decompress_ptr cinfo, const jpeg_component_info *component,
                        uint32_t least)
{
    plane made = {.size = block_size(cinfo, component, least)};
    uint32_t across = (uint32_t)component->h_samp_factor * made.size;
    uint32_t down = (uint32_t)component->v_samp_factor * made.size;
    made.width = up(cinfo->image_width * across, (uint32_t)cinfo->max_h_samp_factor * DCTSIZE);
    made.height = up(cinfo->image_height * down, (uint32_t)cinfo->max_v_samp_factor * DCTSIZE);
    made.stride = (size_t)component->width_in_blocks * made.size + 2 * (size_t)MARGIN;
    size_t rows = (size_t)component->height_in_blocks * made.size;
    made.memory = must(malloc(made.stride * rows));
    memset(made.memory, 0xA5, made.stride * rows);
    made.samples = made.memory + MARGIN;
    return made;
}

static void transform(j_decompress_ptr cinfo, jvirt_barray_ptr blocks,
                      jpeg_component_info *component, const plane *into, sl_jpeg_idct kernel)
{
    size_t bytes = (size_t)component->width_in_blocks * SL_JPEG_BLOCK * sizeof(int16_t);
    int16_t *row = must(aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN));
    uint16_t *quantizers = must(aligned_alloc(ALIGN, SL_JPEG_BLOCK * sizeof(*quantizers)));
    memcpy(quantizers, component->quant_table->quantval, SL_JPEG_BLOCK * sizeof(*quantizers));
    for (JDIMENSION y = 0; y < component->height_in_blocks; y++) {
        JBLOCKARRAY found =
            cinfo->mem->access_virt_barray((j_common_ptr)cinfo, blocks, y, 1, FALSE);
        memcpy(row, found[0], bytes);
        sl_jpeg_blocks run = {.coefficients = row,
                              .pitch = SL_JPEG_BLOCK,
                              .count = component->width_in_blocks,
                              .quantizers = quantizers,
                              .samples = into->samples + (size_t)y * into->size * into->stride,
                              .stride = into->stride};
        kernel(&run);
    }
    free(quantizers);
    free(row);
}

/* Relation of the planes to each other after scaling. */
typedef struct chroma_shape {
    sl_jpeg_sampling sampling;
    bool halved; /* a chroma row covers two output rows */
    bool nearby; /* and also depend on the adjacent chroma row */
} chroma_shape;

static chroma_shape shape_of(j_decompress_ptr cinfo, const plane *planes, uint32_t least)
{
    if (cinfo->num_components == 1) {
        return (chroma_shape){SL_JPEG_GREY, false, false};
    }
    uint32_t size = planes[1].size;
    if (size == 0) {
        abort();
    }
    uint32_t across = (uint32_t)cinfo->max_h_samp_factor * least / size;
    uint32_t down = (uint32_t)cinfo->max_v_samp_factor * least / size;
    bool plain = least == 1 || (across == 2 && planes[1].width <= 2);
    if (across == 2) {
        sl_jpeg_sampling fancy = down == 2 ? SL_JPEG_420 : SL_JPEG_422;
        return (chroma_shape){plain ? SL_JPEG_422_PLAIN : fancy, down == 2, down == 2 && !plain};
    }
    if (down == 2 && !plain) {
        return (chroma_shape){SL_JPEG_440, true, true};
    }
    return (chroma_shape){SL_JPEG_444, down == 2, false};
}

static void make_row(const plane *planes, chroma_shape shape, uint32_t y, sl_jpeg_row *row)
{
    row->luma = planes[0].samples + y * planes[0].stride;
    if (shape.sampling == SL_JPEG_GREY) {
        return;
    }
    uint32_t near = shape.halved ? y / 2 : y;
    uint32_t far = near;
    row->lower = shape.nearby && y % 2 == 1;
    if (row->lower) {
        far = near + 1 < planes[1].height ? near + 1 : near;
    } else if (shape.nearby) {
        far = near > 0 ? near - 1 : 0;
    }
    row->chroma_width = planes[1].width;
    row->cb = planes[1].samples + near * planes[1].stride;
    row->cr = planes[2].samples + near * planes[2].stride;
    row->cb_far = planes[1].samples + far * planes[1].stride;
    row->cr_far = planes[2].samples + far * planes[2].stride;
}

static rgb_picture make_rows(const plane *planes, chroma_shape shape, sl_simd simd)
{
    rgb_picture picture = {planes[0].width, planes[0].height, NULL};
    size_t bytes = (size_t)picture.width * 3;
    picture.pixels = must(malloc(bytes * picture.height + MARGIN));
    sl_jpeg_row_maker maker = sl_jpeg_row_for(simd, shape.sampling);
    for (uint32_t y = 0; y < picture.height; y++) {
        sl_jpeg_row row = {.end = picture.width, .rgb = picture.pixels + y * bytes};
        make_row(planes, shape, y, &row);
        maker(&row);
    }
    return picture;
}

rgb_picture jpeg_kernels_decode(const jpeg_file *file, uint32_t denominator, sl_simd simd)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    plane planes[3] = {0};
    open_file(&cinfo, &errors, file);
    jvirt_barray_ptr *blocks = jpeg_read_coefficients(&cinfo);
    uint32_t least = DCTSIZE / denominator;
    for (int c = 0; c < cinfo.num_components; c++) {
        planes[c] = plane_open(&cinfo, &cinfo.comp_info[c], least);
        transform(&cinfo, blocks[c], &cinfo.comp_info[c], &planes[c],
                  sl_jpeg_idct_for(simd, planes[c].size));
    }
    rgb_picture picture = make_rows(planes, shape_of(&cinfo, planes, least), simd);
    for (int c = 0; c < cinfo.num_components; c++) {
        free(planes[c].memory);
    }
    jpeg_destroy_decompress(&cinfo);
    return picture;
}

rgb_picture jpeg_library_decode(const jpeg_file *file, uint32_t denominator)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_file(&cinfo, &errors, file);
    cinfo.out_color_space = JCS_RGB;
    cinfo.dct_method = JDCT_ISLOW;
    cinfo.do_fancy_upsampling = TRUE;
    cinfo.scale_num = 1;
    cinfo.scale_denom = denominator;
    (void)jpeg_start_decompress(&cinfo);
    rgb_picture picture = {cinfo.output_width, cinfo.output_height, NULL};
    picture.pixels = must(malloc((size_t)picture.width * picture.height * 3));
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW row = picture.pixels + (size_t)cinfo.output_scanline * picture.width * 3;
        (void)jpeg_read_scanlines(&cinfo, &row, 1);
    }
    jpeg_destroy_decompress(&cinfo);
    return picture;
}

bool jpeg_kernels_has_level(int simd)
{
    int best = (int)sl_simd_best();
    return simd == SL_SIMD_SCALAR || simd == best || (simd < best && simd != SL_SIMD_NEON);
}

void jpeg_kernels_compare(const jpeg_file *file)
{
    for (uint32_t denominator = 1; denominator <= DCTSIZE; denominator *= 2) {
        rgb_picture wanted = jpeg_library_decode(file, denominator);
        for (int simd = 0; simd < SL_SIMD_COUNT; simd++) {
            if (!jpeg_kernels_has_level(simd)) {
                continue;
            }
            rgb_picture made = jpeg_kernels_decode(file, denominator, (sl_simd)simd);
            assert_int_equal(made.width, wanted.width);
            assert_int_equal(made.height, wanted.height);
            assert_memory_equal(made.pixels, wanted.pixels, (size_t)made.width * made.height * 3);
            free(made.pixels);
        }
        free(wanted.pixels);
    }
}
