/* SPDX-License-Identifier: Apache-2.0 */
#include "option_names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* By the library's name. NULL: no command takes it, and it stays what it is. */
static const struct option_name {
    const char *library, *own;
} names[] = {
    {"allow_case_duplicates", "--allow-case-duplicates"},
    {"allow_empty_classes", "--allow-empty-classes"},
    {"any_numa_node", "--any-numa-node"},
    {"append", "--append"},
    {"batch_size", "--batch"},
    {"block_samples", NULL},
    {"device_slots", "--device-slots"},
    {"dtype", "--dtype"},
    {"exact", "--exact"},
    {"exif", NULL},
    {"ignore_index", NULL},
    {"io_backend", "--io"},
    {"io_depth", NULL},
    {"io_threads", NULL},
    {"keep_bytes", "--keep-bytes"},
    {"labels", "--labels union"},
    {"last_batch", "--last"},
    {"layout", "--layout"},
    {"max_pixels", NULL},
    {"max_sample_bytes", "--max-sample"},
    {"max_side", "--max-side"},
    {"memory_bytes", NULL},
    {"memory_bytes of opening", "--open-memory"},
    {"on_bad_sample", "--on-bad"},
    {"option fields of joining", "--common NAME"},
    {"overwrite", "--overwrite"},
    {"page_cache", "--cache"},
    {"prefetch", "--prefetch"},
    {"quality", "--quality"},
    {"rank", "--rank"},
    {"raw", "--raw"},
    {"raw_share", "--raw-share"},
    {"read_buffer_bytes", NULL},
    {"resident_bytes", NULL},
    {"shard_bytes", "--shard-size"},
    {"shuffle", "--shuffle"},
    {"sluice_dataset_concat", "--with"},
    {"stall_fail_ns", NULL},
    {"stall_warn_ns", NULL},
    {"the option allow_outside", "--allow-outside"},
    {"the option fields", "--field NAME=KEY"},
    {"the zstd level", "--zstd"},
    {"unpacked_dir", "--unpacked-dir"},
    {"whole_samples", "--whole-samples"},
    {"window_blocks", NULL},
    {"window_bytes", NULL},
    {"workers", "--workers"},
    {"world_size", "--world-size"},
    {"zstd_level", "--zstd"},
};

static int compare(const void *key, const void *row)
{
    return strcmp(key, ((const struct option_name *)row)->library);
}

static const char *spell(void *user, const char *option)
{
    (void)user;
    const struct option_name *found =
        bsearch(option, names, sizeof names / sizeof names[0], sizeof names[0], compare);
    return found != NULL ? found->own : NULL;
}

sluice_error option_names_of(const sluice_error *error)
{
    sluice_error own = *error;
    sluice_error_respell(&own, spell, NULL);
    return own;
}
