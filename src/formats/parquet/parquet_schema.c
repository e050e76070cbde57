/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_schema.h"

#include "memory.h"

#include <stdio.h>

#define STAGE "dataset"

/* ---- structures of bytes and a path ---- */

static const char *own_name(const sl_parquet_leaf *leaf)
{
    const char *dot = strrchr(leaf->name, '.');
    return dot != NULL ? dot + 1 : leaf->name;
}

static bool is_part(const sl_parquet_leaf *leaf, const char *name)
{
    return leaf->type == SL_PARQUET_BYTES && leaf->siblings == 2 &&
           strchr(leaf->name, '.') != NULL && strcmp(own_name(leaf), name) == 0;
}

/* The other leaf of a structure of these two; NULL: it is in none. */
static const sl_parquet_leaf *partner(const sl_parquet *parquet, uint32_t number)
{
    const sl_parquet_leaf *leaf = &parquet->leaves[number];
    const bool is_bytes = is_part(leaf, "bytes");
    if (!is_bytes && !is_part(leaf, "path")) {
        return NULL;
    }
    for (uint32_t i = number > 0 ? number - 1 : 0; i <= number + 1 && i < parquet->leaf_count;
         i++) {
        const sl_parquet_leaf *other = &parquet->leaves[i];
        if (i != number && other->parent == leaf->parent &&
            is_part(other, is_bytes ? "path" : "bytes")) {
            return other;
        }
    }
    return NULL;
}

/* ---- types ---- */

static sluice_dtype parquet_schema_dtype_of(const sl_parquet_leaf *leaf)
{
    const bool is_unsigned = leaf->meaning == SL_PARQUET_UNSIGNED;
    switch (leaf->type) {
    case SL_PARQUET_BOOLEAN:
        return SLUICE_U8;
    case SL_PARQUET_FLOAT:
        return SLUICE_F32;
    case SL_PARQUET_DOUBLE:
        return SLUICE_F64;
    case SL_PARQUET_INT64:
        return is_unsigned ? SLUICE_U64 : SLUICE_I64;
    default:
        break;
    }
    if (leaf->bits == 8) {
        return is_unsigned ? SLUICE_U8 : SLUICE_I8;
    }
    if (leaf->bits == 16) {
        return is_unsigned ? SLUICE_U16 : SLUICE_I16;
    }
    return is_unsigned ? SLUICE_U32 : SLUICE_I32;
}

static bool parquet_schema_is_number(const sl_parquet_leaf *leaf)
{
    return leaf->type <= SL_PARQUET_INT64 || leaf->type == SL_PARQUET_FLOAT ||
           leaf->type == SL_PARQUET_DOUBLE;
}

/* False: it is left out. */
static bool parquet_schema_set_type(sl_field *field, const sl_parquet_leaf *leaf)
{
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    if (leaf->meaning == SL_PARQUET_OTHER || leaf->type == SL_PARQUET_INT96 || leaf->max_rep > 1 ||
        (leaf->max_rep == 1 && !parquet_schema_is_number(leaf))) {
        return false;
    }
    if (leaf->max_rep == 1) {
        field->type = SLUICE_FIELD_TENSOR;
        field->dtype = parquet_schema_dtype_of(leaf);
        field->dims = 1;
    } else if (leaf->type == SL_PARQUET_BYTES || leaf->type == SL_PARQUET_FIXED) {
        field->type = leaf->meaning == SL_PARQUET_TEXT ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES;
    } else {
        field->type = leaf->type == SL_PARQUET_FLOAT || leaf->type == SL_PARQUET_DOUBLE
                          ? SLUICE_FIELD_FLOAT
                          : SLUICE_FIELD_INT;
    }
    return true;
}

/* What Hugging Face says of a structure of bytes and a path, or of a list of them: NULL, nothing.
 */
static const char *told(const sl_parquet_leaf *leaf, const sl_features *features, const char *name)
{
    return leaf->max_rep > 0 ? sl_features_item_type(features, name)
                             : sl_features_type(features, name);
}

/* False: it is left out. */
static bool parquet_schema_set_struct(sl_source_column *column, const sl_parquet_leaf *leaf,
                                      const sl_features *features)
{
    *strrchr(column->name, '.') = '\0';
    const char *type = told(leaf, features, column->name);
    const bool is_image = type != NULL && strcmp(type, "Image") == 0;
    column->field.type = is_image ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_BYTES;
    return leaf->max_rep == 0 || type == NULL || is_image;
}

static void parquet_schema_add(sl_parquet_columns *columns, const sl_parquet *parquet,
                               const sl_features *features, uint32_t number)
{
    const sl_parquet_leaf *leaf = &parquet->leaves[number];
    const sl_parquet_leaf *other = partner(parquet, number);
    sl_columnar_columns *table = &columns->table;
    sl_source_column *column = &table->source[table->count];
    const bool is_struct = other != NULL;
    const bool is_list = is_struct && leaf->max_rep == 1;
    if (is_struct && strcmp(own_name(leaf), "path") == 0) {
        return;
    }
    if (!parquet_schema_set_type(&column->field, leaf) && !is_list) {
        return;
    }
    (void)snprintf(column->name, sizeof(column->name), "%s", leaf->name);
    if (is_struct && !parquet_schema_set_struct(column, leaf, features)) {
        return;
    }
    columns->of[table->count] = (sl_parquet_column){
        .leaf = number, .guide = is_list ? (uint32_t)(other - parquet->leaves) : SL_FIELD_NONE};
    table->of[table->count] = (sl_columnar_column){.of = table->count, .is_list = is_list};
    table->count++;
}

sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, sluice_error *error)
{
    const sluice_status status =
        sl_columnar_columns_open(&columns->table, parquet->leaf_count, error);
    columns->of = sl_calloc((size_t)parquet->leaf_count + 1, sizeof(*columns->of));
    if (status < 0 || columns->of == NULL) {
        return status < 0 ? status : sl_no_memory(error, STAGE, "for a schema");
    }
    for (uint32_t i = 0; i < parquet->leaf_count; i++) {
        parquet_schema_add(columns, parquet, features, i);
    }
    return SLUICE_OK;
}

void sl_parquet_columns_close(sl_parquet_columns *columns)
{
    sl_columnar_columns_close(&columns->table);
    sl_free(columns->of);
    *columns = (sl_parquet_columns){0};
}

bool sl_parquet_is_alike(const sl_parquet *a, const sl_parquet *b)
{
    if (a->leaf_count != b->leaf_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->leaf_count; i++) {
        const sl_parquet_leaf *x = &a->leaves[i];
        const sl_parquet_leaf *y = &b->leaves[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->meaning != y->meaning ||
            x->bits != y->bits || x->max_rep != y->max_rep || x->type_bytes != y->type_bytes) {
            return false;
        }
    }
    return true;
}
