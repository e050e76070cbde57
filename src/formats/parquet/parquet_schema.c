/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_schema.h"

#include "memory.h"
#include "object_columns.h"

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

/* Returns the other leaf of a structure of two; NULL: not in such a structure. */
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

/* Returns why a leaf cannot be a field; NULL: it can. */
static const char *parquet_unreadable(const sl_parquet_leaf *leaf)
{
    const bool is_number = parquet_schema_is_number(leaf);
    if (leaf->meaning == SL_PARQUET_OTHER) {
        return leaf->max_rep > 0 ? "lists of decimal numbers" : "decimal numbers, or intervals";
    }
    if (leaf->type == SL_PARQUET_INT96) {
        return "timestamps of 96 bits";
    }
    if (leaf->max_rep > 2) {
        return "lists of lists of lists";
    }
    if (leaf->max_rep > 0 && !is_number) {
        return leaf->max_rep > 1                  ? "lists of lists of texts or bytes"
               : leaf->meaning == SL_PARQUET_TEXT ? "lists of texts"
                                                  : "lists of bytes";
    }
    return NULL;
}

static void parquet_schema_set_type(sl_field *field, const sl_parquet_leaf *leaf)
{
    *field = (sl_field){.compression = SLUICE_COMPRESSION_NEVER};
    if (leaf->max_rep > 0) {
        field->type = SLUICE_FIELD_TENSOR;
        field->dtype = parquet_schema_dtype_of(leaf);
        field->dims = leaf->max_rep;
    } else if (leaf->type == SL_PARQUET_BYTES || leaf->type == SL_PARQUET_FIXED) {
        field->type = leaf->meaning == SL_PARQUET_TEXT ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES;
    } else {
        field->type = leaf->type == SL_PARQUET_FLOAT || leaf->type == SL_PARQUET_DOUBLE
                          ? SLUICE_FIELD_FLOAT
                          : SLUICE_FIELD_INT;
    }
}

/*
 * Returns Hugging Face's type of a structure of bytes and a path, or of a list of these; NULL: not
 * given.
 */
static const char *told(const sl_parquet_leaf *leaf, const sl_features *features, const char *name)
{
    return leaf->max_rep > 0 ? sl_features_item_type(features, name)
                             : sl_features_type(features, name);
}

/* Describes a structure. False: it is left out. */
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
    const char *why = is_list ? NULL : parquet_unreadable(leaf);
    if (is_struct && strcmp(own_name(leaf), "path") == 0) {
        return;
    }
    (void)snprintf(column->name, sizeof(column->name), "%s", leaf->name);
    if (why == NULL) {
        parquet_schema_set_type(&column->field, leaf);
        if (is_struct && !parquet_schema_set_struct(column, leaf, features)) {
            why = "lists of sounds";
        }
    }
    const bool is_nested = why == NULL && leaf->max_rep == 2;
    const bool is_box = is_nested && sl_object_columns_are_boxes(leaf->name);
    if (why != NULL) {
        column->field = (sl_field){.type = SLUICE_FIELD_INT};
        column->refused = why;
        column->asked = true;
    }
    column->field.shape[1] = is_box ? 4 : 0;
    columns->of[table->count] =
        (sl_parquet_column){.leaf = number,
                            .guide = is_list ? (uint32_t)(other - parquet->leaves) : SL_FIELD_NONE,
                            .measured = is_nested && !is_box};
    table->of[table->count] =
        (sl_columnar_column){.of = table->count, .is_list = is_list && why == NULL};
    table->count++;
}

/* Adds a key of folder names. */
static void add_hive_key(sl_parquet_columns *columns, const sl_hive *hive, uint32_t number)
{
    const sl_hive_key *key = &hive->keys[number];
    sl_columnar_columns *table = &columns->table;
    sl_source_column *column = &table->source[table->count];
    memcpy(column->name, key->name, sizeof(key->name));
    column->field =
        (sl_field){.type = key->is_integer || key->is_class ? SLUICE_FIELD_INT : SLUICE_FIELD_TEXT,
                   .compression = SLUICE_COMPRESSION_NEVER};
    columns->of[table->count] =
        (sl_parquet_column){.leaf = SL_FIELD_NONE, .key = number, .guide = SL_FIELD_NONE};
    table->of[table->count] = (sl_columnar_column){.of = table->count};
    table->count++;
}

sluice_status sl_parquet_columns_find(sl_parquet_columns *columns, const sl_parquet *parquet,
                                      const sl_features *features, const sl_hive *hive,
                                      sluice_error *error)
{
    const uint32_t most = parquet->leaf_count + hive->count;
    const sluice_status status = sl_columnar_columns_open(&columns->table, most, error);
    columns->of = sl_calloc((size_t)most + 1, sizeof(*columns->of));
    if (status < 0 || columns->of == NULL) {
        return status < 0 ? status : sl_no_memory(error, STAGE, "for a schema");
    }
    for (uint32_t i = 0; i < parquet->leaf_count; i++) {
        parquet_schema_add(columns, parquet, features, i);
    }
    for (uint32_t k = 0; k < hive->count; k++) {
        add_hive_key(columns, hive, k);
    }
    return SLUICE_OK;
}

void sl_parquet_columns_close(sl_parquet_columns *columns)
{
    sl_columnar_columns_close(&columns->table);
    sl_free(columns->of);
    *columns = (sl_parquet_columns){0};
}

/* ---- files whose columns are in another order ---- */

static bool is_same_leaf(const sl_parquet_leaf *x, const sl_parquet_leaf *y)
{
    return x->type == y->type && x->meaning == y->meaning && x->bits == y->bits &&
           x->max_rep == y->max_rep && x->type_bytes == y->type_bytes;
}

/* Describes a leaf, for users. */
static void describe_leaf(const sl_parquet_leaf *leaf, char *text, size_t bytes)
{
    static const char *const names[] = {"bool",  "int32",  "int64", "int96",
                                        "float", "double", "bytes", "fixed bytes"};
    char number[24];
    (void)snprintf(number, sizeof(number), "%sint%u",
                   leaf->meaning == SL_PARQUET_UNSIGNED ? "u" : "",
                   leaf->bits > 0                   ? leaf->bits
                   : leaf->type == SL_PARQUET_INT64 ? 64U
                                                    : 32U);
    const bool is_integer = leaf->type == SL_PARQUET_INT32 || leaf->type == SL_PARQUET_INT64;
    const char *own = leaf->meaning == SL_PARQUET_TEXT    ? "text"
                      : leaf->meaning == SL_PARQUET_OTHER ? "decimal"
                      : is_integer                        ? number
                                                          : names[leaf->type];
    (void)snprintf(text, bytes, "%s%s",
                   leaf->max_rep > 1   ? "lists of lists of "
                   : leaf->max_rep > 0 ? "lists of "
                                       : "",
                   own);
}

/* Returns the leaf with a name that is not yet taken, searching from `from` on. */
static uint32_t find_leaf(const sl_parquet *parquet, const char *name, uint32_t from,
                          const bool *taken)
{
    for (uint32_t i = 0; i < parquet->leaf_count; i++) {
        const uint32_t at = (from + i) % parquet->leaf_count;
        if (!taken[at] && strcmp(parquet->leaves[at].name, name) == 0) {
            return at;
        }
    }
    return SL_FIELD_NONE;
}

/* A file that is compared with the first one. */
typedef struct comparison {
    const sl_parquet *parquet, *first;
    const char *path, *first_path;
    bool taken[SL_PARQUET_LEAVES_MAX];
} comparison;

static sluice_status refuse_column(const comparison *c, const char *name, bool is_missing,
                                   sluice_error *error)
{
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, c->path, -1,
        is_missing
            ? "it lacks column \"%.256s\", which \"%.512s\" has: open files with the same columns"
            : "its column \"%.256s\" is not in \"%.512s\": open files "
              "with the same columns",
        name, c->first_path);
}

static sluice_status match_leaf(comparison *c, uint32_t number, uint32_t before, uint32_t *found,
                                sluice_error *error)
{
    char own[64];
    char wanted[64];
    const sl_parquet_leaf *leaf = &c->first->leaves[number];
    *found = find_leaf(c->parquet, leaf->name, before + 1, c->taken);
    if (*found == SL_FIELD_NONE) {
        return refuse_column(c, leaf->name, true, error);
    }
    c->taken[*found] = true;
    if (is_same_leaf(&c->parquet->leaves[*found], leaf)) {
        return SLUICE_OK;
    }
    describe_leaf(&c->parquet->leaves[*found], own, sizeof(own));
    describe_leaf(leaf, wanted, sizeof(wanted));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, c->path, -1,
                         "its column \"%.256s\" contains %s, but that of \"%.512s\" contains %s: "
                         "write both with one type",
                         leaf->name, own, c->first_path, wanted);
}

static sluice_status match_leaves(comparison *c, uint16_t *order, bool *is_same,
                                  sluice_error *error)
{
    uint32_t found = UINT32_MAX; /* so that the first is 0 */
    *is_same = true;
    for (uint32_t i = 0; i < c->first->leaf_count; i++) {
        const sluice_status status = match_leaf(c, i, found, &found, error);
        if (status < 0) {
            return status;
        }
        order[i] = (uint16_t)found;
        *is_same = *is_same && found == i;
    }
    for (uint32_t i = 0; i < c->parquet->leaf_count; i++) {
        if (!c->taken[i]) {
            return refuse_column(c, c->parquet->leaves[i].name, false, error);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_parquet_match(sl_parquet *parquet, const sl_parquet *first, const char *path,
                               const char *first_path, uint16_t **order, sluice_error *error)
{
    bool is_same = false;
    comparison c = {
        .parquet = parquet, .first = first, .path = path, .first_path = first_path, .taken = {0}};
    *order = sl_calloc((size_t)first->leaf_count + 1, sizeof(**order));
    if (*order == NULL) {
        return sl_no_memory(error, STAGE, "for a schema");
    }
    sluice_status status = match_leaves(&c, *order, &is_same, error);
    if (status == SLUICE_OK && !is_same) {
        return sl_parquet_reorder(parquet, *order, error);
    }
    sl_free(*order);
    *order = NULL;
    return status;
}

sluice_status sl_parquet_reorder(sl_parquet *parquet, const uint16_t *order, sluice_error *error)
{
    const uint32_t count = parquet->leaf_count;
    if (order == NULL) {
        return SLUICE_OK;
    }
    sl_parquet_leaf *leaves = sl_calloc((size_t)count + 1, sizeof(*leaves));
    sl_parquet_chunk *chunks = sl_calloc((size_t)count + 1, sizeof(*chunks));
    if (leaves == NULL || chunks == NULL) {
        sl_free(leaves);
        sl_free(chunks);
        return sl_no_memory(error, STAGE, "for a schema");
    }
    for (uint32_t i = 0; i < count; i++) {
        leaves[i] = parquet->leaves[order[i]];
    }
    for (uint32_t g = 0; g < parquet->group_count; g++) {
        sl_parquet_chunk *own = parquet->chunks + (size_t)g * count;
        for (uint32_t i = 0; i < count; i++) {
            chunks[i] = own[order[i]];
        }
        memcpy(own, chunks, count * sizeof(*chunks));
    }
    sl_free(chunks);
    sl_free(parquet->leaves);
    parquet->leaves = leaves;
    return SLUICE_OK;
}
