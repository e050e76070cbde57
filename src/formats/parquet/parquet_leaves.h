/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_leaves: reads the schema of a Parquet footer.
 *
 * Purpose: turns its tree of elements, stored parents first, into a list of leaves with their
 * levels and the names down to them. Source: parquet.thrift. Threads: pure. Limits: 1024 leaves,
 * groups nested 32 deep.
 */
#ifndef SL_PARQUET_LEAVES_H
#define SL_PARQUET_LEAVES_H

#include "parquet_file.h"
#include "thrift.h"

/* Reads the schema field of a footer to parquet->leaves. Returns the error, or NULL. */
const char *sl_parquet_leaves_read(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field);

#endif
