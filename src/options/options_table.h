/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_table: the one table of the options that the public structs have.
 *
 * Purpose: a row for each member that a text can set. Checks, the tool and the Python package read
 * it; a new option is a member at the end of its struct, a row here, and the code that uses it. The
 * tool lists options by group (tools/sluice), Python in this order.
 *
 * Ranges apply to values that are given: 0 means the default, whatever the range. Defaults, and
 * conditions between options, are checked where they are used.
 *
 * Threads: constant.
 */
#ifndef SL_OPTIONS_TABLE_H
#define SL_OPTIONS_TABLE_H

#include <sluice/describe.h>

#include <stddef.h>

typedef struct sl_options_table {
    const sluice_option *rows;
    uint32_t count;
} sl_options_table;

extern const sl_options_table sl_loader_table, sl_column_table, sl_dataset_table, sl_writer_table,
    sl_pack_table, sl_unpack_table, sl_verify_table, sl_remote_table;

/* ---- how rows are written ---- */

/* The members' own types; a FLAG that is not a uint32_t does not compile. */
#define SL_TYPE_OF(type, member) \
    _Generic(((type *)0)->member, uint32_t    \
             : SLUICE_OPTION_U32, uint64_t    \
             : SLUICE_OPTION_U64, int32_t     \
             : SLUICE_OPTION_I32, int64_t     \
             : SLUICE_OPTION_I64, double      \
             : SLUICE_OPTION_REAL, const char * \
             : SLUICE_OPTION_TEXT)
#define SL_ROW(of, member) \
    .struct_size = sizeof(sluice_option), .name = #member, .offset = offsetof(of, member)

#define SL_NUMBER(of, member, from, to) \
    SL_ROW(of, member), .type = SL_TYPE_OF(of, member), .least = (from), .most = (to)
#define SL_FLAG(of, member)                          \
    SL_ROW(of, member),                              \
        .type = _Generic(((of *)0)->member, uint32_t \
                         : SLUICE_OPTION_FLAG),      \
        .most = 1
/* `array` ends with NULL; its first word has number `first`. */
#define SL_WORD(of, member, array, first)           \
    SL_ROW(of, member),                             \
        .type = _Generic(((of *)0)->member, int32_t \
                         : SLUICE_OPTION_WORD),     \
        .words = (array), .least = (first), .most = (first) + sizeof(array) / sizeof(*(array)) - 2
#define SL_TEXT(of, member) \
    SL_ROW(of, member), .type = _Generic(((of *)0)->member, const char * : SLUICE_OPTION_TEXT)

#define SL_TABLE(array)                                       \
    {                                                         \
        (array), (uint32_t)(sizeof(array) / sizeof(*(array))) \
    }

#endif
