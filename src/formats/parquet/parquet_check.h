/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_check: what verify checks in a Parquet file besides its samples.
 *
 * Purpose: checks the pages of the dataset's columns only. A page's CRC-32 is optional; it covers
 * the page as stored, which has values of many samples. Pages of columns in memory are read even
 * without a CRC, since nothing else reads them. Threads: any. Memory: the file's footer, and a
 * piece of a page.
 */
#ifndef SL_PARQUET_CHECK_H
#define SL_PARQUET_CHECK_H

#include "parquet_open.h"

/* Implements check_object of a dataset's ops; `file` is one of its files. */
sluice_status sl_parquet_check(const sl_parquets *own, uint32_t file, sl_findings *findings);

#endif
