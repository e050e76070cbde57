/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_leaves: walks a schema's elements with a stack of open groups. Pure. */
#include "parquet_leaves.h"

#include "memory.h"

enum { DEPTH_MAX = 32, LEVEL_MAX = 64 };

enum { REQUIRED = 0, REPEATED = 2 };

/* Numbers of ConvertedType, and of the members of LogicalType. */
enum {
    CONVERTED_UTF8 = 0,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_UINT_8 = 11,
    CONVERTED_UINT_64 = 14,
    CONVERTED_INT_8 = 15,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
    CONVERTED_INTERVAL = 21
};
enum {
    LOGICAL_STRING = 1,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_INTEGER = 10,
    LOGICAL_JSON = 12
};

/* ---- elements ---- */

typedef struct element {
    int64_t type, type_bytes, repetition, children, converted;
    sl_bytes name;
    bool is_list, is_leaf;
    uint8_t meaning, bits;
} element;

/* A group whose children follow. */
typedef struct group {
    uint32_t number, children, left;
    uint32_t def, rep, item_def, outer_def;
    size_t name_bytes; /* length of the names down to it */
    bool is_list;      /* true if its child is the repeated part, whose name is meaningless */
    bool is_part; /* true if it is a repeated part with one child, whose name is meaningless too */
} group;

typedef struct schema {
    sl_parquet *parquet;
    group groups[DEPTH_MAX];
    uint32_t depth, numbers;
    char name[SL_PARQUET_NAME_BYTES];
} schema;

static void read_integer_type(sl_thrift *t, element *e)
{
    sl_thrift_field field = {0};
    int64_t bits = 0;
    bool is_signed = true;
    while (sl_thrift_next(t, &field)) {
        if (field.id == 1) {
            bits = sl_thrift_integer(t, &field);
        } else if (field.id == 2) {
            is_signed = sl_thrift_bool(t, &field);
        } else {
            sl_thrift_skip(t, &field);
        }
    }
    e->meaning = is_signed ? SL_PARQUET_SIGNED : SL_PARQUET_UNSIGNED;
    e->bits = (uint8_t)bits;
}

/* Reads a union, which has one member. */
static void read_logical(sl_thrift *t, element *e)
{
    sl_thrift_field field = {0};
    while (sl_thrift_next(t, &field)) {
        switch (field.id) {
        case LOGICAL_STRING:
        case LOGICAL_ENUM:
        case LOGICAL_JSON:
            e->meaning = SL_PARQUET_TEXT;
            break;
        case LOGICAL_LIST:
            e->is_list = true;
            break;
        case LOGICAL_DECIMAL:
            e->meaning = SL_PARQUET_OTHER;
            break;
        case LOGICAL_INTEGER:
            if (field.type == SL_THRIFT_STRUCT) {
                read_integer_type(t, e);
                continue;
            }
            break;
        default:
            break;
        }
        sl_thrift_skip(t, &field);
    }
}

/* Applies the older annotation, unless the newer one is present. */
static void take_converted(element *e)
{
    const int64_t c = e->converted;
    e->is_list = e->is_list || c == CONVERTED_LIST;
    if (e->meaning != SL_PARQUET_AS_IS) {
        return;
    }
    if (c == CONVERTED_UTF8 || c == CONVERTED_ENUM || c == CONVERTED_JSON) {
        e->meaning = SL_PARQUET_TEXT;
    } else if (c >= CONVERTED_UINT_8 && c <= CONVERTED_UINT_64) {
        e->meaning = SL_PARQUET_UNSIGNED;
        e->bits = (uint8_t)(8 << (c - CONVERTED_UINT_8));
    } else if (c >= CONVERTED_INT_8 && c <= CONVERTED_INT_64) {
        e->meaning = SL_PARQUET_SIGNED;
        e->bits = (uint8_t)(8 << (c - CONVERTED_INT_8));
    } else if (c == CONVERTED_DECIMAL || c == CONVERTED_INTERVAL) {
        e->meaning = SL_PARQUET_OTHER;
    }
}

static void read_element(sl_thrift *t, element *e)
{
    sl_thrift_field field = {0};
    *e = (element){.type = -1, .converted = -1, .name = {(const uint8_t *)"", 0}};
    while (sl_thrift_next(t, &field)) {
        switch (field.id) {
        case 1:
            e->type = sl_thrift_integer(t, &field);
            e->is_leaf = true;
            break;
        case 2:
            e->type_bytes = sl_thrift_integer(t, &field);
            break;
        case 3:
            e->repetition = sl_thrift_integer(t, &field);
            break;
        case 4:
            e->name = sl_thrift_binary(t, &field);
            break;
        case 5:
            e->children = sl_thrift_integer(t, &field);
            break;
        case 6:
            e->converted = sl_thrift_integer(t, &field);
            break;
        case 10:
            if (field.type == SL_THRIFT_STRUCT) {
                read_logical(t, e);
                break;
            }
            sl_thrift_skip(t, &field);
            break;
        default:
            sl_thrift_skip(t, &field);
        }
    }
    take_converted(e);
}

/* Writes the names down to an element to s->name, `bytes` long; false: too long. */
static bool parquet_leaves_join_name(schema *s, const group *parent, const element *e,
                                     size_t *bytes)
{
    const bool says_nothing =
        parent->is_part || (parent->is_list && e->repetition == REPEATED) || s->depth == 0;
    *bytes = parent->name_bytes;
    if (says_nothing) {
        return true;
    }
    const size_t dot = *bytes > 0 ? 1 : 0;
    if (*bytes + dot + e->name.size >= sizeof(s->name) || memchr(e->name.data, 0, e->name.size)) {
        return false;
    }
    s->name[*bytes] = '.';
    memcpy(s->name + *bytes + dot, e->name.data, e->name.size);
    *bytes += dot + e->name.size;
    return true;
}

static void add_leaf(schema *s, const group *parent, const group *own, const element *e)
{
    sl_parquet_leaf *leaf = &s->parquet->leaves[s->parquet->leaf_count++];
    *leaf = (sl_parquet_leaf){.parent = parent->number,
                              .siblings = parent->children,
                              .type_bytes = (uint32_t)e->type_bytes,
                              .type = (uint8_t)e->type,
                              .meaning = e->meaning,
                              .bits = e->bits,
                              .max_def = (uint8_t)own->def,
                              .max_rep = (uint8_t)own->rep,
                              .item_def = (uint8_t)own->item_def,
                              .outer_def = (uint8_t)own->outer_def};
    memcpy(leaf->name, s->name, own->name_bytes);
}

/* Adds an element. Returns the error, or NULL. */
static const char *parquet_leaves_add_element(schema *s, const element *e)
{
    static const group above = {.children = 1};
    const group *parent = s->depth > 0 ? &s->groups[s->depth - 1] : &above;
    group own = {.number = s->numbers++,
                 .def = parent->def,
                 .rep = parent->rep,
                 .item_def = parent->item_def,
                 .outer_def = parent->outer_def};
    if (e->repetition < 0 || e->repetition > REPEATED || e->children < 0 ||
        e->children > UINT16_MAX || e->type > SL_PARQUET_FIXED || (e->is_leaf && e->type < 0) ||
        e->type_bytes < 0 || e->type_bytes > INT32_MAX) {
        return "its schema is damaged";
    }
    if (!parquet_leaves_join_name(s, parent, e, &own.name_bytes)) {
        return "a column's name has more than 255 bytes";
    }
    if (s->depth > 0) { /* the root's own repetition does not count */
        own.def += e->repetition != REQUIRED;
        own.rep += e->repetition == REPEATED;
        own.item_def = e->repetition == REPEATED ? own.def : own.item_def;
        own.outer_def = own.rep == 1 && parent->rep == 0 ? own.def : own.outer_def;
    }
    own.children = own.left = (uint32_t)e->children;
    own.is_list = e->is_list;
    own.is_part = parent->is_list && e->repetition == REPEATED && e->children == 1;
    if (own.def > LEVEL_MAX || s->depth == DEPTH_MAX) {
        return "its schema is nested too deeply";
    }
    if (!e->is_leaf) {
        s->groups[s->depth++] = own;
        return NULL;
    }
    if (s->parquet->leaf_count == SL_PARQUET_LEAVES_MAX || s->depth == 0) {
        return "it has more than 1024 columns, or none";
    }
    add_leaf(s, parent, &own, e);
    return NULL;
}

const char *sl_parquet_leaves_read(sl_parquet *parquet, sl_thrift *t, const sl_thrift_field *field)
{
    const uint32_t count = sl_thrift_list(t, field, SL_THRIFT_STRUCT);
    schema s = {.parquet = parquet};
    parquet->leaves = sl_calloc(count < SL_PARQUET_LEAVES_MAX ? count + 1 : SL_PARQUET_LEAVES_MAX,
                                sizeof(*parquet->leaves));
    if (parquet->leaves == NULL) {
        return "out of memory for its schema";
    }
    for (uint32_t i = 0; i < count && !t->bad; i++) {
        element e;
        read_element(t, &e);
        if (i > 0 && s.depth == 0) {
            return "its schema is damaged";
        }
        const char *why = t->bad ? NULL : parquet_leaves_add_element(&s, &e);
        if (why != NULL) {
            return why;
        }
        while (s.depth > 0 && s.groups[s.depth - 1].left == 0) {
            s.depth--;
        }
        if (s.depth > 0) {
            s.groups[s.depth - 1].left--;
        }
    }
    return NULL;
}
