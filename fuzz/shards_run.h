/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_run: what the targets of MDS and LitData share: a folder with an index.json and one file,
 * and a look at what a sample of sized columns came to. Threads: one.
 */
#ifndef SL_FUZZ_SHARDS_RUN_H
#define SL_FUZZ_SHARDS_RUN_H

#include "fuzz.h"
#include "sized_columns.h"

/* Writes `name` to the target's folder, which is removed at exit. */
void fuzz_shards_write(const char *name, const void *data, size_t size);
/* Opens the folder and asks for everything. */
void fuzz_shards_open(void);

/* A column of its own encoding behind those that there are; its source is returned. */
sl_source_column *fuzz_shards_column(sl_sized_columns *columns, const char *name);
/* Looks at the bytes, finds the fields, takes the bytes apart, and holds what comes out against
 * them. Closes the columns. */
void fuzz_shards_sample(sl_sized_columns *columns, const uint8_t *data, size_t size);

#endif
