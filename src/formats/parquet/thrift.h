/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift: the compact protocol of Apache Thrift, as far as reading needs it.
 *
 * Purpose: what Parquet's footer and page headers are written in: a cursor that goes over a
 * structure's fields, takes those that are known, and passes over all others. Whatever the bytes
 * are, it ends: `bad` is set once something makes no sense, and then all reads give 0 and there are
 * no more fields. Source: thrift-compact-protocol.md. Threads: pure. No allocation.
 */
#ifndef SL_THRIFT_H
#define SL_THRIFT_H

#include "view.h"

#include <stdbool.h>

enum { SL_THRIFT_DEPTH = 32 }; /* structures in structures: more are `bad` */

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

/* A field of a structure; begin with one that is all zero. */
typedef struct sl_thrift_field {
    int32_t id;
    uint8_t type; /* an sl_thrift_type */
} sl_thrift_field;

void sl_thrift_begin(sl_thrift *thrift, sl_bytes bytes);
/* The next field of the structure; false: there is none. Its value has to be read, or skipped. */
bool sl_thrift_next(sl_thrift *thrift, sl_thrift_field *field);
/* Passes over the field's value. */
void sl_thrift_skip(sl_thrift *thrift, const sl_thrift_field *field);

/* The field's value. `bad` when it is of another type. */
int64_t sl_thrift_integer(sl_thrift *thrift, const sl_thrift_field *field);
bool sl_thrift_bool(sl_thrift *thrift, const sl_thrift_field *field);
sl_bytes sl_thrift_binary(sl_thrift *thrift, const sl_thrift_field *field);
/* Begins a list of elements of `type`; how many follow, which are not more than there are bytes.
 * Of structures: fields from here on. */
uint32_t sl_thrift_list(sl_thrift *thrift, const sl_thrift_field *field, sl_thrift_type type);

#endif
