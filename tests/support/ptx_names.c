/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of a module's text, and their meaning in a kernel: registers, variables, parameters. */
#include "ptx_names.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ptx_refuse(ptx_parser *p, const char *format, ...)
{
    char reason[160];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is initialized above */
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    if (!p->failed) {
        snprintf(p->failure->text, sizeof(p->failure->text), "line %u: %.120s: %s", p->line,
                 p->begin, reason);
    }
    p->failed = true;
    return false;
}

/* ---- characters ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_space(const char **at)
{
    while (isspace((unsigned char)**at)) {
        ++*at;
    }
}

/* Returns the name or number there; "" if there is none. */
ptx_name ptx_take_name(const char **at)
{
    ptx_name found = {{0}};
    skip_space(at);
    size_t length = 0;
    while (is_name((*at)[length]) || (length == 0 && **at == '-')) {
        length++;
    }
    if (length < PTX_NAME) {
        memcpy(found.text, *at, length);
    }
    *at += length;
    skip_space(at);
    return found;
}

bool ptx_take(const char **at, char c)
{
    skip_space(at);
    const bool there = **at == c;
    *at += there;
    skip_space(at);
    return there;
}

uint64_t ptx_number_of(const char *text)
{
    return text[0] == '-' ? 0 - strtoull(text + 1, NULL, 0) : strtoull(text, NULL, 0);
}

/* ---- names ---- */

int32_t ptx_find_register(const ptx_scope *s, const char *text)
{
    for (uint32_t i = 0; i < s->range_count; i++) {
        const char *prefix = s->ranges[i].prefix.text;
        const size_t length = strlen(prefix);
        if (s->ranges[i].count < 0 && strcmp(prefix, text) == 0) {
            return s->ranges[i].first;
        }
        if (strncmp(prefix, text, length) == 0 && isdigit((unsigned char)text[length])) {
            const int64_t number = (int64_t)strtoull(text + length, NULL, 10);
            if (strspn(text + length, "0123456789") == strlen(text + length) &&
                number < s->ranges[i].count) {
                return s->ranges[i].first + (int32_t)number;
            }
        }
    }
    return PTX_NO_REGISTER;
}

int ptx_find_symbol(const ptx_scope *s, const char *text)
{
    for (uint32_t i = 0; i < s->symbol_count; i++) {
        if (strcmp(s->symbols[i].name.text, text) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool add_symbol(ptx_parser *p, ptx_name n, uint64_t at, bool parameter)
{
    ptx_scope *s = p->scope;
    if (s->symbol_count == PTX_SYMBOLS || n.text[0] == '\0' || ptx_find_symbol(s, n.text) >= 0) {
        return ptx_refuse(p, "a variable too many, or twice");
    }
    s->symbols[s->symbol_count].name = n;
    s->symbols[s->symbol_count].at = at;
    s->symbols[s->symbol_count++].parameter = parameter;
    return true;
}

static bool add_registers(ptx_parser *p, ptx_name prefix, int64_t count, uint8_t bits)
{
    ptx_scope *s = p->scope;
    const uint32_t before = p->kernel->registers;
    const uint32_t more = count < 0 ? 1 : (uint32_t)count;
    if (s->range_count == PTX_RANGES || prefix.text[0] != '%' || more > 65536) {
        return ptx_refuse(p, "too many registers, or a name without %%");
    }
    uint8_t *widths = realloc(p->kernel->widths, before + more + 1U);
    assert(widths != NULL);
    memset(widths + before, bits, more);
    p->kernel->widths = widths;
    p->kernel->registers += more;
    s->ranges[s->range_count].prefix = prefix;
    s->ranges[s->range_count].first = (int32_t)before;
    s->ranges[s->range_count++].count = count;
    return true;
}

/* ---- variables ---- */

static uint8_t bits_of_type(const char *word)
{
    return strcmp(word, ".pred") == 0
               ? 1
               : (uint8_t)strtoul(word + strcspn(word, "0123456789"), NULL, 10);
}

/* .reg .b32 %r<12>, %a, %b */
bool ptx_parse_registers(ptx_parser *p, const char *at)
{
    const uint8_t bits = bits_of_type(ptx_take_name(&at).text);
    do {
        const ptx_name prefix = ptx_take_name(&at);
        int64_t count = -1;
        if (ptx_take(&at, '<')) {
            count = (int64_t)ptx_number_of(ptx_take_name(&at).text);
            (void)ptx_take(&at, '>');
        }
        if (bits == 0 || !add_registers(p, prefix, count, bits)) {
            return ptx_refuse(p, "not a register");
        }
    } while (ptx_take(&at, ','));
    return *at == '\0' || ptx_refuse(p, "not a register");
}

/* Parses .align 8 .b8 name[72]: its bytes and alignment. */
static bool parse_variable(ptx_parser *p, const char **at, ptx_name *found, uint32_t *bytes,
                           uint32_t *align)
{
    ptx_name word = ptx_take_name(at);
    *align = 0;
    if (strcmp(word.text, ".align") == 0) {
        *align = (uint32_t)ptx_number_of(ptx_take_name(at).text);
        word = ptx_take_name(at);
    }
    *bytes = bits_of_type(word.text) / 8U;
    *align = *align == 0 ? *bytes : *align;
    *found = ptx_take_name(at);
    if (ptx_take(at, '[')) {
        *bytes *= (uint32_t)ptx_number_of(ptx_take_name(at).text);
        (void)ptx_take(at, ']');
    }
    const bool fine = *bytes > 0 && *bytes <= PTX_SHARED_MAX && *align > 0 && *align <= 256 &&
                      (*align & (*align - 1)) == 0;
    return fine || ptx_refuse(p, "not a variable");
}

static uint32_t placed(uint32_t *end, uint32_t bytes, uint32_t align)
{
    const uint32_t at = (*end + align - 1) / align * align;
    *end = at + bytes;
    return at;
}

bool ptx_parse_memory(ptx_parser *p, const char *at, bool shared)
{
    uint32_t bytes = 0;
    uint32_t align = 0;
    ptx_name n;
    if (!parse_variable(p, &at, &n, &bytes, &align)) {
        return false;
    }
    uint32_t *end = shared ? &p->kernel->shared_bytes : &p->kernel->local_bytes;
    const uint64_t window = shared ? PTX_SHARED_AT : PTX_LOCAL_AT;
    const uint64_t place = window + placed(end, bytes, align);
    if (*end > PTX_SHARED_MAX || *at != '\0') {
        return ptx_refuse(p, "not a variable, or too large");
    }
    return add_symbol(p, n, place, false);
}

bool ptx_parse_parameters(ptx_parser *p, const char **at)
{
    ptx_kernel *k = p->kernel;
    while (!ptx_take(at, ')')) {
        uint32_t bytes = 0;
        uint32_t align = 0;
        ptx_name n;
        const bool word = strcmp(ptx_take_name(at).text, ".param") == 0;
        if (!word || !parse_variable(p, at, &n, &bytes, &align) || k->parameter_count == 16) {
            return ptx_refuse(p, "not a parameter");
        }
        const uint32_t place = placed(&k->parameter_bytes, bytes, align);
        k->parameters[k->parameter_count].at = place;
        k->parameters[k->parameter_count++].bytes = bytes;
        if (!add_symbol(p, n, place, true)) {
            return false;
        }
        (void)ptx_take(at, ',');
    }
    return true;
}
