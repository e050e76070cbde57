/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_schema: the columns of an Arrow file as its schema tells them, and their arrays' layout.
 *
 * Purpose: a schema is a tree of fields; here it is a list of nodes, each before its children, as
 * record batches have their arrays and buffers in that order. Which buffers a node has follows from
 * its type, but for views, that have as many as a batch says. Source: Schema.fbs and the columnar
 * format, versions 4 and 5 of the metadata. Threads: one parses; then it is immutable. Ownership:
 * sl_arrow_schema_close. Memory: some 300 bytes a node.
 */
#ifndef SL_ARROW_SCHEMA_H
#define SL_ARROW_SCHEMA_H

#include "error.h"
#include "flatbuffer.h"

#define SL_ARROW_NAME_BYTES 256U
#define SL_ARROW_NONE       UINT32_MAX
/* Versions of the metadata, as MetadataVersion numbers them. */
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

/* What a type's arrays are made of. */
typedef enum sl_arrow_layout {
    SL_ARROW_AS_NOTHING, /* nulls, unions, runs: nothing that is read here */
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
    uint32_t end;    /* the node behind its last descendant */
    uint8_t type;    /* an sl_arrow_type */
    uint8_t layout;  /* an sl_arrow_layout */
    bool wide;       /* offsets have 64 bits */
    bool is_signed;
    uint64_t bits;  /* NUMBERS: of a value */
    uint32_t items; /* FIXED_LISTS: of a list */
    /* Values are numbers of those in a dictionary; layout, wide and bits are those of the latter.
     */
    bool coded;
    bool code_signed;
    uint8_t code_bits;
    int64_t dictionary;
    uint8_t buffers; /* in a batch, but for what views have besides */
    uint32_t buffer; /* number of the first of them, but for what views before it have besides */
    uint32_t views;  /* before it */
} sl_arrow_node;

typedef struct sl_arrow_schema {
    sl_arrow_node *nodes;
    uint32_t count, capacity;
    uint32_t columns, buffers, views;
    char *features; /* what Hugging Face's datasets says of the columns: JSON; NULL: nothing */
    size_t features_bytes;
} sl_arrow_schema;

/* Of the table Schema, in metadata of this version. Refused: what is damaged or unknown; big-endian
 * numbers; too many columns, or nodes. On refusal it is closed. */
sl_refusal sl_arrow_schema_parse(sl_arrow_schema *schema, const sl_flat_table *table, int version);
/* Of all zero is fine. */
void sl_arrow_schema_close(sl_arrow_schema *schema);
/* The name of the first column that differs; NULL: both have the same. */
const char *sl_arrow_schema_differs(const sl_arrow_schema *a, const sl_arrow_schema *b);

#endif
