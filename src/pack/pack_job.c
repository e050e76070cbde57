/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_job.h"

/* Key of the draw. It determines the output of a pack, so it must never change. */
#define DRAW_KEY UINT64_C(0x7261775F73686172)

typedef struct state {
    const sl_pack_job_config *config;
    sl_maker maker;
} state;

void sl_pack_job_draw(sl_pack_job_config *config, uint64_t samples, double share)
{
    config->draw = sl_permutation_make(samples, DRAW_KEY);
    config->raw_samples = (uint64_t)(share * (double)samples + 0.5);
}

static sluice_status pack_job_open_state(void *memory, const void *config, sluice_error *error)
{
    state *own = memory;
    own->config = config;
    return sl_maker_open(&own->maker, &own->config->maker, error);
}

static void pack_job_close_state(void *memory)
{
    sl_maker_close(&((state *)memory)->maker);
}

static sluice_status pack_job_make(void *memory, sl_prepare_sample *sample, void *made,
                                   sluice_error *error)
{
    state *own = memory;
    sl_made *result = made;
    const bool as_pixels =
        own->config->raw_samples > 0 &&
        sl_permutation_apply(&own->config->draw, sample->place->index) < own->config->raw_samples;
    const sluice_status status =
        sl_maker_make(&own->maker, sample->values, as_pixels, sample->allowance, result, error);
    sample->blame = result->blame;
    if (result->kept.status < 0) {
        sl_sample_blame(sample->dataset, sample->place, NULL, &result->kept);
    }
    return status;
}

static void pack_job_drop(void *made)
{
    sl_made_close(made);
}

const sl_prepare_job sl_pack_job = {.state_bytes = sizeof(state),
                                    .made_bytes = sizeof(sl_made),
                                    .open = pack_job_open_state,
                                    .close = pack_job_close_state,
                                    .make = pack_job_make,
                                    .drop = pack_job_drop};
