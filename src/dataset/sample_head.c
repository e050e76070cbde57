/* SPDX-License-Identifier: Apache-2.0 */
/* sample_head: reads heads of samples, on the calling thread. */
#include "sample_head.h"

#include "checksum.h"
#include "minmax.h"
#include "stop.h"

#define STAGE "dataset"

/* Bytes at a sample's beginning that its checksum does not cover: the checksum itself. */
enum { SUM_BYTES = 8 };

static bool is_one_range(const sl_sample *sample)
{
    return sample->place.bytes > 0 && sample->files == 0 && sample->pieces == 0 && !sample->cut;
}

sluice_status sl_sample_head_read(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_buffer buffer, sl_values *values, uint64_t *sum,
                                  sluice_error *error)
{
    const sl_place *place = &sample->place;
    const uint64_t bytes = sl_min_u64(dataset->head_bytes, place->bytes);
    if (dataset->head_bytes == 0 || !is_one_range(sample) || bytes > buffer.capacity) {
        return SLUICE_AGAIN;
    }
    const sluice_status status =
        sl_objects_read(dataset->objects, place->object, place->offset, buffer.data, bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_bytes head = {buffer.data, bytes};
    return dataset->ops->unpack_head(dataset, sample, head, values, sum).text == NULL
               ? SLUICE_OK
               : SLUICE_AGAIN;
}

sluice_status sl_sample_head_check(const sl_dataset *dataset, const sl_sample *sample,
                                   sl_buffer buffer, uint64_t sum, sluice_error *error)
{
    const sl_place *place = &sample->place;
    sl_checksum_stream stream;
    sluice_status status = SLUICE_OK;
    sl_checksum_begin(&stream);
    for (uint64_t at = SUM_BYTES; status == SLUICE_OK && at < place->bytes;) {
        const uint64_t bytes = sl_min_u64(buffer.capacity, place->bytes - at);
        status = sl_stop_check(STAGE, error);
        if (status == SLUICE_OK) {
            status = sl_objects_read(dataset->objects, place->object, place->offset + at,
                                     buffer.data, bytes, error);
        }
        if (status == SLUICE_OK) {
            sl_checksum_add(&stream, buffer.data, bytes);
        }
        at += bytes;
    }
    return status == SLUICE_OK && sl_checksum_value(&stream) != sum
               ? sl_error_set(error, SLUICE_CORRUPT, STAGE,
                              "the sample does not match its checksum")
               : status;
}
