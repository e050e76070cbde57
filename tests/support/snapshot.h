/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: all samples of a dataset, kept in memory for comparison with later openings.
 *
 * Uses the public API, like a user. Functions abort on failure unless stated otherwise.
 */
#ifndef SL_SNAPSHOT_H
#define SL_SNAPSHOT_H

#include <sluice/sluice.h>

typedef struct snapshot_sample {
    uint8_t *image;
    size_t bytes;
    sluice_sample_info info;
} snapshot_sample;

typedef struct snapshot {
    snapshot_sample *samples;
    uint64_t count;
} snapshot;

typedef struct snapshot_difference {
    uint64_t errors;    /* unreadable samples: CORRUPT, IO or UNSUPPORTED */
    uint64_t silent;    /* samples that were read but differ: always an error */
    uint64_t missing;   /* samples that the dataset no longer claims to have */
    sluice_status last; /* status of the last error */
} snapshot_difference;

void snapshot_take(snapshot *all, const char *path);
void snapshot_free(snapshot *all);
/* Compares image, label, key and, if both are known, the size of each sample. */
snapshot_difference snapshot_compare(const snapshot *all, const sluice_dataset *dataset);
/* Opens and compares `path`. Returns 0, or the negative status of open. */
sluice_status snapshot_compare_path(const snapshot *all, const char *path,
                                    snapshot_difference *difference);
/* Returns the number of findings of sluice_dataset_verify with one worker. */
uint64_t snapshot_verify(const sluice_dataset *dataset);

#endif
