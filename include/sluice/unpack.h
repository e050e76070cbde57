/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/unpack.h: turns any dataset back into ordinary files: a folder, or WebDataset's tars.
 *
 * Values are written as stored: images that were packed unchanged are their original files,
 * re-tiled JPEGs are ordinary JPEGs with the same pixels, and raw pixels become PNGs. Section
 * "Unpack" of docs/formats/reading.md lists the file names. Keys and class names are never trusted
 * as paths: an unsafe name, and one that is taken (ignoring case), is replaced by the sample's
 * number, of at least 8 digits. The same dataset and options give the same files.
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
    SLUICE_UNPACK_FOLDER = 0, /* files; in class folders if classes have names and samples have
                                 images, which torchvision's ImageFolder reads */
    SLUICE_UNPACK_TAR = 1     /* shard-000000.tar, ..., which WebDataset reads */
} sluice_unpack_form;

typedef struct sluice_unpack_progress {
    uint32_t struct_size;
    uint32_t archives;     /* archives begun */
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
    int32_t form;           /* a sluice_unpack_form [FOLDER] */
    uint32_t workers;       /* threads that read and check [one per CPU; remote data: 32] */
    uint32_t overwrite;     /* 1: replaces an earlier unpack's output at the path [0: STATE] */
    int32_t on_bad;         /* a sluice_pack_on_bad [FAIL] */
    uint32_t reserved;      /* 0 */
    uint64_t shard_bytes;   /* TAR: largest archive, except for a single larger sample [256 MiB;
                               1 MiB..1 TiB] */
    uint64_t shard_samples; /* TAR: largest number of samples of an archive [0: any] */
    /* Called by one thread, a few times a second and at the end; may be NULL. */
    void (*on_progress)(void *user, const sluice_unpack_progress *progress);
    /* Called several times a second by one thread: anything but 0 ends the call with CANCELED; may
     * be NULL. */
    int32_t (*should_stop)(void *user);
    void *user;
    uint64_t max_sample_bytes; /* largest sample, up to 2^31 - 1; a larger one is bad [1 GiB] */
} sluice_unpack_options;

#define SLUICE_UNPACK_OPTIONS_INIT                                              \
    {                                                                           \
        sizeof(sluice_unpack_options), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0 \
    }

typedef struct sluice_unpack_result {
    uint32_t struct_size;
    uint32_t archives;        /* TAR: archives */
    uint64_t samples;         /* written */
    uint64_t rejected;        /* samples left out; listed in the folder's rejected.tsv */
    uint64_t files;           /* files of samples; TAR: members of archives */
    uint64_t bytes;           /* bytes of those files; TAR: of the archives */
    uint64_t renamed;         /* samples whose files do not have their key as name */
    uint32_t renamed_classes; /* class folders that do not have their class's name */
    uint32_t labels_differ;   /* 1: ImageFolder numbers classes by the order of the folders, which
                                 differs from the dataset's labels */
} sluice_unpack_result;

#define SLUICE_UNPACK_RESULT_INIT                            \
    {                                                        \
        sizeof(sluice_unpack_result), 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/*
 * Unpacks `dataset` into the folder `path`, which must be new or empty. It appears complete or not
 * at all: files are first written to the folder `path`.part, which is removed if the call fails;
 * one left by a killed process is removed by the next call for the same path. Nothing is written
 * outside these two. Blocks until done. Errors: STATE (the folder is not empty), CANCELED
 * (should_stop), IO, CORRUPT or UNSUPPORTED (a bad sample, with FAIL; all samples, with SKIP),
 * INVALID, NOMEM.
 */
SLUICE_API sluice_status sluice_unpack(const sluice_dataset *dataset, const char *path,
                                       const sluice_unpack_options *options,
                                       sluice_unpack_result *result,
                                       sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
