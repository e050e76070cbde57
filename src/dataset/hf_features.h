/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_features: what Hugging Face's datasets library says of the columns of a file.
 *
 * Purpose: Parquet and Arrow files that it wrote carry, in JSON, which columns are pictures and
 * what classes are called: {"info": {"features": {COLUMN: {"_type": "Image"}, ...}}}. In
 * dataset_info.json "features" is at the top. What is not understood is as if it were not there.
 * Threads: one parses; then it is immutable. Ownership: sl_features_close.
 */
#ifndef SL_HF_FEATURES_H
#define SL_HF_FEATURES_H

#include "json_file.h"

#include <sluice/common.h>

typedef struct sl_features {
    json_t *root;
    const json_t *columns; /* NULL: nothing is said */
} sl_features;

/* `features` is all zero. Text that says nothing is fine. */
void sl_features_parse(sl_features *features, sl_bytes text);
/* May be zero-initialised. */
void sl_features_close(sl_features *features);

/* "Image", "ClassLabel", "Value", "Audio", "List", ...; NULL: nothing is said of the column. Of
 * what is a list (also written "Sequence" and as [...]) "List". */
const char *sl_features_type(const sl_features *features, const char *column);
/* The same of the elements of a list. */
const char *sl_features_item_type(const sl_features *features, const char *column);
/* Dimensions of an Array2D to Array5D; 0: it is none. `shape`: SLUICE_TENSOR_DIMS_MAX of them, 0
 * where each sample has its own. */
uint32_t sl_features_shape(const sl_features *features, const char *column, uint64_t *shape);
/* Classes of a ClassLabel, or of the lists of one; 0: it is neither. A column "a.b" is member "b"
 * of the structure "a", which may be in a list. */
uint32_t sl_features_classes(const sl_features *features, const char *column);
/* NULL: there is none of that number. */
const char *sl_features_class_name(const sl_features *features, const char *column, int64_t label);

#endif
