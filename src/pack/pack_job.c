/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_job.h"

static sluice_status open_maker(void *state, const void *config, sluice_error *error)
{
    return sl_maker_open(state, config, error);
}

static void close_maker(void *state)
{
    sl_maker_close(state);
}

static sluice_status make(void *state, sl_prepare_sample *sample, void *made, sluice_error *error)
{
    sl_made *own = made;
    const sluice_status status =
        sl_maker_make(state, sample->values, sample->allowance, own, error);
    sample->blame = own->blame;
    if (own->kept.status < 0) {
        sl_sample_blame(sample->dataset, sample->place, NULL, &own->kept);
    }
    return status;
}

static void drop(void *made)
{
    sl_made_close(made);
}

const sl_prepare_job sl_pack_job = {.state_bytes = sizeof(sl_maker),
                                    .made_bytes = sizeof(sl_made),
                                    .open = open_maker,
                                    .close = close_maker,
                                    .make = make,
                                    .drop = drop};
