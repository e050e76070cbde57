/* SPDX-License-Identifier: Apache-2.0 */
/* mds_columns: what MDS calls the encodings of columns, and what they are here. Threads: pure. */
#ifndef SL_MDS_COLUMNS_H
#define SL_MDS_COLUMNS_H

#include "sized_columns.h"

/* Fills in all but the column's bytes and name. What cannot be a field is `refused`. */
void sl_mds_column(const char *encoding, sl_sized_column *column, sl_source_column *source);

#endif
