/* SPDX-License-Identifier: Apache-2.0 */
#include "look_around.h"

#include "error.h"
#include "memory.h"
#include "share.h"

#define STAGE "dataset"

enum { LOOKS = 64 };

static sluice_status read_and_look(const sl_dataset *dataset, const sl_sample *sample,
                                   sl_sample_look look, void *ctx, sluice_error *error)
{
    size_t size;
    const sl_place *place = &sample->place;
    const sl_buffer buffer = {sl_malloc(place->bytes), place->bytes};
    if (buffer.data == NULL) {
        return sl_no_memory(error, STAGE, "looking at a sample");
    }
    sluice_status status = sl_dataset_read(dataset, sample, buffer, &size, error);
    if (status == SLUICE_OK) {
        const sl_refusal why = look(ctx, sample, (sl_bytes){buffer.data, size});
        status = why.text != NULL
                     ? sl_dataset_refuse(dataset, place->object, place->offset, why, error)
                     : SLUICE_OK;
    }
    sl_free(buffer.data);
    return status;
}

sluice_status sl_look_at_sample(const sl_dataset *dataset, uint64_t index, sl_sample_look look,
                                void *ctx, sluice_error *error)
{
    sl_sample sample;
    const sluice_status status = sl_dataset_find(dataset, index, &sample, error);
    if (status < 0) {
        return status;
    }
    if (sample.place.bytes > SL_RECORD_BYTES_MAX) {
        return sl_dataset_refuse(
            dataset, sample.place.object, sample.place.offset,
            sl_refuse_unknown("the sample here has more than 2^31 - 1 bytes", 0), error);
    }
    return read_and_look(dataset, &sample, look, ctx, error);
}

sluice_status sl_look_around(const sl_dataset *dataset, sl_sample_look look, void *ctx,
                             sluice_error *error)
{
    const uint64_t last = dataset->info.samples - 1;
    const uint64_t steps = last < LOOKS - 1 ? last : LOOKS - 1;
    bool found = false;
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; i <= steps; i++) {
        const uint64_t index = steps > 0 ? sl_share_first(last, i, steps) : 0;
        sluice_error reason;
        sl_error_clear(&reason);
        const sluice_status looked = sl_look_at_sample(dataset, index, look, ctx, &reason);
        if (looked == SLUICE_IO) { /* it might have had a further field */
            if (error != NULL) {
                *error = reason;
            }
            return looked;
        }
        found = found || looked == SLUICE_OK;
        if (looked < 0 && status == SLUICE_OK) {
            status = looked;
            if (error != NULL) {
                *error = reason;
            }
        }
    }
    return found ? SLUICE_OK : status;
}
