/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"
#include "error.h"
#include "frame.h"
#include "memory.h"

#include <string.h>

#define STAGE              "dataset"
#define UNPACKED_BYTES_MAX ((uint64_t)1 << 30)

static sluice_status unpack(sl_bytes image, sl_buffer buffer, size_t *size, sluice_error *error)
{
    uint64_t bytes = 0;
    sluice_status status = sl_frame_size(image, UNPACKED_BYTES_MAX, &bytes, error);
    *size = bytes;
    if (status < 0 || bytes > buffer.capacity) {
        return status < 0 ? status : SLUICE_AGAIN;
    }
    return sl_frame_unpack_to(NULL, image, buffer.data, bytes, error);
}

static sluice_status copy(sl_bytes image, sl_buffer buffer, size_t *size)
{
    *size = image.size;
    if (image.size > buffer.capacity) {
        return SLUICE_AGAIN;
    }
    if (image.size > 0) {
        memcpy(buffer.data, image.data, image.size);
    }
    return SLUICE_OK;
}

/* Through `stored`, which has room for what the sample had a moment ago. */
static sluice_status read_through(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_buffer stored, sl_buffer buffer, size_t *size,
                                  sluice_error *error)
{
    sl_bytes image = {NULL, 0};
    size_t got = 0;
    sluice_status status = sl_dataset_read(dataset, sample, stored, &got, error);
    if (status == SLUICE_AGAIN) {
        return sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read");
    }
    if (status == SLUICE_OK) {
        status = sl_sample_check(dataset, sample, (sl_bytes){stored.data, got}, &image, error);
    }
    if (status < 0) {
        return status;
    }
    return sample->zstd ? unpack(image, buffer, size, error) : copy(image, buffer, size);
}

sluice_status sl_dataset_read_image(const sl_dataset *dataset, uint64_t index, sl_buffer buffer,
                                    size_t *size, sluice_error *error)
{
    sl_sample sample;
    size_t bytes = 0;
    *size = 0;
    sluice_status status = sl_dataset_locate(dataset, index, &sample, error);
    if (status < 0) {
        return status;
    }
    status = sl_dataset_read(dataset, &sample, (sl_buffer){NULL, 0}, &bytes, error);
    if (status >= 0) {
        sl_buffer stored = {sl_malloc(bytes > 0 ? bytes : 1), bytes};
        status = stored.data ? read_through(dataset, &sample, stored, buffer, size, error)
                             : sl_error_set(error, SLUICE_NOMEM, STAGE,
                                            "no memory for a sample of %zu bytes", bytes);
        sl_free(stored.data);
    }
    if (status < 0) {
        sl_sample_blame(dataset, &sample, error);
    }
    return status;
}
