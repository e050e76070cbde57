/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed: small packed datasets for tests, made with the writer behind the public one, which
 * accepts tiny shards. Functions abort on failure.
 */
#ifndef SL_PACKED_H
#define SL_PACKED_H

#include <sluice/sluice.h>

/* Consecutive samples have different images, sizes, labels and keys. */
typedef struct packed_options {
    uint64_t samples;
    uint32_t classes;
    uint32_t raw_every;   /* every n-th sample is raw pixels; 0: none */
    uint64_t shard_bytes; /* 0: one shard */
    int32_t zstd_level;
} packed_options;

/* Writes the dataset to the folder `path`. */
void packed_make(const char *path, const packed_options *options);

#endif
