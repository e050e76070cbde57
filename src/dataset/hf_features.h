/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_features: parses what Hugging Face's datasets library says about the columns of a file.
 *
 * Purpose: Parquet and Arrow files written by it contain in JSON which columns are images and the
 * names of classes: {"info": {"features": {COLUMN: {"_type": "Image"}, ...}}}. In
 * dataset_info.json, "features" is at the top. Unknown parts are ignored. Threads: one parses; then
 * it is immutable. Ownership: sl_features_close.
 */
#ifndef SL_HF_FEATURES_H
#define SL_HF_FEATURES_H

#include "json_file.h"

#include <sluice/common.h>

typedef struct sl_features {
    json_t *root;
    const json_t *columns; /* NULL: no description */
} sl_features;

/* Parses a text, which need not contain a description; `features` is zeroed. */
void sl_features_parse(sl_features *features, sl_bytes text);
/* Releases `features`, which may be zero-initialised. */
void sl_features_close(sl_features *features);

/*
 * Returns "Image", "ClassLabel", "Value", "Audio", "List", ...; NULL: the column is not described.
 * A list (also written "Sequence" or [...]) is "List".
 */
const char *sl_features_type(const sl_features *features, const char *column);
/* Does the same for the elements of a list. */
const char *sl_features_item_type(const sl_features *features, const char *column);
/*
 * Returns the number of dimensions of an Array2D to Array5D; 0: another type. `shape`:
 * SLUICE_TENSOR_DIMS_MAX entries, 0 for variable ones.
 */
uint32_t sl_features_shape(const sl_features *features, const char *column, uint64_t *shape);
/*
 * Returns the number of classes of a ClassLabel, or of lists of one; 0: another type. A column
 * "a.b" is member "b" of the structure "a", which may be in a list.
 */
uint32_t sl_features_classes(const sl_features *features, const char *column);
/* Returns the name of a class; NULL: no class has that number. */
const char *sl_features_class_name(const sl_features *features, const char *column, int64_t label);

#endif
