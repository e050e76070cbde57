/* SPDX-License-Identifier: Apache-2.0 */
#include "option_names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* By the library's name. */
static const struct option_name {
    const char *library, *own;
} names[] = {
    {"allow_case_duplicates", "allow_case_duplicates=True"},
    {"allow_empty_classes", "allow_empty_classes=True"},
    {"any_numa_node", "any_numa_node"},
    {"append", "append"},
    {"batch_size", "batch_size"},
    {"block_samples", "block_samples"},
    {"device_slots", "device_slots"},
    {"dtype", "dtype"},
    {"exact", "exact"},
    {"exif", "exif"},
    {"ignore_index", "ignore_index"},
    {"io_backend", "io"},
    {"io_depth", "io_depth"},
    {"io_threads", "io_threads"},
    {"keep_bytes", "keep_bytes"},
    {"labels", "labels=\"union\""},
    {"last_batch", "last_batch"},
    {"layout", "layout"},
    {"max_pixels", "max_pixels"},
    {"max_sample_bytes", "max_sample_bytes"},
    {"max_side", "max_side"},
    {"memory_bytes", "memory_bytes"},
    {"memory_bytes of opening", "memory_bytes of the Dataset"},
    {"on_bad_sample", "on_bad_sample"},
    {"option fields of joining", "fields=[...]"},
    {"overwrite", "overwrite=True"},
    {"page_cache", "page_cache"},
    {"prefetch", "prefetch_factor"},
    {"quality", "quality"},
    {"rank", "rank"},
    {"raw", "raw"},
    {"raw_share", "raw_share"},
    {"read_buffer_bytes", "read_buffer_bytes"},
    {"resident_bytes", "resident_bytes"},
    {"shard_bytes", "shard_bytes"},
    {"shuffle", "shuffle"},
    {"sluice_dataset_concat", "sluice.concat"},
    {"stall_fail_ns", "stall_fail"},
    {"stall_warn_ns", "stall_warn"},
    {"the option allow_outside", "allow_outside=True"},
    {"the option fields", "fields={...}"},
    {"the zstd level", "zstd"},
    {"unpacked_dir", "unpacked_dir"},
    {"whole_samples", "whole_samples"},
    {"window_blocks", "window_blocks"},
    {"window_bytes", "window_bytes"},
    {"workers", "num_workers"},
    {"world_size", "world_size"},
    {"zstd_level", "zstd"},
};

static int compare(const void *key, const void *row)
{
    return strcmp(key, ((const struct option_name *)row)->library);
}

static const char *spell(void *user, const char *option)
{
    (void)user;
    const struct option_name *found =
        bsearch(option, names, sizeof(names) / sizeof(names[0]), sizeof(names[0]), compare);
    return found != NULL ? found->own : NULL;
}

sluice_error option_names_of(const sluice_error *error)
{
    sluice_error own = *error;
    sluice_error_respell(&own, spell, NULL);
    return own;
}
