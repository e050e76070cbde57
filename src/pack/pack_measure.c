/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"
#include "minmax.h"
#include "pack_state.h"
#include "shard_format.h"

/*
 * Memory for samples read but not yet written, and for the JPEG that each worker re-tiles: the
 * coefficients of 12 Mpixel at 4:2:0 take half of that.
 */
#define BUDGET_BYTES        ((uint64_t)128 << 20)
#define BUDGET_WORKER_BYTES ((uint64_t)64 << 20)
/* used if no sample could be measured */
#define SAMPLE_BYTES_GUESS ((uint64_t)64 << 10)

static double raw_share(const sluice_pack_options *options)
{
    return options->raw != 0 ? 1 : options->raw_share;
}

sl_pack_job_config sl_pack_job_for(const sl_pack_state *p, const sl_record_plan *plan)
{
    const sluice_pack_options *options = p->options;
    sl_pack_job_config config = {
        .maker = {.plan = plan,
                  /* with raw there are no JPEGs */
                  .keep_bytes = options->keep_bytes != 0 || options->raw != 0,
                  .raw = raw_share(options) > 0,
                  .max_side = options->max_side,
                  .quality = options->quality,
                  .retile = {.max_pixels = SL_RECORD_PIXELS_MAX,
                             .max_bytes = SL_RECORD_IMAGE_MAX,
                             .tile_mcus = options->tile_mcus,
                             .drop_metadata = options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
                             .fastest = options->tile_mcus == 0}}};
    sl_pack_job_draw(&config, p->dataset->info.samples, raw_share(options));
    return config;
}

static bool has_frames(const sl_record_plan *plan)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->schema->field_count; i++) {
        any = any || plan->levels[i] != 0;
    }
    return any;
}

sl_prepare_config sl_pack_prepare_for(const sl_pack_state *p, const sl_pack_job_config *job,
                                      uint64_t first, uint64_t end)
{
    const sluice_pack_options *options = p->options;
    const bool retiles = options->keep_bytes == 0 && options->raw == 0;
    return (sl_prepare_config){
        .dataset = p->dataset,
        .job = &sl_pack_job,
        .config = job,
        .copies = has_frames(job->maker.plan),
        .keep_order = options->keep_order != 0,
        .leave_unread_out = options->on_bad == SLUICE_PACK_BAD_SKIP_ALL,
        .workers = options->workers,
        .first = first,
        .end = end,
        .seed = options->seed,
        .max_sample_bytes = options->max_sample_bytes,
        .budget_bytes = BUDGET_BYTES + (retiles ? options->workers * BUDGET_WORKER_BYTES : 0)};
}

/*
 * Measures samples in their final form, except that JPEGs are not re-tiled, which changes little;
 * skips bad samples.
 */
static sluice_status pack_measure_sample(sl_pack_state *p, sl_frames *frames, sluice_error *error)
{
    const uint64_t samples = p->dataset->info.samples;
    const sl_record_plan plain = {.schema = p->plan.schema};
    sl_pack_job_config job = sl_pack_job_for(p, &plain);
    job.maker.keep_bytes = true;
    const sl_prepare_config config =
        sl_pack_prepare_for(p, &job, 0, sl_min_u64(samples, SL_FRAMES_SAMPLES_MAX));
    sluice_status status = sl_prepare_open(&p->prepare, &config, error);
    for (uint64_t i = 0; status == SLUICE_OK && i < config.end && !sl_frames_have_enough(frames);
         i++) {
        sl_prepared *prepared;
        status = sl_prepare_next(p->prepare, &prepared, error);
        if (status < 0) {
            break;
        }
        const sl_made *made = prepared->made;
        if (prepared->status == SLUICE_OK) {
            status = sl_frames_add(frames, &made->record, error);
        } else if (prepared->fatal) {
            status = prepared->status;
            if (error != NULL) {
                *error = prepared->error;
            }
        }
        sl_prepare_done(p->prepare, prepared);
        status = status == SLUICE_OK ? sl_pack_check_stop(p, error) : status;
    }
    sl_prepare_close(p->prepare);
    p->prepare = NULL;
    return status;
}

/*
 * Returns the number of samples with which a shard of average samples is close to the requested
 * size; without a request, at most as many as leave a shard for each part.
 */
static uint64_t shard_samples(const sl_pack_state *p, const sl_frames *frames)
{
    const uint64_t samples = p->dataset->info.samples;
    const uint64_t others = 2 * (uint64_t)SL_PAGE_BYTES + p->series.plan.meta_bytes;
    const uint64_t asked = sl_pack_shard_bytes(p);
    const uint64_t capacity = asked > others ? asked - others : 0;
    const uint64_t mean = frames->samples > 0
                              ? sl_frames_bytes(frames, p->journal.framed) / frames->samples
                              : SAMPLE_BYTES_GUESS;
    const uint64_t fit = mean > 0 ? capacity / mean : samples;
    const uint64_t least = (samples - 1) / SL_SHARDS_MAX + 1;
    const uint64_t most =
        sl_pack_cuts_for_parts(p) && sl_pack_share(p) < fit ? sl_pack_share(p) : fit;
    const uint64_t length = sl_max_u64(most, least);
    return length < samples ? length : samples;
}

sluice_status sl_pack_measure(sl_pack_state *p, sluice_error *error)
{
    sl_frames frames = {.open = p->open}; /* also used for the sizes when a dataset is added to */
    const sluice_status status = pack_measure_sample(p, &frames, error);
    if (status == SLUICE_OK) {
        if (p->journal.before == 0) {
            p->journal.framed = sl_frames_decide(&frames);
        }
        p->journal.shard_samples = shard_samples(p, &frames);
    }
    sl_frames_close(&frames);
    return status;
}
