/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx_names: the text of a module while it is parsed, and the names of the current kernel. For
 * ptx_names.c and ptx_parse.c only. Threads: pure, except the parser.
 */
#ifndef PTX_NAMES_H
#define PTX_NAMES_H

#include "ptx_parts.h"

enum { PTX_RANGES = 64, PTX_SYMBOLS = 32, PTX_LABELS = 1024 };

typedef struct ptx_name {
    char text[PTX_NAME];
} ptx_name;

/* Meaning of names in the current kernel. */
typedef struct ptx_scope {
    struct {
        ptx_name prefix;
        int32_t first;
        int64_t count; /* -1: one register, named by the prefix */
    } ranges[PTX_RANGES];
    struct {
        ptx_name name;
        uint64_t at; /* offset in memory or in the parameters */
        bool parameter;
    } symbols[PTX_SYMBOLS];
    struct {
        ptx_name name;
        uint32_t at;
    } labels[PTX_LABELS];
    ptx_name *targets; /* target of each instruction */
    uint32_t range_count, symbol_count, label_count;
} ptx_scope;

typedef struct ptx_parser {
    ptx_module *module;
    ptx_kernel *kernel;
    ptx_scope *scope;
    ptx_failure *failure;
    const char *begin; /* start of the statement */
    char *at;
    uint32_t line;
    bool failed;
} ptx_parser;

/* Records the first failure, with the statement and its line. Returns false. */
__attribute__((format(printf, 2, 3))) bool ptx_refuse(ptx_parser *p, const char *format, ...);

/* Returns the name or number there; "" if there is none. Both functions advance past it and any
 * following spaces. */
ptx_name ptx_take_name(const char **at);
bool ptx_take(const char **at, char c);
uint64_t ptx_number_of(const char *text);

/* PTX_NO_REGISTER: none. */
int32_t ptx_find_register(const ptx_scope *s, const char *text);
/* -1: none. */
int ptx_find_symbol(const ptx_scope *s, const char *text);

/* Parses declarations, after their first word. */
bool ptx_parse_registers(ptx_parser *p, const char *at);
bool ptx_parse_memory(ptx_parser *p, const char *at, bool shared);
bool ptx_parse_parameters(ptx_parser *p, const char **at);

#endif
