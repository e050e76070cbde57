/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include "checksum.h"
#include "error.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#define STAGE "dataset"

/* The format table: the first row whose probe likes the path opens it. */
static const sl_format *const formats[] = {&sl_format_shards, &sl_format_folder};

sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    *dataset = NULL;
    if (count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no path was given");
    }
    struct stat status;
    if (stat(paths[0], &status) != 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, paths[0], -1, "cannot open");
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (formats[i]->probe(paths[0])) {
            return formats[i]->open(dataset, paths, count, options, error);
        }
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1,
                         "neither a folder of pictures nor packed shards (*.sluice)");
}

sl_dataset *sl_dataset_ref(sl_dataset *dataset)
{
    /* relaxed: whoever refs holds a reference already, so nothing is published by this */
    atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
    return dataset;
}

void sl_dataset_close(sl_dataset *dataset)
{
    if (!dataset) {
        return;
    }
    /* release: our uses come before the close; acquire in the last one: so do everybody's */
    uint32_t before = atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1) {
        dataset->ops->close(dataset);
    }
}

sluice_status sl_dataset_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                sluice_error *error)
{
    if (index >= dataset->info.samples) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "sample %llu is out of range: the dataset has %llu",
                            (unsigned long long)index, (unsigned long long)dataset->info.samples);
    }
    return dataset->ops->locate(dataset, index, sample, error);
}

sluice_status sl_dataset_path(const sl_dataset *dataset, uint32_t file, char *path, size_t bytes)
{
    if (file >= dataset->files) {
        return SLUICE_INVALID;
    }
    return dataset->ops->path(dataset, file, path, bytes);
}

sluice_status sl_dataset_key(const sl_dataset *dataset, const sl_sample *sample, char *key,
                             size_t bytes, sluice_error *error)
{
    return dataset->ops->key(dataset, sample, key, bytes, error);
}

sluice_status sl_dataset_read(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                              size_t *size, sluice_error *error)
{
    return dataset->ops->read(dataset, sample, buffer, size, error);
}

static sluice_status blame(const sl_dataset *dataset, const sl_sample *sample, const char *text,
                           sluice_error *error)
{
    sl_error_set(error, SLUICE_CORRUPT, STAGE, "%s", text);
    sl_sample_blame(dataset, sample, error);
    return SLUICE_CORRUPT;
}

sluice_status sl_sample_check(const sl_dataset *dataset, const sl_sample *sample, sl_bytes stored,
                              sl_bytes *image, sluice_error *error)
{
    if (sample->bytes != 0 && stored.size != sample->bytes) {
        return blame(dataset, sample, "the sample is not as long as its index entry says", error);
    }
    if (sample->checked && sl_checksum(stored.data, stored.size) != sample->checksum) {
        return blame(dataset, sample, "the sample does not match its checksum", error);
    }
    if (sample->image_bytes == 0) {
        *image = stored;
        return SLUICE_OK;
    }
    if (sample->image_offset > stored.size ||
        sample->image_bytes > stored.size - sample->image_offset) {
        return blame(dataset, sample, "the image does not lie inside its sample", error);
    }
    image->data = stored.data + sample->image_offset;
    image->size = sample->image_bytes;
    return SLUICE_OK;
}

void sl_sample_blame(const sl_dataset *dataset, const sl_sample *sample, sluice_error *error)
{
    if (!error || error->sample == (int64_t)sample->index) {
        return; /* blamed already */
    }
    char path[4096];
    if (sl_dataset_path(dataset, sample->file, path, sizeof(path)) == SLUICE_OK) {
        sl_error_set_path(error, path);
    }
    if (error->offset < 0 || sample->zstd) {
        error->offset = 0;
    } else {
        error->offset += sample->image_offset;
    }
    error->offset += (int64_t)sample->offset;
    error->sample = (int64_t)sample->index;
}
