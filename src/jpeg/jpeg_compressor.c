/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_compressor.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "poison.h"
#include "stop.h"

#include <assert.h>

#include <jerror.h>

/* Memory above this is released before the next image. */
#define KEEP_BYTES ((size_t)16 << 20)

/* Handles an error; the compressor has no source whose offset sl_jpeg_fail could name. */
static _Noreturn void jpeg_compressor_on_error(j_common_ptr cinfo)
{
    char text[JMSG_LENGTH_MAX];
    sl_jpeg_compressor *compressor = (sl_jpeg_compressor *)(void *)cinfo->err;
    sl_jpeg_errors *errors = &compressor->errors;
    cinfo->err->format_message(cinfo, text);
    errors->status = sl_error_set(errors->error, SLUICE_UNSUPPORTED, compressor->stage, "%s", text);
    longjmp(errors->jump, 1);
}

/* Called by libjpeg between rows. */
static void jpeg_compressor_watch(j_common_ptr cinfo)
{
    sl_jpeg_compressor *compressor = (sl_jpeg_compressor *)(void *)cinfo->err;
    sl_jpeg_errors *errors = &compressor->errors;
    if (sl_stop_requested()) {
        errors->status = sl_error_set(errors->error, SLUICE_CANCELED, compressor->stage, "stopped");
        longjmp(errors->jump, 1);
    }
}

static void jpeg_compressor_pass_over(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static void jpeg_compressor_nothing(j_compress_ptr cinfo)
{
    (void)cinfo;
}

/* Called by libjpeg when all space is used, regardless of its counters. */
static boolean jpeg_compressor_grow(j_compress_ptr cinfo)
{
    sl_jpeg_compressor *compressor = cinfo->client_data;
    const size_t used = compressor->capacity;
    const size_t capacity = used < compressor->limit / 2 ? used * 2 : compressor->limit;
    if (capacity == used) {
        ERREXIT(cinfo, JERR_FILE_WRITE);
    }
    uint8_t *grown = sl_realloc_array(compressor->bytes, capacity, 1);
    if (grown == NULL) {
        compressor->no_memory = true;
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    }
    compressor->bytes = grown;
    compressor->capacity = capacity;
    compressor->destination.next_output_byte = grown + used;
    compressor->destination.free_in_buffer = capacity - used;
    return TRUE;
}

bool sl_jpeg_compressor_open(sl_jpeg_compressor *compressor, size_t expected, size_t limit)
{
    assert(expected > 0);
    const size_t capacity = sl_min_size(expected, limit);
    if (compressor->capacity > KEEP_BYTES) {
        sl_jpeg_compressor_close(compressor);
    }
    compressor->no_memory = false;
    compressor->limit = limit;
    if (compressor->capacity < capacity) {
        sl_free(compressor->bytes);
        compressor->bytes = sl_malloc(capacity);
        compressor->capacity = compressor->bytes != NULL ? capacity : 0;
    }
    return compressor->bytes != NULL;
}

static void jpeg_compressor_create_work(void *argument)
{
    sl_jpeg_compressor *compressor = argument;
    jpeg_create_compress(&compressor->cinfo);
    compressor->cinfo.client_data = compressor;
    compressor->destination =
        (struct jpeg_destination_mgr){.next_output_byte = compressor->bytes,
                                      .free_in_buffer = compressor->capacity,
                                      .init_destination = jpeg_compressor_nothing,
                                      .empty_output_buffer = jpeg_compressor_grow,
                                      .term_destination = jpeg_compressor_nothing};
    compressor->cinfo.dest = &compressor->destination;
    compressor->progress.progress_monitor = jpeg_compressor_watch;
    compressor->cinfo.progress = &compressor->progress;
}

sluice_status sl_jpeg_compressor_run(sl_jpeg_compressor *compressor, const char *stage,
                                     sl_scratch *scratch, void (*work)(void *argument),
                                     void *argument, sluice_error *error)
{
    /* Works for the common part of a compressor, too */
    j_decompress_ptr common = (j_decompress_ptr)(void *)&compressor->cinfo;
    sl_jpeg_errors *errors = &compressor->errors;
    compressor->stage = stage;
    sl_jpeg_errors_init(errors, common);
    errors->pub.error_exit = jpeg_compressor_on_error;
    errors->pub.emit_message = jpeg_compressor_pass_over;
    sluice_status status = sl_jpeg_guard(errors, jpeg_compressor_create_work, compressor, error);
    const bool created = status == SLUICE_OK;
    if (created) {
        sl_jpeg_memory_install(&compressor->memory, common);
        compressor->memory.scratch = scratch;
        status = sl_jpeg_guard(errors, work, argument, error);
        sl_jpeg_memory_remove(&compressor->memory, common);
    }
    jpeg_destroy_compress(&compressor->cinfo);
    return created && !compressor->no_memory ? status : sl_no_memory(error, stage, "for a JPEG");
}

sl_bytes sl_jpeg_compressor_bytes(const sl_jpeg_compressor *compressor)
{
    const size_t bytes = compressor->capacity - compressor->destination.free_in_buffer;
    sl_poison_foreign(compressor->bytes, bytes);
    return (sl_bytes){compressor->bytes, bytes};
}

void sl_jpeg_compressor_close(sl_jpeg_compressor *compressor)
{
    sl_free(compressor->bytes);
    *compressor = (sl_jpeg_compressor){.bytes = NULL};
}
