/* SPDX-License-Identifier: Apache-2.0 */
/* data: DATASET arguments. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include <sluice/dataset.h>

#include <stdint.h>

/*
 * Opens the dataset at `path`; the caller closes it. NULL: the error was reported and `*code` is
 * the exit code.
 */
sluice_dataset *data_open(const char *path, int *code);

/* The processors that this process may run on, at least 1. */
uint64_t data_processors(void);

#endif
