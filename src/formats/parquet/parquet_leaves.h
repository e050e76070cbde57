/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_leaves: the schema of a Parquet file, as a footer has it.
 *
 * Purpose: its elements are a tree, each before its children; here it is a list of leaves with
 * their levels and the names down to them. Source: parquet.thrift. Threads: pure. Limits: 1024
 * leaves, 32 groups in groups.
 */
#ifndef SL_PARQUET_LEAVES_H
#define SL_PARQUET_LEAVES_H

#include "parquet_file.h"
#include "thrift.h"

/* Reads the field of a footer that is its schema to parquet->leaves. NULL, or what is wrong. */
const char *sl_parquet_leaves_read(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field);

#endif
