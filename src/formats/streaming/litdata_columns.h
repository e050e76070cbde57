/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata_columns: what LitData's leaves are called, and what they are here.
 *
 * Purpose: a sample of LitData is a tree (dicts, lists, tuples) whose leaves are stored flat. What
 * they are, config.data_format says, by the names of serializers; what they are called follows from
 * config.data_spec, the tree as JSON in a text: "label", "boxes.0", "meta.id"; "0", "1" of a list.
 * Threads: pure.
 */
#ifndef SL_LITDATA_COLUMNS_H
#define SL_LITDATA_COLUMNS_H

#include "index_json.h"
#include "sized_columns.h"

/* Adds a column for each leaf. Errors: CORRUPT (no such lists, or of different lengths),
 * UNSUPPORTED, NOMEM. */
sluice_status sl_litdata_columns(const sl_index_json *index, sl_sized_columns *columns,
                                 sluice_error *error);

#endif
