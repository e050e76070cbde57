/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_check: what verify looks at in a Parquet file besides its samples.
 *
 * Purpose: the pages of the dataset's columns, and no others: a page's CRC-32 covers it as it is
 * stored, values of many samples together, and is optional. Pages of columns that are in memory are
 * read even where they have none, since nobody else does. Threads: any. Memory: the file's footer,
 * and a piece of a page.
 */
#ifndef SL_PARQUET_CHECK_H
#define SL_PARQUET_CHECK_H

#include "parquet_open.h"

/* As check_object of a dataset's ops; `file` is one of its files. */
sluice_status sl_parquet_check(const sl_parquets *own, uint32_t file, sl_findings *findings);

#endif
