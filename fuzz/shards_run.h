/* SPDX-License-Identifier: Apache-2.0 */
/* shards_run: shared by the targets of MDS and LitData: a folder with an index.json and one file,
 * and a check of a sample of sized columns. Threads: one. */
#ifndef SL_FUZZ_SHARDS_RUN_H
#define SL_FUZZ_SHARDS_RUN_H

#include "fuzz.h"
#include "sized_columns.h"

/* Writes `name` to the target's folder, which is removed at exit. */
void fuzz_shards_write(const char *name, const void *data, size_t size);
/* Opens the folder and requests everything. */
void fuzz_shards_open(void);

/* Appends a column with its own encoding. Returns its source. */
sl_source_column *fuzz_shards_column(sl_sized_columns *columns, const char *name);
/* Examines the bytes, finds the fields, unpacks the bytes, and compares the results with the
 * fields. Closes the columns. */
void fuzz_shards_sample(sl_sized_columns *columns, const uint8_t *data, size_t size);

#endif
