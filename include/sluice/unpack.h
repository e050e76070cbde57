/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/unpack.h: a dataset of any kind as ordinary files again: a folder, or WebDataset's tars.
 *
 * Bytes come out as they are stored: pictures that were packed as they were are the files that they
 * were, re-tiled JPEGs are ordinary JPEGs with the same pixels, raw pixels become PNGs. Section
 * "Unpacked" of docs/formats.md lists the files' names. Keys and class names are never trusted as
 * paths: one that is not a safe name, or is taken (also by a name that differs in case only), is
 * replaced by the sample's number, of 8 digits or more. The same dataset and options give the same
 * files.
 *
 *     sluice_unpack_options options = SLUICE_UNPACK_OPTIONS_INIT;
 *     options.form = SLUICE_UNPACK_TAR;
 *     sluice_unpack(dataset, "tars", &options, NULL, &error);
 *
 * Forks: as in sluice/writer.h.
 */
#ifndef SLUICE_UNPACK_H
#define SLUICE_UNPACK_H

#include <sluice/common.h>
#include <sluice/dataset.h>
#include <sluice/writer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sluice_unpack_form {
    SLUICE_UNPACK_FOLDER = 0, /* files; class folders where classes have names and samples pictures:
                                 what torchvision's ImageFolder reads */
    SLUICE_UNPACK_TAR = 1     /* shard-000000.tar, ...: what WebDataset reads */
} sluice_unpack_form;

typedef struct sluice_unpack_progress {
    uint32_t struct_size;
    uint32_t archives;     /* begun */
    uint64_t samples_done; /* written or left out */
    uint64_t samples_total;
    uint64_t bytes_written;
    uint64_t rejected;
} sluice_unpack_progress;

#define SLUICE_UNPACK_PROGRESS_INIT                   \
    {                                                 \
        sizeof(sluice_unpack_progress), 0, 0, 0, 0, 0 \
    }

typedef struct sluice_unpack_options {
    uint32_t struct_size;
    int32_t form;       /* a sluice_unpack_form [FOLDER] */
    uint32_t workers;   /* threads that read and check [one for each processor; remote data: 32] */
    uint32_t overwrite; /* 1: what an earlier unpack made at the path is replaced [0: refuse] */
    int32_t on_bad;     /* a sluice_pack_on_bad [FAIL] */
    uint32_t reserved;  /* 0 */
    uint64_t shard_bytes;   /* TAR: an archive is closed before it would pass this, at least one
                               sample [256 MiB; 1 MiB .. 1 TiB] */
    uint64_t shard_samples; /* TAR: ... or have more samples than this [0: any number] */
    /* called by one thread, a few times a second and at the end; may be NULL */
    void (*on_progress)(void *user, const sluice_unpack_progress *progress);
    /* asked several times a second by one thread: not 0 ends with CANCELED; may be NULL */
    int32_t (*should_stop)(void *user);
    void *user;
    uint64_t max_sample_bytes; /* a larger sample is a bad one, at most 2^31 - 1 [1 GiB] */
} sluice_unpack_options;

#define SLUICE_UNPACK_OPTIONS_INIT                                              \
    {                                                                           \
        sizeof(sluice_unpack_options), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0 \
    }

typedef struct sluice_unpack_result {
    uint32_t struct_size;
    uint32_t archives;        /* TAR */
    uint64_t samples;         /* written */
    uint64_t rejected;        /* left out; listed in rejected.tsv of the folder */
    uint64_t files;           /* of samples; TAR: members of archives */
    uint64_t bytes;           /* of those files; TAR: of the archives */
    uint64_t renamed;         /* samples whose key is not what their files are called by */
    uint32_t renamed_classes; /* class folders that are not called like their class */
    uint32_t labels_differ;   /* 1: an ImageFolder's labels go by the order of its folders, and are
                                 not those of the dataset */
} sluice_unpack_result;

#define SLUICE_UNPACK_RESULT_INIT                            \
    {                                                        \
        sizeof(sluice_unpack_result), 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/*
 * Unpacks `dataset` into the folder `path`, which is new or empty, and appears whole or not at all:
 * until then all is in the folder `path`.part, which is removed when the call fails; one that a
 * killed process left is removed by the next call for the same path. Nothing outside these two is
 * written. Blocks until done. Errors: STATE (the folder holds something), CANCELED (should_stop),
 * IO, CORRUPT or UNSUPPORTED (a bad sample, with FAIL; every sample, with SKIP), INVALID, NOMEM.
 */
SLUICE_API sluice_status sluice_unpack(const sluice_dataset *dataset, const char *path,
                                       const sluice_unpack_options *options,
                                       sluice_unpack_result *result,
                                       sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
