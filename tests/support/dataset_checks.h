/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset_checks: opens a path as a dataset and checks its contents; failures fail the running
 * test. Threads: the test's.
 */
#ifndef SL_DATASET_CHECKS_H
#define SL_DATASET_CHECKS_H

#include <sluice/dataset.h>

#include <stddef.h>

/* Opens the path; the caller closes the dataset. */
sluice_dataset *dataset_opened(const char *path);
/* Expects opening to fail with this status, a file of this name and these words. */
void dataset_refused(const char *path, sluice_status status, const char *file, const char *words);
/* Expects this format and number of samples. */
void dataset_expect(const sluice_dataset *dataset, const char *format, uint64_t samples);
/* Expects a field of a sample to have these bytes. */
void dataset_expect_bytes(const sluice_dataset *dataset, uint64_t index, const char *field,
                          const void *wanted, size_t bytes);

#endif
