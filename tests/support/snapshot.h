/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: all samples of a dataset, kept in memory to compare other openings of it with.
 *
 * Goes through the public API, as a user would. Functions abort on failure unless they say
 * otherwise.
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
    uint64_t errors;    /* samples that could not be read: CORRUPT, IO or UNSUPPORTED */
    uint64_t silent;    /* samples that were read and are not the same: never right */
    uint64_t missing;   /* samples that the dataset no longer claims to have */
    sluice_status last; /* of the last error */
} snapshot_difference;

void snapshot_take(snapshot *all, const char *path);
void snapshot_free(snapshot *all);
/* Compares image, label, key and, where both are known, the size of each sample. */
snapshot_difference snapshot_compare(const snapshot *all, const sluice_dataset *dataset);
/* Opens `path`; negative: the status of open. 0: opened, and compared. */
sluice_status snapshot_compare_path(const snapshot *all, const char *path,
                                    snapshot_difference *difference);
/* Findings of sluice_dataset_verify with one worker. */
uint64_t snapshot_verify(const sluice_dataset *dataset);

#endif
