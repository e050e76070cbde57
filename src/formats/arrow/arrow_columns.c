/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_columns: turns the nodes of a schema into source columns by a tree walk.
 *
 * Pure, except for the list being built; runs on the opener's thread.
 */
#include "arrow_columns.h"

#include "memory.h"
#include "object_columns.h"

#include <stdio.h>

#define STAGE "dataset"

typedef struct finder {
    const sl_arrow_schema *schema;
    const sl_features *features;
    sl_source_column *source; /* source of the current column */
    sl_arrow_column *column;
    bool in_list; /* true for members of structures in a list */
} finder;

static bool arrow_columns_is_text(const sl_arrow_node *node)
{
    return node->type == SL_ARROW_UTF8 || node->type == SL_ARROW_LARGE_UTF8 ||
           node->type == SL_ARROW_UTF8_VIEW;
}

static bool is_binary(const sl_arrow_node *node)
{
    return !arrow_columns_is_text(node) &&
           (node->layout == SL_ARROW_AS_BYTES || node->layout == SL_ARROW_AS_VIEWS);
}

static void add_level(sl_arrow_column *column, uint32_t node, uint64_t items)
{
    column->chain.nodes[column->chain.count] = node;
    column->chain.items[column->chain.count++] = items;
}

/* ---- what cannot be read ---- */

static const char *unreadable_list(const sl_arrow_schema *schema, uint32_t number)
{
    const sl_arrow_node *item = &schema->nodes[number + 1];
    if (item->coded) {
        return "lists of dictionary values";
    }
    if (arrow_columns_is_text(item)) {
        return "lists of texts";
    }
    if (is_binary(item)) {
        return "lists of bytes";
    }
    switch (item->layout) {
    case SL_ARROW_AS_LISTS:
    case SL_ARROW_AS_FIXED_LISTS:
        return "lists of variable-length lists";
    case SL_ARROW_AS_STRUCTS:
        return "lists of structures";
    default:
        return "lists of values that are not numbers";
    }
}

/* Describes the contents of a column that cannot be a field. */
static const char *arrow_unreadable(const finder *f, uint32_t number)
{
    const sl_arrow_node *node = &f->schema->nodes[number];
    if (node->coded) {
        return "dictionary values that are not texts";
    }
    if (f->in_list && (arrow_columns_is_text(node) || is_binary(node))) {
        return arrow_columns_is_text(node) ? "lists of texts" : "lists of bytes";
    }
    switch (node->type) {
    case SL_ARROW_MAP:
        return "maps";
    case SL_ARROW_LIST:
    case SL_ARROW_LARGE_LIST:
    case SL_ARROW_FIXED_LIST:
        return unreadable_list(f->schema, number);
    case SL_ARROW_STRUCT:
        return "structures";
    case SL_ARROW_UNION:
        return "unions";
    case SL_ARROW_DECIMAL:
        return "decimal numbers";
    case SL_ARROW_NULL:
        return "nulls";
    default:
        return "values of a type that no field has";
    }
}

/* ---- bytes ---- */

/* Marks what Hugging Face calls an image, or a column without a type, which needs a look. */
static void set_picture(const finder *f)
{
    const char *type = f->column->list.count > 0
                           ? sl_features_item_type(f->features, f->source->name)
                           : sl_features_type(f->features, f->source->name);
    const bool is_image = type != NULL && strcmp(type, "Image") == 0;
    f->source->field.type = is_image ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_BYTES;
    f->column->asks = type == NULL || strcmp(type, "Value") == 0;
}

static bool set_bytes(const finder *f, uint32_t number)
{
    const sl_arrow_node *node = &f->schema->nodes[number];
    add_level(f->column, number, 0);
    if (arrow_columns_is_text(node)) {
        f->source->field.type = SLUICE_FIELD_TEXT;
    } else if (node->coded) {
        f->source->field.type = SLUICE_FIELD_BYTES;
    } else {
        set_picture(f);
    }
    return true;
}

/* Handles a structure of only "bytes" and "path". False: it is another structure. */
static bool arrow_columns_set_struct(const finder *f, uint32_t number)
{
    const sl_arrow_node *nodes = f->schema->nodes;
    const uint32_t children[2] = {number + 1, number + 2};
    uint32_t bytes = SL_ARROW_NONE;
    uint32_t path = SL_ARROW_NONE;
    if (nodes[number].end != number + 3) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const sl_arrow_node *child = &nodes[children[i]];
        if (child->parent != number || child->coded) {
            return false;
        }
        bytes = is_binary(child) && strcmp(child->name, "bytes") == 0 ? children[i] : bytes;
        path =
            arrow_columns_is_text(child) && strcmp(child->name, "path") == 0 ? children[i] : path;
    }
    if (bytes == SL_ARROW_NONE || path == SL_ARROW_NONE) {
        return false;
    }
    add_level(f->column, number, 0);
    add_level(f->column, bytes, 0);
    f->column->path = path;
    set_picture(f);
    return true;
}

/* ---- numbers ---- */

/* Returns the dtype of a number node; false: not a single number. */
static bool number_type(const sl_arrow_node *node, sluice_dtype *dtype)
{
    static const sluice_dtype unsigned_of[] = {SLUICE_U8, SLUICE_U16, SLUICE_U32, SLUICE_U64};
    static const sluice_dtype signed_of[] = {SLUICE_I8, SLUICE_I16, SLUICE_I32, SLUICE_I64};
    const uint32_t power = node->bits == 8 ? 0 : node->bits == 16 ? 1 : node->bits == 32 ? 2 : 3;
    switch (node->type) {
    case SL_ARROW_INT:
        *dtype = node->is_signed ? signed_of[power] : unsigned_of[power];
        return true;
    case SL_ARROW_FLOAT:
        *dtype = power == 1 ? SLUICE_F16 : power == 2 ? SLUICE_F32 : SLUICE_F64;
        return true;
    case SL_ARROW_DATE:
    case SL_ARROW_TIME:
    case SL_ARROW_TIMESTAMP:
    case SL_ARROW_DURATION:
        *dtype = signed_of[power];
        return true;
    default:
        return false;
    }
}

static bool arrow_columns_set_number(const finder *f, uint32_t number)
{
    sluice_dtype dtype;
    const sl_arrow_node *node = &f->schema->nodes[number];
    if (node->type == SL_ARROW_FIXED_BINARY && node->bits > 0) {
        add_level(f->column, number, 0);
        set_picture(f);
        return true;
    }
    if (node->type != SL_ARROW_BOOL && !number_type(node, &dtype)) {
        return false;
    }
    add_level(f->column, number, 0);
    f->source->field.type = node->type == SL_ARROW_FLOAT ? SLUICE_FIELD_FLOAT : SLUICE_FIELD_INT;
    return true;
}

/* ---- lists ---- */

static bool arrow_columns_is_list(const sl_arrow_node *node)
{
    return !node->coded && node->type != SL_ARROW_MAP &&
           (node->layout == SL_ARROW_AS_LISTS || node->layout == SL_ARROW_AS_FIXED_LISTS);
}

/* Returns the number of items of the lists on a level; `*known` false: it varies. */
static bool items_of(const sl_arrow_node *node, uint64_t given, uint64_t *items)
{
    *items = given;
    if (node->layout == SL_ARROW_AS_FIXED_LISTS) {
        *items = node->items;
        return node->items > 0 && (given == 0 || given == node->items);
    }
    return true;
}

/* Returns whether the boxes in a list are lists of variable size. */
static bool node_is_open_list(const sl_arrow_schema *schema, uint32_t number, bool in_list)
{
    const uint32_t box = in_list ? number : number + 1;
    return box < schema->nodes[number].end && schema->nodes[box].layout == SL_ARROW_AS_LISTS;
}

/* Handles lists, which are tensors if all but the first dimension are known. */
static bool set_list(const finder *f, uint32_t number)
{
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX] = {0};
    sl_field *field = &f->source->field;
    const sl_arrow_node *node = &f->schema->nodes[number];
    const uint32_t dims = sl_features_shape(f->features, f->source->name, shape);
    if (dims == 0 && sl_object_columns_are_boxes(f->source->name)) {
        shape[1] = node_is_open_list(f->schema, number, f->in_list) ? 4 : 0;
    }
    field->dims = f->in_list; /* the list around it */
    for (; arrow_columns_is_list(node); node = &f->schema->nodes[++number]) {
        uint64_t items;
        if (field->dims == SLUICE_TENSOR_DIMS_MAX || !items_of(node, shape[field->dims], &items) ||
            (items == 0 && field->dims > 0)) {
            return false;
        }
        add_level(f->column, number, items);
        field->shape[field->dims++] = items;
    }
    field->type = SLUICE_FIELD_TENSOR;
    add_level(f->column, number, 0);
    return !node->coded && number_type(node, &field->dtype) && (dims == 0 || dims == field->dims);
}

/* ---- lists of images ---- */

/* Handles a list of structures of "bytes" and "path", which is left out if it contains sounds. */
static bool set_pictures(const finder *f, uint32_t number)
{
    const char *type = sl_features_item_type(f->features, f->source->name);
    const sl_arrow_node *list = &f->schema->nodes[number];
    if (list->end < number + 2 || (list->layout == SL_ARROW_AS_FIXED_LISTS && list->items == 0) ||
        f->schema->nodes[number + 1].layout != SL_ARROW_AS_STRUCTS ||
        (type != NULL && strcmp(type, "Image") != 0)) {
        return false;
    }
    const sl_arrow_chain above = f->column->chain;
    f->column->list = above;
    f->column->list.nodes[above.count] = number;
    f->column->list.items[above.count] = 0;
    f->column->list.count = above.count + 1;
    f->column->chain.count = 0;
    if (arrow_columns_set_struct(f, number + 1)) {
        return true;
    }
    f->column->chain = above;
    f->column->list.count = 0;
    return false;
}

/* ---- all of them ---- */

static bool set_column(const finder *f, uint32_t number)
{
    const sl_arrow_node *node = &f->schema->nodes[number];
    if (f->in_list) {
        const bool is_number = node->layout == SL_ARROW_AS_NUMBERS && !node->coded;
        return (is_number || arrow_columns_is_list(node)) && set_list(f, number);
    }
    if (arrow_columns_is_text(node) || is_binary(node)) {
        return set_bytes(f, number);
    }
    if (node->coded) {
        return false;
    }
    if (arrow_columns_is_list(node)) {
        return set_pictures(f, number) || set_list(f, number);
    }
    if (node->layout == SL_ARROW_AS_STRUCTS) {
        return arrow_columns_set_struct(f, number);
    }
    return node->layout == SL_ARROW_AS_NUMBERS && arrow_columns_set_number(f, number);
}

/* Returns whether a structure's members become columns. */
static bool is_open_struct(const sl_arrow_schema *schema, uint32_t number)
{
    const sl_arrow_node *node = &schema->nodes[number];
    return !node->coded && node->layout == SL_ARROW_AS_STRUCTS && node->end > number + 1;
}

/*
 * Returns the number of levels from a node to a structure whose members become columns: 2 if it is
 * in a list; 0: none.
 */
static uint32_t levels_to_members(const finder *f, uint32_t number)
{
    const sl_arrow_schema *schema = f->schema;
    const sl_arrow_node *node = &schema->nodes[number];
    if (is_open_struct(schema, number)) {
        return 1;
    }
    return !f->in_list && arrow_columns_is_list(node) && node->end > number + 1 &&
                   is_open_struct(schema, number + 1)
               ? 2
               : 0;
}

static bool arrow_columns_join_name(char *name, const char *above, const char *own)
{
    const int length =
        snprintf(name, SL_SOURCE_NAME_BYTES, "%s%s%s", above, above[0] != '\0' ? "." : "", own);
    return length >= 0 && length < (int)SL_SOURCE_NAME_BYTES;
}

/* Handles a node inside the structures along `above`, with the name prefix `prefix`. */
static void arrow_columns_find_column(finder f, sl_arrow_columns *columns, uint32_t number,
                                      const sl_arrow_chain *above, const char *prefix)
{
    const sl_arrow_schema *schema = f.schema;
    sl_columnar_columns *table = &columns->table;
    f.source = &table->source[table->count];
    f.column = &columns->of[table->count];
    *f.column = (sl_arrow_column){.chain = *above, .path = SL_ARROW_NONE};
    *f.source = (sl_source_column){.field.compression = SLUICE_COMPRESSION_NEVER};
    const bool named = arrow_columns_join_name(f.source->name, prefix, schema->nodes[number].name);
    const bool known = named && set_column(&f, number);
    const uint32_t levels = levels_to_members(&f, number);
    table->of[table->count] =
        (sl_columnar_column){.of = table->count, .is_list = f.column->list.count > 0};
    if (known || !named || levels == 0 || above->count + levels >= SL_ARROW_STRUCTS_MAX) {
        if (!known) {
            f.source->field = (sl_field){.type = SLUICE_FIELD_INT};
            f.source->refused = arrow_unreadable(&f, number);
            f.source->asked = true;
            f.column->list.count = 0;
        }
        table->count += named;
        return;
    }
    char name[SL_SOURCE_NAME_BYTES];
    sl_arrow_chain chain = *above;
    memcpy(name, f.source->name, sizeof(name));
    for (uint32_t i = 0; i < levels; i++) {
        chain.items[chain.count] = 0;
        chain.nodes[chain.count++] = number + i;
    }
    f.in_list = f.in_list || levels == 2;
    const uint32_t end = schema->nodes[number].end;
    for (uint32_t i = number + levels; i < end; i = schema->nodes[i].end) {
        arrow_columns_find_column(f, columns, i, &chain, name);
    }
}

sluice_status sl_arrow_columns_find(sl_arrow_columns *columns, const sl_arrow_schema *schema,
                                    const sl_features *features, sluice_error *error)
{
    static const sl_arrow_chain nothing = {.count = 0};
    const sluice_status status = sl_columnar_columns_open(&columns->table, schema->count, error);
    columns->of = sl_calloc((size_t)schema->count + 1, sizeof(*columns->of));
    if (status < 0 || columns->of == NULL) {
        return status < 0 ? status : sl_no_memory(error, STAGE, "for a schema");
    }
    for (uint32_t i = 0; i < schema->count; i = schema->nodes[i].end) {
        arrow_columns_find_column((finder){.schema = schema, .features = features}, columns, i,
                                  &nothing, "");
    }
    return SLUICE_OK;
}

void sl_arrow_columns_close(sl_arrow_columns *columns)
{
    sl_columnar_columns_close(&columns->table);
    sl_free(columns->of);
    memset(columns, 0, sizeof(*columns));
}
