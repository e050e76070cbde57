/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_retile: reads coefficients, chooses a form and an interval, writes, reads back. One owner
 * thread. Code that libjpeg may leave by longjmp runs below sl_jpeg_guard, in functions called
 * _work. end_picture closes the reader of an image, before the next one at the latest.
 */
#include "jpeg_retile.h"

#include "error.h"
#include "exif.h"
#include "jpeg_codec.h"
#include "jpeg_compressor.h"
#include "jpeg_ending.h"
#include "jpeg_error.h"
#include "jpeg_form.h"
#include "jpeg_memory.h"
#include "jpeg_readback.h"
#include "jpeg_scans.h"
#include "jpeg_segments.h"
#include "jpeg_source.h"
#include "jpeg_tiles.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"

#include <assert.h>
#include <stdio.h>

#include <jerror.h>

#define STAGE "pack"
/* Memory of libjpeg besides the coefficients: its tables, and the copied segments. */
#define BESIDE_BYTES ((size_t)64 << 20)
/* The part of it that remains for writing and reading back after the segments. */
#define RESERVE_BYTES ((size_t)16 << 20)
/* Kept between images. */
#define KEEP_BYTES ((size_t)32 << 20)

struct sl_jpeg_retiler {
    sl_jpeg_retile_options options;
    sl_scratch scratch;
    sl_bytes jpeg;

    struct jpeg_decompress_struct in;
    sl_jpeg_errors in_errors;
    sl_jpeg_source source;
    sl_jpeg_memory in_memory;
    struct jpeg_progress_mgr progress;
    sl_jpeg_scans scans;
    bool reading;       /* `in` exists */
    bool several_scans; /* read to its end */
    bool too_much;      /* the segments do not fit */
    size_t left_over;   /* bytes between the last interval and the next marker */
    uint32_t segments;
    jvirt_barray_ptr *coefficients;

    sl_jpeg_compressor out;
    sl_jpeg_counts counts;
    sl_jpeg_verdict verdict;
    uint32_t interval; /* of the output */
};

/* Returns the bytes for coefficients of four components of full size, including the blocks that
 * fill MCUs. */
static size_t jpeg_retile_scratch_bytes(uint64_t max_pixels)
{
    const uint64_t side_max = JPEG_MAX_DIMENSION;
    const uint64_t fill = (MAX_SAMP_FACTOR * DCTSIZE) * (2 * side_max + MAX_SAMP_FACTOR * DCTSIZE);
    const uint64_t samples = sl_min_u64(max_pixels, side_max * side_max);
    return (samples + fill) * MAX_COMPS_IN_SCAN * sizeof(JCOEF) + BESIDE_BYTES;
}

sluice_status sl_jpeg_retiler_open(sl_jpeg_retiler **out, const sl_jpeg_retile_options *options,
                                   sluice_error *error)
{
    *out = NULL;
    sl_jpeg_retiler *retiler = sl_calloc(1, sizeof(*retiler));
    if (retiler == NULL) {
        return sl_no_memory(error, STAGE, "re-tiling JPEGs");
    }
    retiler->options = *options;
    sl_jpeg_counts_init(&retiler->counts);
    sluice_status status = sl_scratch_open(
        &retiler->scratch, jpeg_retile_scratch_bytes(options->max_pixels), KEEP_BYTES, error);
    if (status < 0) {
        sl_free(retiler);
        return status;
    }
    *out = retiler;
    return SLUICE_OK;
}

static void end_picture(sl_jpeg_retiler *retiler)
{
    if (retiler->reading) {
        sl_jpeg_memory_remove(&retiler->in_memory, &retiler->in);
        jpeg_destroy_decompress(&retiler->in);
        retiler->reading = false;
    }
}

void sl_jpeg_retiler_close(sl_jpeg_retiler *retiler)
{
    if (retiler == NULL) {
        return;
    }
    end_picture(retiler);
    sl_jpeg_compressor_close(&retiler->out);
    sl_scratch_close(&retiler->scratch);
    sl_free(retiler);
}

/* Returns how many of the remaining bytes are before a marker. */
static size_t bytes_before_marker(const sl_jpeg_source *source)
{
    const uint8_t *bytes = source->pub.next_input_byte;
    const size_t size = source->pub.bytes_in_buffer;
    size_t at = 0;
    while (at < size && (bytes[at] != 0xFF || (at + 1 < size && bytes[at + 1] == 0))) {
        at++;
    }
    return at;
}

/* Called by libjpeg between rows of MCUs. An image of one scan ends with it, like in the
 * decoder: bytes after it are ignored, but a flag records whether they follow directly. */
static void jpeg_retile_watch(j_common_ptr common)
{
    j_decompress_ptr cinfo = (j_decompress_ptr)common;
    sl_jpeg_retiler *retiler = cinfo->client_data;
    sl_jpeg_scans_check(&retiler->scans, cinfo);
    if (retiler->several_scans) {
        sl_jpeg_ending_check(cinfo);
        return;
    }
    if (cinfo->input_iMCU_row >= cinfo->total_iMCU_rows) {
        retiler->left_over = cinfo->unread_marker == 0 ? bytes_before_marker(&retiler->source) : 0;
        cinfo->unread_marker = 0;
        retiler->source.past_end = SL_JPEG_PAST_END_MARKER;
        retiler->source.pub.bytes_in_buffer = 0;
    }
}

static void jpeg_retile_create_work(void *argument)
{
    sl_jpeg_retiler *retiler = argument;
    jpeg_create_decompress(&retiler->in);
    retiler->in.client_data = retiler;
    retiler->progress.progress_monitor = jpeg_retile_watch;
    retiler->in.progress = &retiler->progress;
}

/* Checks the sampling that libjpeg rejects when a decode begins. */
static void check_sampling(j_decompress_ptr cinfo)
{
    for (int i = 0; i < cinfo->num_components; i++) {
        const jpeg_component_info *info = &cinfo->comp_info[i];
        if (cinfo->max_h_samp_factor % info->h_samp_factor != 0 ||
            cinfo->max_v_samp_factor % info->v_samp_factor != 0) {
            ERREXIT(cinfo, JERR_FRACT_SAMPLE_NOTIMPL);
        }
    }
}

static void jpeg_retile_header_work(void *argument)
{
    sl_jpeg_retiler *retiler = argument;
    sl_jpeg_segments_save(&retiler->in, retiler->options.drop_metadata);
    (void)jpeg_read_header(&retiler->in, TRUE);
    check_sampling(&retiler->in);
}

static sluice_status create_reader(sl_jpeg_retiler *retiler, sluice_error *error)
{
    sl_jpeg_errors_init(&retiler->in_errors, &retiler->in);
    sluice_status status =
        sl_jpeg_guard(&retiler->in_errors, jpeg_retile_create_work, retiler, error);
    if (status < 0) {
        jpeg_destroy_decompress(&retiler->in);
        return status;
    }
    sl_jpeg_memory_install(&retiler->in_memory, &retiler->in);
    sl_jpeg_memory_reset(&retiler->in_memory, &retiler->in, &retiler->scratch);
    sl_jpeg_source_begin(&retiler->source, &retiler->in, retiler->jpeg);
    retiler->reading = true;
    return SLUICE_OK;
}

static uint64_t jpeg_retile_round_up(uint64_t value, int unit)
{
    return (value + (uint64_t)unit - 1) / (uint64_t)unit * (uint64_t)unit;
}

static uint64_t coefficient_bytes(j_decompress_ptr cinfo)
{
    uint64_t blocks = 0;
    for (int i = 0; i < cinfo->num_components; i++) {
        const jpeg_component_info *info = &cinfo->comp_info[i];
        blocks += jpeg_retile_round_up(info->width_in_blocks, info->h_samp_factor) *
                  jpeg_retile_round_up(info->height_in_blocks, info->v_samp_factor);
    }
    return blocks * sizeof(JBLOCK);
}

sluice_status sl_jpeg_retiler_begin(sl_jpeg_retiler *retiler, sl_bytes jpeg, uint64_t *memory_bytes,
                                    sluice_error *error)
{
    sl_picture picture;
    const sl_codec_source source = {.bytes = jpeg, .max_pixels = retiler->options.max_pixels};
    *memory_bytes = 0;
    end_picture(retiler);
    sl_scratch_reset(&retiler->scratch);
    retiler->jpeg = jpeg;
    retiler->left_over = 0;
    /* Decides whether headers are valid. */
    sluice_status status = sl_codec_size(&sl_codec_jpeg, &source, &picture, error);
    if (status == SLUICE_OK) {
        status = create_reader(retiler, error);
    }
    if (status < 0) {
        return status;
    }
    sl_jpeg_scans_begin(&retiler->scans, retiler->options.max_pixels, jpeg.size,
                        sl_stop_of_thread());
    status = sl_jpeg_guard(&retiler->in_errors, jpeg_retile_header_work, retiler, error);
    retiler->too_much = status == SLUICE_NOMEM;
    if (status < 0) {
        return retiler->too_much ? SLUICE_OK : status;
    }
    const uint64_t needed = coefficient_bytes(&retiler->in);
    retiler->too_much =
        needed + RESERVE_BYTES > retiler->scratch.limit - sl_scratch_mark(&retiler->scratch);
    retiler->several_scans = jpeg_has_multiple_scans(&retiler->in);
    retiler->segments = sl_jpeg_segments_count(&retiler->in);
    *memory_bytes = needed + jpeg.size;
    return SLUICE_OK;
}

static void jpeg_retile_read_work(void *argument)
{
    sl_jpeg_retiler *retiler = argument;
    j_decompress_ptr cinfo = &retiler->in;
    /* same as in a decode (jpeg_scanlines.c) */
    retiler->source.past_end = retiler->several_scans || cinfo->arith_code
                                   ? SL_JPEG_PAST_END_LAST_SCAN
                                   : SL_JPEG_PAST_END_MARKER;
    retiler->coefficients = jpeg_read_coefficients(cinfo);
}

static sl_jpeg_outcome jpeg_retile_keep(sl_jpeg_outcome why, const char *text, sluice_error *error)
{
    sl_error_set(error, why == SL_JPEG_DIFFERENT ? SLUICE_INTERNAL : SLUICE_UNSUPPORTED, STAGE,
                 "stored unchanged: %s", text);
    return why;
}

static bool fits_one_scan(j_decompress_ptr cinfo)
{
    int blocks = 0;
    for (int i = 0; i < cinfo->num_components; i++) {
        blocks += cinfo->comp_info[i].h_samp_factor * cinfo->comp_info[i].v_samp_factor;
    }
    return cinfo->num_components == 1 || blocks <= C_MAX_BLOCKS_IN_MCU;
}

/* Returns RETILED if nothing prevents it. */
static sl_jpeg_outcome jpeg_retile_judge(sl_jpeg_retiler *retiler, sluice_error *error)
{
    j_decompress_ptr cinfo = &retiler->in;
    if (retiler->left_over > 0) {
        char text[128];
        snprintf(text, sizeof(text),
                 "%zu bytes are left over at its end: it may be damaged, which decoders could not "
                 "detect in a re-tiled one",
                 retiler->left_over);
        return jpeg_retile_keep(SL_JPEG_UNUSUAL, text, error);
    }
    if (!fits_one_scan(cinfo)) {
        return jpeg_retile_keep(SL_JPEG_LARGE_MCU, "its components do not fit into one scan",
                                error);
    }
    /* If scans are missing, decoders smooth the image, but would not smooth the result. */
    if (!sl_jpeg_is_complete(cinfo)) {
        return jpeg_retile_keep(SL_JPEG_INCOMPLETE, "it lacks scans", error);
    }
    return SL_JPEG_RETILED;
}

/* Chooses the interval. A single component's MCU is a block, regardless of its sampling factors. */
static uint32_t jpeg_retile_choose_interval(const sl_jpeg_retiler *retiler,
                                            const struct jpeg_decompress_struct *cinfo)
{
    const bool single = cinfo->num_components == 1;
    const uint32_t mcu = DCTSIZE * (single ? 1 : (uint32_t)cinfo->max_h_samp_factor);
    const uint32_t across =
        single ? cinfo->comp_info[0].width_in_blocks : (cinfo->image_width + mcu - 1) / mcu;
    return sl_tile_interval(across, mcu, retiler->options.tile_mcus);
}

/* Chooses the interval and tables of the output, if any. */
static void choose_form(sl_jpeg_retiler *retiler)
{
    const sl_jpeg_subject subject = {.jpeg = retiler->jpeg,
                                     .in = &retiler->in,
                                     .coefficients = retiler->coefficients,
                                     .out = &retiler->out.cinfo,
                                     .counts = &retiler->counts,
                                     .scratch = &retiler->scratch,
                                     .interval = jpeg_retile_choose_interval(retiler, &retiler->in),
                                     .drop = retiler->options.drop_metadata};
    retiler->verdict =
        retiler->options.fastest ? sl_jpeg_form_fastest(&subject) : sl_jpeg_form_smallest(&subject);
    retiler->interval = retiler->out.cinfo.restart_interval;
}

static void jpeg_retile_write_work(void *argument)
{
    sl_jpeg_retiler *retiler = argument;
    j_compress_ptr out = &retiler->out.cinfo;
    jpeg_copy_critical_parameters(&retiler->in, out);
    out->write_JFIF_header = FALSE; /* the source's segments are copied instead */
    out->write_Adobe_marker = FALSE;
    out->optimize_coding = FALSE; /* the tables are made here */
    out->restart_in_rows = 0;
    choose_form(retiler);
    if (retiler->verdict == SL_JPEG_TOO_BIG) {
        ERREXIT(out, JERR_BAD_DCT_COEF);
    }
    if (retiler->verdict == SL_JPEG_LEAVE) {
        return;
    }
    jpeg_write_coefficients(out, retiler->coefficients);
    sl_jpeg_segments_write(out, &retiler->in, retiler->segments, retiler->options.drop_metadata,
                           sl_exif_orientation(retiler->jpeg));
    jpeg_finish_compress(out);
}

/* Errors: UNSUPPORTED (libjpeg cannot write it), NOMEM, CANCELED. */
static sluice_status write_picture(sl_jpeg_retiler *retiler, sluice_error *error)
{
    const size_t expected = retiler->jpeg.size + 4096;
    return sl_jpeg_compressor_open(&retiler->out, expected, retiler->options.max_bytes)
               ? sl_jpeg_compressor_run(&retiler->out, STAGE, &retiler->scratch,
                                        jpeg_retile_write_work, retiler, error)
               : sl_no_memory(error, STAGE, "for a JPEG");
}

/* Rewrites after the coefficients were read. Errors: NOMEM, CANCELED; otherwise OK and the
 * outcome. */
static sluice_status rewrite(sl_jpeg_retiler *retiler, sl_jpeg_outcome *outcome, sl_bytes *retiled,
                             sluice_error *error)
{
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_status status = write_picture(retiler, &reason);
    if (status == SLUICE_NOMEM || status == SLUICE_CANCELED) {
        return sl_error_set(error, status, STAGE, "%s", reason.text);
    }
    if (status < 0) {
        *outcome = jpeg_retile_keep(SL_JPEG_UNUSUAL, reason.text, error);
        return SLUICE_OK;
    }
    if (retiler->verdict == SL_JPEG_LEAVE) {
        *outcome = jpeg_retile_keep(SL_JPEG_FAST, "re-tiling would not speed up decoding", error);
        return SLUICE_OK;
    }
    sl_bytes made = sl_jpeg_compressor_bytes(&retiler->out);
    const sl_jpeg_original original = {&retiler->in, retiler->coefficients};
    status = sl_jpeg_readback(&original, made, retiler->interval, &retiler->scratch, &reason);
    if (status == SLUICE_CANCELED) {
        return sl_error_set(error, status, STAGE, "%s", reason.text);
    }
    if (status < 0) {
        *outcome = jpeg_retile_keep(status == SLUICE_NOMEM ? SL_JPEG_UNUSUAL : SL_JPEG_DIFFERENT,
                                    reason.text, error);
    } else if (sl_exif_orientation(made) != sl_exif_orientation(retiler->jpeg)) {
        *outcome = jpeg_retile_keep(SL_JPEG_UNUSUAL, "its EXIF orientation would change", error);
    } else {
        *outcome = SL_JPEG_RETILED;
        *retiled = made;
    }
    return SLUICE_OK;
}

sluice_status sl_jpeg_retiler_run(sl_jpeg_retiler *retiler, sl_jpeg_outcome *outcome,
                                  sl_bytes *retiled, sluice_error *error)
{
    assert(retiler->reading);
    *retiled = (sl_bytes){NULL, 0};
    *outcome = SL_JPEG_UNUSUAL;
    sluice_status status = SLUICE_OK;
    if (!retiler->too_much) {
        status = sl_jpeg_guard(&retiler->in_errors, jpeg_retile_read_work, retiler, error);
        retiler->too_much = status == SLUICE_NOMEM;
    }
    if (retiler->too_much) {
        *outcome = jpeg_retile_keep(SL_JPEG_UNUSUAL, "its metadata takes too much memory", error);
        status = SLUICE_OK;
    } else if (status == SLUICE_OK) {
        *outcome = jpeg_retile_judge(retiler, error);
        if (*outcome == SL_JPEG_RETILED) {
            status = rewrite(retiler, outcome, retiled, error);
        }
    }
    end_picture(retiler);
    return status;
}
