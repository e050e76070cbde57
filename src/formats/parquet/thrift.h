/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift: reads the compact protocol of Apache Thrift.
 *
 * Purpose: Parquet's footer and page headers use it. A cursor iterates over a structure's fields;
 * the caller reads the fields it knows and skips the others. Reading always ends: invalid input
 * sets `bad`, after which all reads return 0 and there are no more fields. Source:
 * thrift-compact-protocol.md. Threads: pure. No allocation.
 */
#ifndef SL_THRIFT_H
#define SL_THRIFT_H

#include "view.h"

#include <stdbool.h>

enum { SL_THRIFT_DEPTH = 32 }; /* limit on nested structures; more are `bad` */

typedef enum sl_thrift_type {
    SL_THRIFT_STOP = 0,
    SL_THRIFT_TRUE = 1,
    SL_THRIFT_FALSE = 2,
    SL_THRIFT_I8 = 3,
    SL_THRIFT_I16 = 4,
    SL_THRIFT_I32 = 5,
    SL_THRIFT_I64 = 6,
    SL_THRIFT_DOUBLE = 7,
    SL_THRIFT_BINARY = 8,
    SL_THRIFT_LIST = 9,
    SL_THRIFT_SET = 10,
    SL_THRIFT_MAP = 11,
    SL_THRIFT_STRUCT = 12
} sl_thrift_type;

typedef struct sl_thrift {
    const uint8_t *at, *end;
    bool bad;
} sl_thrift;

/* A field of a structure; zeroed before the first. */
typedef struct sl_thrift_field {
    int32_t id;
    uint8_t type; /* an sl_thrift_type */
} sl_thrift_field;

void sl_thrift_begin(sl_thrift *thrift, sl_bytes bytes);
/* Steps to the next field of the structure; false: none. Its value must be read or skipped. */
bool sl_thrift_next(sl_thrift *thrift, sl_thrift_field *field);
/* Skips the field's value. */
void sl_thrift_skip(sl_thrift *thrift, const sl_thrift_field *field);

/* Returns the field's value. Sets `bad` if it has another type. */
int64_t sl_thrift_integer(sl_thrift *thrift, const sl_thrift_field *field);
bool sl_thrift_bool(sl_thrift *thrift, const sl_thrift_field *field);
sl_bytes sl_thrift_binary(sl_thrift *thrift, const sl_thrift_field *field);
/*
 * Begins a list of elements of `type`; returns their number, at most the number of bytes left. For
 * structures: fields follow.
 */
uint32_t sl_thrift_list(sl_thrift *thrift, const sl_thrift_field *field, sl_thrift_type type);

#endif
