/* SPDX-License-Identifier: Apache-2.0 */
/* data: DATASET arguments. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include <sluice/dataset.h>

#include <stdbool.h>
#include <stdint.h>

/* The row of the option table that every command with a DATASET has. */
#define DATA_CASE_ROW(flag)                                                \
    {                                                                      \
        "allow-case-duplicates", 0, OPTION_FLAG, &(flag),                  \
            .help = "accept class folders whose names differ in case only" \
    }

/*
 * Opens the dataset at `path`; the caller closes it. `case_duplicates`: class folders may differ in
 * case only. NULL: the error was reported and `*code` is
 * the exit code.
 */
sluice_dataset *data_open(const char *path, bool case_duplicates, int *code);

/* The processors that this process may run on, at least 1. */
uint64_t data_processors(void);

#endif
