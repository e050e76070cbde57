/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_schema: parses the tree of fields into a list of nodes and their buffers.
 *
 * Pure; runs on the opener's thread. An unknown type makes its node unusable, never the file.
 */
#include "arrow_schema.h"

#include "memory.h"
#include "source_columns.h"

#include <string.h>

/* Slots of the tables. */
enum { SCHEMA_ENDIANNESS, SCHEMA_FIELDS, SCHEMA_METADATA };
enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_KIND, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN };
enum { DICTIONARY_ID, DICTIONARY_INDEX };
enum { PAIR_KEY, PAIR_VALUE };
enum { NODES_MAX = 4096, DEPTH_MAX = 32 };

_Static_assert(SL_ARROW_NAME_BYTES == SL_SOURCE_NAME_BYTES, "names go on as they are");

static const char damaged[] = "the schema is damaged";

typedef struct parser {
    sl_arrow_schema *schema;
    int version;
} parser;

void sl_arrow_schema_close(sl_arrow_schema *schema)
{
    sl_free(schema->nodes);
    sl_free(schema->features);
    memset(schema, 0, sizeof(*schema));
}

/* ---- types ---- */

static bool is_width(int64_t bits)
{
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* Sets a width from a precision or unit: each value doubles the previous one's width. */
static bool set_power(sl_arrow_node *node, uint64_t bits, int64_t number)
{
    node->bits = number >= 0 && number <= 2 ? bits << number : 0;
    return node->bits != 0;
}

/* Sets the width of types with parameters; false: impossible ones. */
static bool set_width(sl_arrow_node *node, const sl_flat_table *type)
{
    switch (node->type) {
    case SL_ARROW_INT:
        node->bits = (uint64_t)sl_flat_number(type, 0, 4, 0);
        node->is_signed = sl_flat_number(type, 1, 1, 0) != 0;
        return is_width((int64_t)node->bits);
    case SL_ARROW_FLOAT:
        return set_power(node, 16, sl_flat_number(type, 0, 2, 0));
    case SL_ARROW_DECIMAL:
        node->bits = (uint64_t)sl_flat_number(type, 2, 4, 128);
        return node->bits == 32 || node->bits == 64 || node->bits == 128 || node->bits == 256;
    case SL_ARROW_DATE:
        node->bits = sl_flat_number(type, 0, 2, 1) == 0 ? 32 : 64;
        return true;
    case SL_ARROW_TIME:
        node->bits = (uint64_t)sl_flat_number(type, 1, 4, 32);
        return node->bits == 32 || node->bits == 64;
    case SL_ARROW_INTERVAL:
        return set_power(node, 32, sl_flat_number(type, 0, 2, 0));
    case SL_ARROW_FIXED_BINARY:
        node->bits = (uint64_t)sl_flat_number(type, 0, 4, 0) * 8;
        return node->bits <= (uint64_t)INT32_MAX * 8;
    default:
        node->bits = node->type == SL_ARROW_BOOL ? 1 : 64;
        return true;
    }
}

static sl_arrow_layout layout_of(uint8_t type)
{
    switch (type) {
    case SL_ARROW_BINARY:
    case SL_ARROW_UTF8:
    case SL_ARROW_LARGE_BINARY:
    case SL_ARROW_LARGE_UTF8:
        return SL_ARROW_AS_BYTES;
    case SL_ARROW_BINARY_VIEW:
    case SL_ARROW_UTF8_VIEW:
        return SL_ARROW_AS_VIEWS;
    case SL_ARROW_LIST:
    case SL_ARROW_LARGE_LIST:
    case SL_ARROW_MAP:
        return SL_ARROW_AS_LISTS;
    case SL_ARROW_FIXED_LIST:
        return SL_ARROW_AS_FIXED_LISTS;
    case SL_ARROW_STRUCT:
        return SL_ARROW_AS_STRUCTS;
    case SL_ARROW_NULL:
    case SL_ARROW_UNION:
    case SL_ARROW_RUNS:
    case SL_ARROW_LIST_VIEW:
    case SL_ARROW_LARGE_LIST_VIEW:
        return SL_ARROW_AS_NOTHING;
    default:
        return SL_ARROW_AS_NUMBERS;
    }
}

static uint8_t buffers_of(const sl_arrow_node *node, const sl_flat_table *type, int version)
{
    switch (node->type) {
    case SL_ARROW_NULL:
    case SL_ARROW_RUNS:
        return 0;
    case SL_ARROW_STRUCT:
    case SL_ARROW_FIXED_LIST:
        return 1;        /* validity */
    case SL_ARROW_UNION: /* types; offsets of dense unions; before version 5 also validity */
        return (uint8_t)(1 + (sl_flat_number(type, 0, 2, 0) != 0) + (version < SL_ARROW_V5));
    case SL_ARROW_LIST_VIEW:
    case SL_ARROW_LARGE_LIST_VIEW:
        return 3;
    default:
        return node->layout == SL_ARROW_AS_BYTES ? 3 : 2;
    }
}

static bool arrow_schema_set_type(sl_arrow_node *node, const sl_flat_table *field, int version)
{
    const int64_t type = sl_flat_number(field, FIELD_TYPE_KIND, 1, 0);
    const sl_flat_table facts = sl_flat_child(field, FIELD_TYPE);
    if (type < SL_ARROW_NULL || type > SL_ARROW_LARGE_LIST_VIEW) {
        return false;
    }
    node->type = (uint8_t)type;
    node->layout = (uint8_t)layout_of(node->type);
    node->wide =
        type == SL_ARROW_LARGE_BINARY || type == SL_ARROW_LARGE_UTF8 || type == SL_ARROW_LARGE_LIST;
    if (node->layout == SL_ARROW_AS_NUMBERS && !set_width(node, &facts)) {
        return false;
    }
    const int64_t items = type == SL_ARROW_FIXED_LIST ? sl_flat_number(&facts, 0, 4, 0) : 0;
    node->items = (uint32_t)items;
    node->buffers = buffers_of(node, &facts, version);
    return items >= 0;
}

/* ---- nodes ---- */

/* Adds a node. False: no memory. */
static bool add_node(sl_arrow_schema *schema)
{
    if (schema->count == schema->capacity) {
        const uint32_t capacity = schema->capacity < 16 ? 16 : 2 * schema->capacity;
        sl_arrow_node *nodes = sl_realloc_array(schema->nodes, capacity, sizeof(*nodes));
        if (nodes == NULL) {
            return false;
        }
        schema->nodes = nodes;
        schema->capacity = capacity;
    }
    memset(&schema->nodes[schema->count++], 0, sizeof(*schema->nodes));
    return true;
}

static sl_refusal arrow_schema_set_name(sl_arrow_node *node, const sl_flat_table *field)
{
    const sl_bytes name = sl_flat_text(field, FIELD_NAME);
    if (name.size >= sizeof(node->name) ||
        (name.size > 0 && memchr(name.data, 0, name.size) != NULL)) {
        return sl_refuse_unknown("a column's name has more than 255 bytes, or contains NUL", 0);
    }
    if (name.size > 0) {
        memcpy(node->name, name.data, name.size);
    }
    return sl_accept();
}

/* Handles values that are numbers in a dictionary, which is a separate batch. */
static bool set_dictionary(sl_arrow_node *node, const sl_flat_table *field)
{
    if (!sl_flat_has(field, FIELD_DICTIONARY)) {
        return true;
    }
    const sl_flat_table coding = sl_flat_child(field, FIELD_DICTIONARY);
    const bool plain = !sl_flat_has(&coding, DICTIONARY_INDEX);
    const sl_flat_table index = sl_flat_child(&coding, DICTIONARY_INDEX);
    const int64_t bits = plain ? 32 : sl_flat_number(&index, 0, 4, 0);
    node->coded = true;
    node->code_bits = (uint8_t)bits;
    node->code_signed = plain || sl_flat_number(&index, 1, 1, 0) != 0;
    node->dictionary = sl_flat_number(&coding, DICTIONARY_ID, 8, 0);
    node->buffers = 2;
    return is_width(bits);
}

/* Adds a field's node, without its children. */
static sl_refusal parse_node(parser *p, const sl_flat_table *field, uint32_t parent)
{
    sl_arrow_schema *schema = p->schema;
    if (schema->count == NODES_MAX) {
        return sl_refuse_unknown("it has more than 4096 columns and nested fields", 0);
    }
    if (!add_node(schema)) {
        return (sl_refusal){.text = "out of memory for its schema", .status = SLUICE_NOMEM};
    }
    sl_arrow_node *node = &schema->nodes[schema->count - 1];
    node->parent = parent;
    const sl_refusal refusal = arrow_schema_set_name(node, field);
    if (refusal.text != NULL) {
        return refusal;
    }
    if (!arrow_schema_set_type(node, field, p->version)) {
        return sl_refuse_unknown("a column has an unknown type", 0);
    }
    if (!set_dictionary(node, field)) {
        return sl_refuse(damaged, 0);
    }
    node->buffer = schema->buffers;
    node->views = schema->views;
    schema->buffers += node->buffers;
    schema->views += node->layout == SL_ARROW_AS_VIEWS && !node->coded;
    return sl_accept();
}

static bool has_children(const sl_arrow_node *node, uint32_t count)
{
    return (node->layout != SL_ARROW_AS_LISTS && node->layout != SL_ARROW_AS_FIXED_LISTS) ||
           count == 1;
}

static sl_refusal parse_field(parser *p, const sl_flat_table *field, uint32_t parent,
                              uint32_t depth)
{
    const uint32_t number = p->schema->count;
    sl_refusal refusal = depth < DEPTH_MAX
                             ? parse_node(p, field, parent)
                             : sl_refuse_unknown("its columns are nested too deeply", 0);
    if (refusal.text != NULL) {
        return refusal;
    }
    const sl_flat_vector children = sl_flat_vector_of(field, FIELD_CHILDREN, 4);
    const bool coded =
        p->schema->nodes[number].coded; /* then the children belong to the dictionary */
    if (!coded && !has_children(&p->schema->nodes[number], children.count)) {
        return sl_refuse(damaged, 0);
    }
    for (uint32_t i = 0; !coded && i < children.count; i++) {
        const sl_flat_table child = sl_flat_element(&children, i);
        refusal = parse_field(p, &child, number, depth + 1);
        if (refusal.text != NULL) {
            return refusal;
        }
    }
    p->schema->nodes[number].end = p->schema->count;
    return sl_accept();
}

/* ---- all steps ---- */

static sl_refusal take_features(sl_arrow_schema *schema, const sl_flat_table *table)
{
    static const char wanted[] = "huggingface";
    const sl_flat_vector pairs = sl_flat_vector_of(table, SCHEMA_METADATA, 4);
    for (uint32_t i = 0; i < pairs.count; i++) {
        const sl_flat_table pair = sl_flat_element(&pairs, i);
        const sl_bytes key = sl_flat_text(&pair, PAIR_KEY);
        const sl_bytes value = sl_flat_text(&pair, PAIR_VALUE);
        if (key.size != sizeof(wanted) - 1 || memcmp(key.data, wanted, key.size) != 0 ||
            value.size == 0) {
            continue;
        }
        schema->features = sl_malloc(value.size);
        if (schema->features == NULL) {
            return (sl_refusal){.text = "out of memory for its metadata", .status = SLUICE_NOMEM};
        }
        memcpy(schema->features, value.data, value.size);
        schema->features_bytes = value.size;
        break;
    }
    return sl_accept();
}

static sl_refusal arrow_schema_parse(parser *p, const sl_flat_table *table)
{
    const sl_flat_vector fields = sl_flat_vector_of(table, SCHEMA_FIELDS, 4);
    if (sl_flat_number(table, SCHEMA_ENDIANNESS, 2, 0) != 0) {
        return sl_refuse_unknown(
            "its numbers are big-endian: rewrite it on a little-endian machine", 0);
    }
    if (fields.count > SL_SOURCE_COLUMNS_MAX) {
        return sl_refuse_unknown("it has more than 1024 columns", 0);
    }
    for (uint32_t i = 0; i < fields.count; i++) {
        const sl_flat_table field = sl_flat_element(&fields, i);
        const sl_refusal refusal = parse_field(p, &field, SL_ARROW_NONE, 0);
        if (refusal.text != NULL) {
            return refusal;
        }
    }
    p->schema->columns = fields.count;
    return take_features(p->schema, table);
}

sl_refusal sl_arrow_schema_parse(sl_arrow_schema *schema, const sl_flat_table *table, int version)
{
    parser p = {schema, version};
    memset(schema, 0, sizeof(*schema));
    sl_refusal refusal = table->of != NULL ? arrow_schema_parse(&p, table) : sl_refuse(damaged, 0);
    if (table->of != NULL && table->of->damaged && refusal.status != SLUICE_NOMEM) {
        refusal = sl_refuse(damaged, 0); /* a damaged buffer, whatever was parsed */
    }
    if (refusal.text != NULL) {
        sl_arrow_schema_close(schema);
    }
    return refusal;
}

/* Compares two nodes; the names of list elements are arbitrary. */
static bool is_same_node(const sl_arrow_schema *a, const sl_arrow_schema *b, uint32_t number)
{
    const sl_arrow_node *x = &a->nodes[number];
    const sl_arrow_node *y = &b->nodes[number];
    const bool named =
        x->parent == SL_ARROW_NONE || a->nodes[x->parent].layout == SL_ARROW_AS_STRUCTS;
    return x->parent == y->parent && x->type == y->type && x->bits == y->bits &&
           x->is_signed == y->is_signed && x->items == y->items && x->coded == y->coded &&
           (!named || strcmp(x->name, y->name) == 0);
}

/* Returns the name of the column that contains a node. */
static const char *arrow_schema_column_of(const sl_arrow_schema *schema, uint32_t number)
{
    while (schema->nodes[number].parent != SL_ARROW_NONE) {
        number = schema->nodes[number].parent;
    }
    return schema->nodes[number].name;
}

const char *sl_arrow_schema_differs(const sl_arrow_schema *a, const sl_arrow_schema *b)
{
    const uint32_t count = a->count < b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_same_node(a, b, i)) {
            return arrow_schema_column_of(a, i);
        }
    }
    const sl_arrow_schema *longer = a->count > b->count ? a : b;
    return a->count == b->count ? NULL : arrow_schema_column_of(longer, count);
}
