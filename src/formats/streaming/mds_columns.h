/* SPDX-License-Identifier: Apache-2.0 */
/* mds_columns: translates MDS's encodings of columns to field types. Threads: pure. */
#ifndef SL_MDS_COLUMNS_H
#define SL_MDS_COLUMNS_H

#include "sized_columns.h"

/* Sets all but the column's size and name. A column that cannot be a field gets `refused`. */
void sl_mds_column(const char *encoding, sl_sized_column *column, sl_source_column *source);

#endif
