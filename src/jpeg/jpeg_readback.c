/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_readback.h"

#include "error.h"
#include "jpeg_error.h"
#include "jpeg_memory.h"
#include "jpeg_source.h"
#include "stop.h"

#include <assert.h>
#include <string.h>

#include <jerror.h>

#define STAGE "pack"

/* libjpeg's array of a component's coefficients, which libjpeg leaves to the memory manager:
 * here only the current MCU row, compared when the next one is requested. */
struct jvirt_barray_control {
    JBLOCKARRAY rows;
    JDIMENSION width, count; /* blocks across, rows at a time */
    JDIMENSION first, end;   /* the current rows; equal: none yet */
};

typedef struct readback {
    struct jpeg_decompress_struct cinfo;
    sl_jpeg_errors errors;
    sl_jpeg_source source;
    sl_jpeg_memory memory;
    const sl_jpeg_original *original;
    uint32_t interval;
    struct jvirt_barray_control arrays[MAX_COMPONENTS]; /* in the order of the components */
    int requested;
} readback;

static readback *readback_of(j_common_ptr cinfo)
{
    return (readback *)cinfo->client_data;
}

static jvirt_barray_ptr request_rows(j_common_ptr cinfo, int pool_id, boolean pre_zero,
                                     JDIMENSION width, JDIMENSION height, JDIMENSION at_a_time)
{
    (void)pre_zero; /* rows are always zero when they are returned */
    (void)height;
    readback *back = readback_of(cinfo);
    if (back->requested == MAX_COMPONENTS) {
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    }
    jvirt_barray_ptr array = &back->arrays[back->requested++];
    *array = (struct jvirt_barray_control){.width = width, .count = at_a_time};
    array->rows = cinfo->mem->alloc_barray(cinfo, pool_id, width, at_a_time);
    return array;
}

static void realize_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

static _Noreturn void differs(readback *back, const char *what)
{
    sl_jpeg_fail(&back->cinfo, SLUICE_INTERNAL, what);
}

/* Compares the current rows, which are complete. */
static void compare_rows(readback *back, const struct jvirt_barray_control *array)
{
    const int component = (int)(array - back->arrays);
    j_decompress_ptr cinfo = back->original->cinfo;
    const jpeg_component_info *info = &cinfo->comp_info[component];
    for (JDIMENSION row = array->first; row < array->end && row < info->height_in_blocks; row++) {
        JBLOCKARRAY wanted = cinfo->mem->access_virt_barray(
            (j_common_ptr)cinfo, back->original->coefficients[component], row, 1, FALSE);
        if (memcmp(wanted[0], array->rows[row - array->first],
                   info->width_in_blocks * sizeof(JBLOCK)) != 0) {
            differs(back, "the coefficients differ");
        }
    }
}

static JBLOCKARRAY access_rows(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION start,
                               JDIMENSION count, boolean writable)
{
    (void)writable;
    if (start != array->end || count != array->count) {
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    }
    if (sl_stop_requested()) {
        sl_jpeg_fail((j_decompress_ptr)cinfo, SLUICE_CANCELED, "stopped");
    }
    compare_rows(readback_of(cinfo), array);
    array->first = start;
    array->end = start + count;
    for (JDIMENSION row = 0; row < count; row++) {
        memset(array->rows[row], 0, array->width * sizeof(JBLOCK));
    }
    return array->rows;
}

static void jpeg_readback_create_work(void *argument)
{
    readback *back = argument;
    jpeg_create_decompress(&back->cinfo);
    back->cinfo.client_data = back;
    sl_jpeg_memory_install(&back->memory, &back->cinfo);
    back->memory.pub.request_virt_barray = request_rows;
    back->memory.pub.realize_virt_arrays = realize_nothing;
    back->memory.pub.access_virt_barray = access_rows;
}

static bool same_table(const JQUANT_TBL *a, const JQUANT_TBL *b)
{
    return a != NULL && b != NULL && memcmp(a->quantval, b->quantval, sizeof(a->quantval)) == 0;
}

static void compare_frames(readback *back)
{
    const struct jpeg_decompress_struct *a = back->original->cinfo;
    const struct jpeg_decompress_struct *b = &back->cinfo;
    if (a->image_width != b->image_width || a->image_height != b->image_height ||
        a->num_components != b->num_components || a->data_precision != b->data_precision) {
        differs(back, "the sizes differ");
    }
    if (a->jpeg_color_space != b->jpeg_color_space || a->saw_JFIF_marker != b->saw_JFIF_marker ||
        a->saw_Adobe_marker != b->saw_Adobe_marker || a->Adobe_transform != b->Adobe_transform) {
        differs(back, "the colour spaces differ");
    }
    if (b->progressive_mode || b->arith_code || b->comps_in_scan != b->num_components ||
        b->restart_interval != back->interval) {
        differs(back, "it is not tiled as requested");
    }
    for (int i = 0; i < a->num_components; i++) {
        const jpeg_component_info *left = &a->comp_info[i];
        const jpeg_component_info *right = &b->comp_info[i];
        if (left->component_id != right->component_id ||
            left->h_samp_factor != right->h_samp_factor ||
            left->v_samp_factor != right->v_samp_factor) {
            differs(back, "the components differ");
        }
    }
}

static void jpeg_readback_read_work(void *argument)
{
    readback *back = argument;
    (void)jpeg_read_header(&back->cinfo, TRUE);
    compare_frames(back);
    (void)jpeg_read_coefficients(&back->cinfo);
    for (int i = 0; i < back->cinfo.num_components; i++) {
        const jpeg_component_info *left = &back->original->cinfo->comp_info[i];
        compare_rows(back, &back->arrays[i]);
        assert(back->arrays[i].end >= left->height_in_blocks);
        if (!same_table(left->quant_table, back->cinfo.comp_info[i].quant_table)) {
            differs(back, "the quantisation tables differ");
        }
    }
}

sluice_status sl_jpeg_readback(const sl_jpeg_original *original, sl_bytes jpeg, uint32_t interval,
                               sl_scratch *scratch, sluice_error *error)
{
    sluice_error reason;
    readback back = {.original = original, .interval = interval};
    sl_error_clear(&reason);
    sl_jpeg_errors_init(&back.errors, &back.cinfo);
    sluice_status status = sl_jpeg_guard(&back.errors, jpeg_readback_create_work, &back, &reason);
    if (status == SLUICE_OK) {
        sl_jpeg_memory_reset(&back.memory, &back.cinfo, scratch);
        sl_jpeg_source_begin(&back.source, &back.cinfo, jpeg);
        status = sl_jpeg_guard(&back.errors, jpeg_readback_read_work, &back, &reason);
        sl_jpeg_memory_remove(&back.memory, &back.cinfo);
    }
    jpeg_destroy_decompress(&back.cinfo);
    if (status == SLUICE_CANCELED) {
        return sl_error_set(error, status, STAGE, "stopped");
    }
    if (status < 0) {
        status = status == SLUICE_NOMEM ? SLUICE_NOMEM : SLUICE_INTERNAL;
        return sl_error_set(error, status, STAGE, "re-tiling changed the image: %s", reason.text);
    }
    return SLUICE_OK;
}
