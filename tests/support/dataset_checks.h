/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset_checks: a path as a dataset, and what is in it, or the running test fails. Threads: the
 * test's.
 */
#ifndef SL_DATASET_CHECKS_H
#define SL_DATASET_CHECKS_H

#include <sluice/dataset.h>

#include <stddef.h>

/* The caller closes it. */
sluice_dataset *dataset_opened(const char *path);
/* Opening says this status, of a file of this name, with these words. */
void dataset_refused(const char *path, sluice_status status, const char *file, const char *words);
/* Of this format, with so many samples. */
void dataset_expect(const sluice_dataset *dataset, const char *format, uint64_t samples);
/* A field of a sample has these bytes. */
void dataset_expect_bytes(const sluice_dataset *dataset, uint64_t index, const char *field,
                          const void *wanted, size_t bytes);

#endif
