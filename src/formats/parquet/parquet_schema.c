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

static sluice_dtype dtype_of(const sl_parquet_leaf *leaf)
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

static bool is_number(const sl_parquet_leaf *leaf)
{
    return leaf->type <= SL_PARQUET_INT64 || leaf->type == SL_PARQUET_FLOAT ||
           leaf->type == SL_PARQUET_DOUBLE;
}

/* False: it is left out. */
static bool set_type(sl_field *field, const sl_parquet_leaf *leaf)
{
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    if (leaf->meaning == SL_PARQUET_OTHER || leaf->type == SL_PARQUET_INT96 || leaf->max_rep > 1 ||
        (leaf->max_rep == 1 && !is_number(leaf))) {
        return false;
    }
    if (leaf->max_rep == 1) {
        field->type = SLUICE_FIELD_TENSOR;
        field->dtype = dtype_of(leaf);
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
static bool set_struct(sl_source_column *column, const sl_parquet_leaf *leaf,
                       const sl_features *features)
{
    *strrchr(column->name, '.') = '\0';
    const char *type = told(leaf, features, column->name);
    const bool is_image = type != NULL && strcmp(type, "Image") == 0;
    column->field.type = is_image ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_BYTES;
    return leaf->max_rep == 0 || type == NULL || is_image;
}

static void add(sl_parquet_columns *columns, const sl_parquet *parquet, const sl_features *features,
                uint32_t number)
{
    const sl_parquet_leaf *leaf = &parquet->leaves[number];
    const sl_parquet_leaf *other = partner(parquet, number);
    sl_source_column *column = &columns->source[columns->count];
    const bool is_struct = other != NULL;
    const bool is_list = is_struct && leaf->max_rep == 1;
    if (is_struct && strcmp(own_name(leaf), "path") == 0) {
        return;
    }
    if (!set_type(&column->field, leaf) && !is_list) {
        return;
    }
    (void)snprintf(column->name, sizeof(column->name), "%s", leaf->name);
    if (is_struct && !set_struct(column, leaf, features)) {
        return;
    }
    columns->of[columns->count++] = (sl_parquet_column){
        .leaf = number, .guide = is_list ? (uint32_t)(other - parquet->leaves) : SL_FIELD_NONE};
}

static sluice_status no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a schema");
}

sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, sluice_error *error)
{
    columns->source = sl_calloc((size_t)parquet->leaf_count + 1, sizeof(*columns->source));
    columns->of = sl_calloc((size_t)parquet->leaf_count + 1, sizeof(*columns->of));
    if (columns->source == NULL || columns->of == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < parquet->leaf_count; i++) {
        add(columns, parquet, features, i);
    }
    return SLUICE_OK;
}

/* Makes `added` columns of the one at `number`, all as it is. */
static bool widen(sl_parquet_columns *columns, uint32_t number, uint32_t added)
{
    const size_t room = (size_t)columns->count + added;
    sl_source_column *source =
        sl_realloc_array(columns->source, room + 1, sizeof(*columns->source));
    columns->source = source != NULL ? source : columns->source;
    sl_parquet_column *of = sl_realloc_array(columns->of, room + 1, sizeof(*columns->of));
    columns->of = of != NULL ? of : columns->of;
    if (source == NULL || of == NULL) {
        return false;
    }
    const sl_source_column list = source[number];
    const sl_parquet_column place = of[number];
    const size_t behind = columns->count - number - 1;
    memmove(&source[number + added], &source[number + 1], behind * sizeof(*source));
    memmove(&of[number + added], &of[number + 1], behind * sizeof(*of));
    for (uint32_t i = 0; i < added; i++) {
        source[number + i] = list;
        of[number + i] = place;
        of[number + i].element = i;
    }
    columns->count += added - 1; /* 0 takes it away */
    return true;
}

sluice_status sl_parquet_columns_spread(sl_parquet_columns *columns, uint32_t number,
                                        uint32_t elements, bool keep, sluice_error *error)
{
    const uint32_t kept = keep ? 1 : 0;
    char name[SL_SOURCE_NAME_BYTES];
    memcpy(name, columns->source[number].name, sizeof(name));
    if (!widen(columns, number, elements + kept)) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < elements; i++) {
        (void)snprintf(columns->source[number + i].name, sizeof(name), "%.*s.%u",
                       (int)sizeof(name) - 12, name, i);
    }
    if (keep) {
        columns->source[number + elements].refused =
            "it is a list of pictures: choose those that are wanted by their places, NAME.0, "
            "NAME.1, ...";
    }
    return SLUICE_OK;
}

void sl_parquet_columns_close(sl_parquet_columns *columns)
{
    sl_free(columns->source);
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
