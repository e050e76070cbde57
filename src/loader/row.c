/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"

#include "clock.h"
#include "error.h"
#include "trace.h"

/* Header and crop: what of the picture is needed. */
static sluice_status open_and_draw(sl_row_maker *maker, sl_decoder *decoder, sl_job *job,
                                   sl_value *image, sl_params *params, sluice_error *error)
{
    const sl_sample *sample = &job->want.sample;
    sl_values values = {.wanted = UINT64_C(1) << maker->image | UINT64_C(1) << maker->label};
    sluice_status status =
        sl_dataset_unpack(maker->feed->dataset, sample, job->bytes.bytes, &values, error);
    if (status != SLUICE_OK) {
        return status;
    }
    *image = values.of[maker->image];
    job->label = values.of[maker->label].integer;
    const sl_stored_image stored = {.bytes = image->bytes,
                                    .raw = image->raw,
                                    .zstd = image->zstd,
                                    .width = image->width,
                                    .height = image->height};
    sl_picture picture;
    status = sl_decoder_open_picture(decoder, &stored, &picture, error);
    if (status == SLUICE_OK) {
        status = sl_draw(
            &maker->recipe,
            &(sl_draw_key){maker->feed->config->options.seed, job->want.epoch, sample->index, 0},
            picture.width, picture.height, params, error);
    }
    return status;
}

static sluice_status decode(const sl_row_maker *maker, sl_decoder *decoder, const sl_params *params,
                            sl_image *view, sluice_error *error)
{
    uint32_t width = 0;
    uint32_t height = 0;
    if (maker->feed->config->options.exact == 0) {
        sl_params_least(params, &width, &height);
    }
    return sl_decoder_decode(decoder, params->need, width, height, view, error);
}

static void trace(sluice_trace_kind kind, const sl_job *job, uint64_t begin, uint64_t end)
{
    if (sl_trace_running()) {
        sl_trace_write(&(sluice_trace_event){.begin_ns = begin,
                                             .end_ns = end,
                                             .ticket = job->want.ticket,
                                             .sample = (int64_t)job->want.sample.index,
                                             .kind = (uint32_t)kind,
                                             .slot = job->slot});
    }
}

static sluice_status make(sl_row_maker *maker, sl_decoder *decoder, sl_job *job, sl_value *image,
                          sluice_error *error)
{
    const uint64_t start = sl_now_ns();
    sl_params params;
    sl_image view;
    sluice_status status = open_and_draw(maker, decoder, job, image, &params, error);
    if (status == SLUICE_OK) {
        status = decode(maker, decoder, &params, &view, error);
    }
    const uint64_t decoded = sl_now_ns();
    sl_stage_add(&maker->decode, decoded - start);
    trace(SLUICE_TRACE_DECODE, job, start, decoded);
    if (status != SLUICE_OK) {
        return status;
    }
    uint8_t *row = job->view.images + job->want.row * maker->feed->image_row_bytes;
    job->view.flags[job->want.row] = maker->mirrors_later && params.flip ? SL_ROW_MIRROR : 0;
    params.flip = params.flip && !maker->mirrors_later;
    status = sl_augment_apply(&maker->converter, &view, &params, row, sl_decoder_scratch(decoder),
                              error);
    const uint64_t done = sl_now_ns();
    sl_stage_add(&maker->augment, done - decoded);
    trace(SLUICE_TRACE_AUGMENT, job, decoded, done);
    return status;
}

void sl_row_run(void *ctx, sl_decoder *decoder, void *job_memory)
{
    sl_row_maker *maker = ctx;
    sl_job *job = job_memory;
    sl_value image = {.present = false};
    if (atomic_load_explicit(&maker->feed->stopping, memory_order_relaxed)) {
        sl_fetch_release(maker->feed->fetch, job->bytes.handle);
        sl_feed_drop(maker->feed, job);
        return;
    }
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = make(maker, decoder, job, &image, &error);
    sl_fetch_release(maker->feed->fetch, job->bytes.handle);
    if (status == SLUICE_OK) {
        sl_feed_good(maker->feed, job);
        return;
    }
    sl_sample_blame(maker->feed->dataset, &job->want.sample, &image, &error);
    sl_feed_bad(maker->feed, job, &error);
}
