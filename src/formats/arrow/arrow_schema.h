/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_schema: the columns in an Arrow file's schema, and the layout of their arrays.
 *
 * Purpose: turns the schema's tree of fields into a list of nodes, each before its children, which
 * is the order of arrays and buffers in record batches. A node's type determines its buffers,
 * except for views, whose number of buffers is in each batch. Source: Schema.fbs and the columnar
 * format, versions 4 and 5 of the metadata. Threads: one parses; then it is immutable. Ownership:
 * sl_arrow_schema_close. Memory: about 300 bytes per node.
 */
#ifndef SL_ARROW_SCHEMA_H
#define SL_ARROW_SCHEMA_H

#include "error.h"
#include "flatbuffer.h"

#define SL_ARROW_NAME_BYTES 256U
#define SL_ARROW_NONE       UINT32_MAX
/* Versions of the metadata, with the numbers of MetadataVersion. */
#define SL_ARROW_V4 3
#define SL_ARROW_V5 4

/* Numbers of the union Type. */
typedef enum sl_arrow_type {
    SL_ARROW_NULL = 1,
    SL_ARROW_INT = 2,
    SL_ARROW_FLOAT = 3,
    SL_ARROW_BINARY = 4,
    SL_ARROW_UTF8 = 5,
    SL_ARROW_BOOL = 6,
    SL_ARROW_DECIMAL = 7,
    SL_ARROW_DATE = 8,
    SL_ARROW_TIME = 9,
    SL_ARROW_TIMESTAMP = 10,
    SL_ARROW_INTERVAL = 11,
    SL_ARROW_LIST = 12,
    SL_ARROW_STRUCT = 13,
    SL_ARROW_UNION = 14,
    SL_ARROW_FIXED_BINARY = 15,
    SL_ARROW_FIXED_LIST = 16,
    SL_ARROW_MAP = 17,
    SL_ARROW_DURATION = 18,
    SL_ARROW_LARGE_BINARY = 19,
    SL_ARROW_LARGE_UTF8 = 20,
    SL_ARROW_LARGE_LIST = 21,
    SL_ARROW_RUNS = 22,
    SL_ARROW_BINARY_VIEW = 23,
    SL_ARROW_UTF8_VIEW = 24,
    SL_ARROW_LIST_VIEW = 25,
    SL_ARROW_LARGE_LIST_VIEW = 26
} sl_arrow_type;

/* Layout of a type's arrays. */
typedef enum sl_arrow_layout {
    SL_ARROW_AS_NOTHING, /* nulls, unions, runs: not supported */
    SL_ARROW_AS_NUMBERS, /* values of a fixed width */
    SL_ARROW_AS_BYTES,   /* offsets and bytes */
    SL_ARROW_AS_VIEWS,
    SL_ARROW_AS_LISTS, /* offsets */
    SL_ARROW_AS_FIXED_LISTS,
    SL_ARROW_AS_STRUCTS
} sl_arrow_layout;

typedef struct sl_arrow_node {
    char name[SL_ARROW_NAME_BYTES];
    uint32_t parent; /* NONE: it is a column */
    uint32_t end;    /* the node after its last descendant */
    uint8_t type;    /* an sl_arrow_type */
    uint8_t layout;  /* an sl_arrow_layout */
    bool wide;       /* true if offsets have 64 bits */
    bool is_signed;
    uint64_t bits;  /* NUMBERS: width of a value */
    uint32_t items; /* FIXED_LISTS: number of items */
    /*
     * True if values are numbers in a dictionary; layout, wide and bits are those of the
     * dictionary's values.
     */
    bool coded;
    bool code_signed;
    uint8_t code_bits;
    int64_t dictionary;
    uint8_t buffers; /* number in a batch, without the extra buffers of views */
    uint32_t buffer; /* number of the first buffer, without the extra buffers of views before it */
    uint32_t views;  /* number of views before it */
} sl_arrow_node;

typedef struct sl_arrow_schema {
    sl_arrow_node *nodes;
    uint32_t count, capacity;
    uint32_t columns, buffers, views;
    char *features; /* description of the columns by Hugging Face's datasets, as JSON; NULL: none */
    size_t features_bytes;
} sl_arrow_schema;

/*
 * Parses the table Schema from metadata of this version. Rejects damaged or unknown data,
 * big-endian numbers, and too many columns or nodes. Closed on failure.
 */
sl_refusal sl_arrow_schema_parse(sl_arrow_schema *schema, const sl_flat_table *table, int version);
/* Releases `schema`, which may be zeroed. */
void sl_arrow_schema_close(sl_arrow_schema *schema);
/* Returns the name of the first column that differs; NULL: all are equal. */
const char *sl_arrow_schema_differs(const sl_arrow_schema *a, const sl_arrow_schema *b);

#endif
