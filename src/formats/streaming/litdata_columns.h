/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_columns: names and types of LitData's leaves.
 *
 * Purpose: a sample of LitData is a tree (dicts, lists, tuples) whose leaves are stored flat.
 * config.data_format gives their serializers; config.data_spec, the tree as JSON in a text, gives
 * their names: "label", "boxes.0", "meta.id"; "0", "1" in a list. Threads: pure.
 */
#ifndef SL_LITDATA_COLUMNS_H
#define SL_LITDATA_COLUMNS_H

#include "index_json.h"
#include "sized_columns.h"

/*
 * Adds a column for each leaf. Errors: CORRUPT (lists missing, or of different lengths),
 * UNSUPPORTED, NOMEM.
 */
sluice_status sl_litdata_columns(const sl_index_json *index, sl_sized_columns *columns,
                                 sluice_error *error);

#endif
