/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_run: makes a small packed dataset and reads everything of a suspect one, for the targets
 * of docs/format.md's files. Threads: one. Memory: a folder below TMPDIR that is removed at
 * exit. */
#ifndef SL_FUZZ_DATASET_RUN_H
#define SL_FUZZ_DATASET_RUN_H

#include "fuzz.h"

#include <sluice/dataset.h>

#define FUZZ_SHARD    "shard-000000.sluice"
#define FUZZ_MANIFEST "manifest.sluice"

/* Reads the file `name` of sound dataset `index` (0 .. FUZZ_DATASETS-1) into `buffer`. Returns its
 * size. */
#define FUZZ_DATASETS 7u
size_t fuzz_dataset_file(unsigned index, const char *name, uint8_t *buffer);

/* Returns the suspect's own folder, which holds the sound dataset `index`. */
const char *fuzz_suspect_folder(unsigned index);
/* Writes `name` into this folder. */
void fuzz_suspect_write(const char *name, const uint8_t *data, size_t size);
/* Opens the file or folder `path` and requests everything; whatever it contains, nothing may
 * break. */
void fuzz_dataset_run(const char *path);
/* The same with options. */
void fuzz_dataset_run_with(const char *path, const sluice_dataset_options *asked);

/* Stores the right checksum (XXH3-64) of data[from, from + bytes) at data[at], if everything is
 * inside. */
void fuzz_seal(uint8_t *data, size_t size, uint64_t from, uint64_t bytes, uint64_t at);

#endif
