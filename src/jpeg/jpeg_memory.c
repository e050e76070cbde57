/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_memory: libjpeg's memory manager on scratch. The decompressor's thread only. Nothing is
 * freed separately; running out ends in libjpeg's error handler. */
#include "jpeg_memory.h"

#include "poison.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <jerror.h>

/* libjpeg-turbo's own manager pads rows to two vectors of its widest instruction set (jmemmgr.c):
 * its SIMD code writes whole vectors. */
enum { ROW_ALIGN = 64 };

/* libjpeg leaves the definition of both structures to the memory manager. */
struct jvirt_barray_control {
    JBLOCKARRAY rows; /* NULL until realised */
    JDIMENSION width, count;
    JDIMENSION defined; /* rows [0, defined) have contents */
    boolean pre_zero;
    jvirt_barray_ptr next;
};

struct jvirt_sarray_control {
    JSAMPARRAY rows;
    JDIMENSION width, count;
    JDIMENSION defined;
    boolean pre_zero;
    jvirt_sarray_ptr next;
};

static sl_jpeg_memory *memory_of(j_common_ptr cinfo)
{
    return (sl_jpeg_memory *)(void *)cinfo->mem;
}

static void *jpeg_memory_take(j_common_ptr cinfo, size_t bytes)
{
    void *memory = sl_scratch_take(memory_of(cinfo)->scratch, bytes);
    if (memory == NULL) {
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    sl_poison_foreign(memory, bytes);
    return memory;
}

static void *alloc_any(j_common_ptr cinfo, int pool_id, size_t bytes)
{
    (void)pool_id;
    return jpeg_memory_take(cinfo, bytes);
}

static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION count)
{
    (void)pool_id;
    size_t stride = ((size_t)width + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    JSAMPARRAY rows = jpeg_memory_take(cinfo, count * sizeof(JSAMPROW));
    JSAMPLE *samples = jpeg_memory_take(cinfo, stride * count);
    for (JDIMENSION row = 0; row < count; row++) {
        rows[row] = samples + stride * row;
    }
    return rows;
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION count)
{
    (void)pool_id;
    JBLOCKARRAY rows = jpeg_memory_take(cinfo, count * sizeof(JBLOCKROW));
    JBLOCK *blocks = jpeg_memory_take(cinfo, (size_t)width * count * sizeof(JBLOCK));
    for (JDIMENSION row = 0; row < count; row++) {
        rows[row] = blocks + (size_t)width * row;
    }
    return rows;
}

static jvirt_sarray_ptr request_virt_sarray(j_common_ptr cinfo, int pool_id, boolean pre_zero,
                                            JDIMENSION width, JDIMENSION count,
                                            JDIMENSION max_access)
{
    (void)pool_id;
    (void)max_access;
    sl_jpeg_memory *memory = memory_of(cinfo);
    jvirt_sarray_ptr array = jpeg_memory_take(cinfo, sizeof(*array));
    *array = (struct jvirt_sarray_control){NULL, width, count, 0, pre_zero, memory->sample_arrays};
    memory->sample_arrays = array;
    return array;
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool_id, boolean pre_zero,
                                            JDIMENSION width, JDIMENSION count,
                                            JDIMENSION max_access)
{
    (void)pool_id;
    (void)max_access;
    sl_jpeg_memory *memory = memory_of(cinfo);
    jvirt_barray_ptr array = jpeg_memory_take(cinfo, sizeof(*array));
    *array = (struct jvirt_barray_control){NULL, width, count, 0, pre_zero, memory->block_arrays};
    memory->block_arrays = array;
    return array;
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
    sl_jpeg_memory *memory = memory_of(cinfo);
    for (jvirt_sarray_ptr array = memory->sample_arrays; array != NULL; array = array->next) {
        if (array->rows == NULL) {
            array->rows = alloc_sarray(cinfo, JPOOL_IMAGE, array->width, array->count);
        }
    }
    for (jvirt_barray_ptr array = memory->block_arrays; array != NULL; array = array->next) {
        if (array->rows == NULL) {
            array->rows = alloc_barray(cinfo, JPOOL_IMAGE, array->width, array->count);
        }
    }
}

/* Checks rows [start, start + rows) of an array of `count`; returns their end. */
static JDIMENSION access_end(j_common_ptr cinfo, const void *array_rows, JDIMENSION count,
                             JDIMENSION start, JDIMENSION rows)
{
    if (array_rows == NULL || start > count || rows > count - start) {
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    }
    return start + rows;
}

static JSAMPARRAY access_virt_sarray(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION start,
                                     JDIMENSION rows, boolean writable)
{
    (void)writable;
    JDIMENSION end = access_end(cinfo, array->rows, array->count, start, rows);
    for (; array->defined < end; array->defined++) {
        if (array->pre_zero) {
            memset(array->rows[array->defined], 0, array->width);
        }
    }
    return array->rows + start;
}

static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION start,
                                      JDIMENSION rows, boolean writable)
{
    (void)writable;
    JDIMENSION end = access_end(cinfo, array->rows, array->count, start, rows);
    for (; array->defined < end; array->defined++) {
        if (array->pre_zero) {
            memset(array->rows[array->defined], 0, array->width * sizeof(JBLOCK));
        }
    }
    return array->rows + start;
}

/* Does nothing: the owner of the scratch frees everything at once. */
static void jpeg_memory_free_pool(j_common_ptr cinfo, int pool_id)
{
    (void)cinfo;
    (void)pool_id;
}

static void self_destruct(j_common_ptr cinfo)
{
    (void)cinfo;
    assert(!"sl_jpeg_memory_remove comes before jpeg_destroy_decompress");
}

void sl_jpeg_memory_install(sl_jpeg_memory *memory, j_decompress_ptr cinfo)
{
    *memory = (sl_jpeg_memory){
        .pub = {.alloc_small = alloc_any,
                .alloc_large = alloc_any,
                .alloc_sarray = alloc_sarray,
                .alloc_barray = alloc_barray,
                .request_virt_sarray = request_virt_sarray,
                .request_virt_barray = request_virt_barray,
                .realize_virt_arrays = realize_virt_arrays,
                .access_virt_sarray = access_virt_sarray,
                .access_virt_barray = access_virt_barray,
                .free_pool = jpeg_memory_free_pool,
                .self_destruct = self_destruct,
                .max_memory_to_use = cinfo->mem->max_memory_to_use,
                .max_alloc_chunk = cinfo->mem->max_alloc_chunk},
        .original = cinfo->mem,
    };
    cinfo->mem = &memory->pub;
}

void sl_jpeg_memory_remove(sl_jpeg_memory *memory, j_decompress_ptr cinfo)
{
    assert(cinfo->mem == &memory->pub);
    cinfo->mem = memory->original;
}

void sl_jpeg_memory_reset(sl_jpeg_memory *memory, j_decompress_ptr cinfo, sl_scratch *scratch)
{
    memory->scratch = scratch;
    memory->block_arrays = NULL;
    memory->sample_arrays = NULL;
    /* Otherwise an image that lacks a table would be decoded with the previous image's. */
    for (int i = 0; i < NUM_QUANT_TBLS; i++) {
        cinfo->quant_tbl_ptrs[i] = NULL;
    }
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        cinfo->dc_huff_tbl_ptrs[i] = NULL;
        cinfo->ac_huff_tbl_ptrs[i] = NULL;
    }
}
