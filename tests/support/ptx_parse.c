/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a module: kernels, their variables, registers and instructions. It is taken apart in
 * a copy without comments, statement by statement; whatever is not known is a failure.
 */
#include "ptx_parts.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 64, SYMBOLS = 32, LABELS = 1024, KERNELS = 64 };

struct ptx_module {
    char *text; /* that instructions point to */
    ptx_kernel kernels[KERNELS];
    uint32_t count;
};

typedef struct name {
    char text[PTX_NAME];
} name;

/* What names mean in the kernel that is being read. */
typedef struct scope {
    struct {
        name prefix;
        int32_t first;
        int64_t count; /* -1: one register, whose name is the prefix */
    } ranges[RANGES];
    struct {
        name name;
        uint64_t at; /* of memory, or in the parameters */
        bool parameter;
    } symbols[SYMBOLS];
    struct {
        name name;
        uint32_t at;
    } labels[LABELS];
    name *targets; /* of each instruction */
    uint32_t range_count, symbol_count, label_count;
} scope;

typedef struct parser {
    ptx_module *module;
    ptx_kernel *kernel;
    scope *scope;
    ptx_failure *failure;
    const char *begin; /* of the statement */
    char *at;
    uint32_t line;
    bool failed;
} parser;

__attribute__((format(printf, 2, 3))) static bool refuse(parser *p, const char *format, ...)
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

/* The name there, or a number; "" when there is none. */
static name take_name(const char **at)
{
    name found = {{0}};
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

static bool take(const char **at, char c)
{
    skip_space(at);
    const bool there = **at == c;
    *at += there;
    skip_space(at);
    return there;
}

static uint64_t number_of(const char *text)
{
    return text[0] == '-' ? 0 - strtoull(text + 1, NULL, 0) : strtoull(text, NULL, 0);
}

/* Comments become spaces. */
static void blank_comments(char *text)
{
    char *at = text;
    while ((at = strchr(at, '/')) != NULL) {
        const bool line = at[1] == '/';
        const char *end = line ? at + strcspn(at, "\n") : at[1] == '*' ? strstr(at, "*/") : at;
        if (end == NULL) {
            end = at + strlen(at);
        } else if (!line && end != at) {
            end += 2;
        }
        for (; at < end; at++) {
            *at = *at == '\n' ? '\n' : ' ';
        }
        at += *at == '/';
    }
}

/* ---- names ---- */

static int32_t find_register(const scope *s, const char *text)
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

static int find_symbol(const scope *s, const char *text)
{
    for (uint32_t i = 0; i < s->symbol_count; i++) {
        if (strcmp(s->symbols[i].name.text, text) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool add_symbol(parser *p, name n, uint64_t at, bool parameter)
{
    scope *s = p->scope;
    if (s->symbol_count == SYMBOLS || n.text[0] == '\0' || find_symbol(s, n.text) >= 0) {
        return refuse(p, "a variable too many, or twice");
    }
    s->symbols[s->symbol_count].name = n;
    s->symbols[s->symbol_count].at = at;
    s->symbols[s->symbol_count++].parameter = parameter;
    return true;
}

static bool add_registers(parser *p, name prefix, int64_t count, uint8_t bits)
{
    scope *s = p->scope;
    const uint32_t before = p->kernel->registers;
    const uint32_t more = count < 0 ? 1 : (uint32_t)count;
    if (s->range_count == RANGES || prefix.text[0] != '%' || more > 65536) {
        return refuse(p, "too many registers, or a name without %%");
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
static bool parse_registers(parser *p, const char *at)
{
    const uint8_t bits = bits_of_type(take_name(&at).text);
    do {
        const name prefix = take_name(&at);
        int64_t count = -1;
        if (take(&at, '<')) {
            count = (int64_t)number_of(take_name(&at).text);
            (void)take(&at, '>');
        }
        if (bits == 0 || !add_registers(p, prefix, count, bits)) {
            return refuse(p, "not a register");
        }
    } while (take(&at, ','));
    return *at == '\0' || refuse(p, "not a register");
}

/* .align 8 .b8 name[72]: its bytes and alignment. */
static bool parse_variable(parser *p, const char **at, name *found, uint32_t *bytes,
                           uint32_t *align)
{
    name word = take_name(at);
    *align = 0;
    if (strcmp(word.text, ".align") == 0) {
        *align = (uint32_t)number_of(take_name(at).text);
        word = take_name(at);
    }
    *bytes = bits_of_type(word.text) / 8U;
    *align = *align == 0 ? *bytes : *align;
    *found = take_name(at);
    if (take(at, '[')) {
        *bytes *= (uint32_t)number_of(take_name(at).text);
        (void)take(at, ']');
    }
    const bool fine = *bytes > 0 && *bytes <= PTX_SHARED_MAX && *align > 0 && *align <= 256 &&
                      (*align & (*align - 1)) == 0;
    return fine || refuse(p, "not a variable");
}

static uint32_t placed(uint32_t *end, uint32_t bytes, uint32_t align)
{
    const uint32_t at = (*end + align - 1) / align * align;
    *end = at + bytes;
    return at;
}

static bool parse_memory(parser *p, const char *at, bool shared)
{
    uint32_t bytes = 0;
    uint32_t align = 0;
    name n;
    if (!parse_variable(p, &at, &n, &bytes, &align)) {
        return false;
    }
    uint32_t *end = shared ? &p->kernel->shared_bytes : &p->kernel->local_bytes;
    const uint64_t window = shared ? PTX_SHARED_AT : PTX_LOCAL_AT;
    const uint64_t place = window + placed(end, bytes, align);
    if (*end > PTX_SHARED_MAX || *at != '\0') {
        return refuse(p, "not a variable, or too large");
    }
    return add_symbol(p, n, place, false);
}

static bool parse_parameters(parser *p, const char **at)
{
    ptx_kernel *k = p->kernel;
    while (!take(at, ')')) {
        uint32_t bytes = 0;
        uint32_t align = 0;
        name n;
        const bool word = strcmp(take_name(at).text, ".param") == 0;
        if (!word || !parse_variable(p, at, &n, &bytes, &align) || k->parameter_count == 16) {
            return refuse(p, "not a parameter");
        }
        const uint32_t place = placed(&k->parameter_bytes, bytes, align);
        k->parameters[k->parameter_count].at = place;
        k->parameters[k->parameter_count++].bytes = bytes;
        if (!add_symbol(p, n, place, true)) {
            return false;
        }
        (void)take(at, ',');
    }
    return true;
}

/* ---- operands ---- */

static bool parse_special(const char *text, ptx_operand *operand)
{
    static const char *const names[] = {[PTX_TID] = "%tid.",
                                        [PTX_NTID] = "%ntid.",
                                        [PTX_CTAID] = "%ctaid.",
                                        [PTX_NCTAID] = "%nctaid.",
                                        [PTX_GLOBALTIMER] = "%globaltimer"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        const char *axis = text + length;
        if (strncmp(text, names[i], length) != 0 || (i != PTX_GLOBALTIMER && strlen(axis) != 1)) {
            continue;
        }
        *operand = (ptx_operand){.kind = PTX_SPECIAL,
                                 .special = (ptx_special)i,
                                 .axis = (uint8_t)(*axis == 0 ? 0 : *axis - 'x')};
        return operand->axis < 3;
    }
    return false;
}

/* A register, a number, a variable's address. */
static bool parse_value(parser *p, const char **at, ptx_type type, ptx_operand *operand)
{
    const name n = take_name(at);
    const int32_t reg = find_register(p->scope, n.text);
    const int symbol = find_symbol(p->scope, n.text);
    *operand = (ptx_operand){.kind = PTX_IMMEDIATE, .reg = PTX_NO_REGISTER};
    if (reg != PTX_NO_REGISTER) {
        *operand = (ptx_operand){.kind = PTX_REGISTER, .reg = reg};
        return true;
    }
    if (symbol >= 0 && !p->scope->symbols[symbol].parameter) {
        operand->value = p->scope->symbols[symbol].at;
        return true;
    }
    if (strncmp(n.text, "0f", 2) == 0 || strncmp(n.text, "0F", 2) == 0) {
        operand->value = strtoull(n.text + 2, NULL, 16);
        return strlen(n.text) == 10 || refuse(p, "not a number: %s", n.text);
    }
    if (isdigit((unsigned char)n.text[n.text[0] == '-'])) {
        operand->value = number_of(n.text) & ptx_mask(type.bits == 0 ? 64 : type.bits);
        return true;
    }
    return parse_special(n.text, operand) || refuse(p, "unknown name '%s'", n.text);
}

/* [%rd1+8], [parameter+8], [variable] */
static bool parse_address(parser *p, const char **at, const ptx_opcode *code, ptx_operand *operand)
{
    const name n = take_name(at);
    const int symbol = find_symbol(p->scope, n.text);
    *operand = (ptx_operand){.kind = PTX_ADDRESS, .reg = find_register(p->scope, n.text)};
    if (symbol >= 0) {
        operand->value = p->scope->symbols[symbol].at;
    } else if (operand->reg == PTX_NO_REGISTER) {
        return refuse(p, "unknown name '%s'", n.text);
    }
    if (take(at, '+')) {
        operand->value += number_of(take_name(at).text);
    }
    const bool parameter = symbol >= 0 && p->scope->symbols[symbol].parameter;
    const uint64_t bytes = (uint64_t)code->type.bits / 8 * code->vector;
    if (parameter != (code->space == PTX_PARAM)) {
        return refuse(p, "parameters are read with ld.param, and nothing else is");
    }
    if (parameter && (operand->value + bytes > p->kernel->parameter_bytes ||
                      operand->value % bytes != 0 || code->op != PTX_LD)) {
        return refuse(p, "outside of the parameters, or not aligned");
    }
    return take(at, ']') || refuse(p, "not an address");
}

/* One operand, or those of a vector. */
static bool parse_operand(parser *p, const char **at, ptx_instruction *n, ptx_operand *address)
{
    const ptx_opcode *code = &n->code;
    const bool vector = take(at, '{');
    if (!vector && take(at, '[')) {
        return parse_address(p, at, code, address);
    }
    do {
        const bool half = code->op == PTX_MOV && vector;
        const ptx_type type = {code->type.kind, (uint8_t)(code->type.bits / (half ? 2 : 1))};
        if (n->count == PTX_OPERANDS || !parse_value(p, at, type, &n->operands[n->count])) {
            return refuse(p, "too many operands");
        }
        n->count++;
    } while (vector && take(at, ','));
    return !vector || take(at, '}') || refuse(p, "not a vector");
}

static bool check_operands(parser *p, ptx_instruction *n)
{
    uint8_t expected = ptx_opcode_operands(&n->code, &n->results);
    if (n->code.op == PTX_MOV && n->count == 3) { /* of two halves */
        expected = 3;
    }
    if (n->count != expected) {
        return refuse(p, "%d operands, not %d", n->count, expected);
    }
    for (uint8_t i = 0; i < n->results; i++) {
        if (n->operands[i].kind != PTX_REGISTER) {
            return refuse(p, "the result is not a register");
        }
    }
    const bool memory = n->code.op == PTX_LD || n->code.op == PTX_ST || n->code.op == PTX_RED;
    const bool fine = !memory || n->operands[n->count - 1].kind == PTX_ADDRESS;
    return fine || refuse(p, "an address is missing");
}

static bool parse_operands(parser *p, const char *at, ptx_instruction *n)
{
    ptx_operand address = {.kind = PTX_IMMEDIATE};
    if (n->code.op == PTX_BRA) {
        p->scope->targets[p->kernel->length] = take_name(&at);
    } else if (*at != '\0') {
        do {
            if (!parse_operand(p, &at, n, &address)) {
                return false;
            }
        } while (take(&at, ','));
    }
    if (address.kind == PTX_ADDRESS && n->count < PTX_OPERANDS) {
        n->operands[n->count++] = address; /* the last, wherever it was */
    }
    return (*at == '\0' || refuse(p, "not understood")) && check_operands(p, n);
}

/* ---- statements ---- */

static bool parse_instruction(parser *p, const char *at)
{
    ptx_kernel *k = p->kernel;
    char unknown[96];
    /* Rounded up to a power of two, both arrays grow with the first that reaches it. */
    if ((k->length & (k->length - 1)) == 0) {
        const size_t places = k->length == 0 ? 1 : 2 * (size_t)k->length;
        k->code = realloc(k->code, places * sizeof(*k->code));
        p->scope->targets = realloc(p->scope->targets, places * sizeof(name));
        assert(k->code != NULL && p->scope->targets != NULL);
    }
    ptx_instruction *n = &k->code[k->length];
    *n = (ptx_instruction){.guard = PTX_NO_REGISTER, .line = p->line, .text = p->begin};
    if (take(&at, '@')) {
        n->guard_not = take(&at, '!');
        n->guard = find_register(p->scope, take_name(&at).text);
        if (n->guard == PTX_NO_REGISTER) {
            return refuse(p, "unknown predicate");
        }
    }
    const char *why = ptx_opcode_parse(&n->code, take_name(&at).text, unknown, sizeof(unknown));
    if (why != NULL) {
        return refuse(p, "%s", why);
    }
    if (!parse_operands(p, at, n)) {
        return false;
    }
    k->length++;
    return true;
}

/* One statement of a kernel, without its end. */
static bool parse_statement(parser *p)
{
    const char *at = p->begin;
    const name word = take_name(&at);
    if (strcmp(word.text, ".reg") == 0) {
        return parse_registers(p, at);
    }
    if (strcmp(word.text, ".local") == 0 || strcmp(word.text, ".shared") == 0) {
        return parse_memory(p, at, word.text[1] == 's');
    }
    if (strcmp(word.text, ".pragma") == 0) {
        return strcmp(at, "\"nounroll\"") == 0 || refuse(p, "unknown");
    }
    return parse_instruction(p, p->begin);
}

/* The text up to one of `ends`, which becomes its end; that character, or 0. Braces around a
 * vector's operands are none. */
static char cut(parser *p, const char *ends)
{
    while (isspace((unsigned char)*p->at)) {
        p->line += *p->at++ == '\n';
    }
    p->begin = p->at;
    for (int depth = 0; *p->at != '\0'; p->at++) {
        if (strchr(ends, *p->at) != NULL && (*p->at != '}' || depth == 0)) {
            break;
        }
        depth += *p->at == '{' ? 1 : *p->at == '}' ? -1 : 0;
    }
    const char end = *p->at;
    if (end != '\0') {
        *p->at++ = '\0';
    }
    return end;
}

static void count_lines(parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        p->line += *text == '\n';
    }
}

static bool add_label(parser *p)
{
    scope *s = p->scope;
    const char *at = p->begin;
    const name n = take_name(&at);
    if (s->label_count == LABELS || *at != '\0' || n.text[0] == '\0') {
        return refuse(p, "too many labels, or not one");
    }
    s->labels[s->label_count].name = n;
    s->labels[s->label_count++].at = p->kernel->length;
    return true;
}

static bool parse_body(parser *p)
{
    for (;;) {
        const char end = cut(p, ";:}");
        bool fine = end != '\0' || refuse(p, "the text ends here");
        if (end == '}') {
            return p->begin[0] == '\0' || refuse(p, "';' is missing");
        }
        fine = fine && (end == ':' ? add_label(p) : parse_statement(p));
        if (!fine) {
            return false;
        }
        count_lines(p, p->begin);
    }
}

static bool resolve(parser *p)
{
    const scope *s = p->scope;
    for (uint32_t i = 0; i < p->kernel->length; i++) {
        ptx_instruction *n = &p->kernel->code[i];
        n->target = UINT32_MAX;
        for (uint32_t j = 0; n->code.op == PTX_BRA && j < s->label_count; j++) {
            if (strcmp(s->labels[j].name.text, s->targets[i].text) == 0) {
                n->target = s->labels[j].at;
            }
        }
        if (n->code.op == PTX_BRA && n->target >= p->kernel->length) {
            p->begin = n->text;
            p->line = n->line;
            return refuse(p, "no such label, or nothing follows it");
        }
    }
    const uint32_t last = p->kernel->length;
    const bool ends = last > 0 && p->kernel->code[last - 1].guard == PTX_NO_REGISTER &&
                      (p->kernel->code[last - 1].code.op == PTX_RET ||
                       p->kernel->code[last - 1].code.op == PTX_BRA);
    return ends || refuse(p, "kernel %s has no end", p->kernel->name);
}

/* "name(parameters) .maxntid 256, 1, 1" */
static bool parse_head(parser *p, const char *at)
{
    ptx_kernel *k = p->kernel;
    const name n = take_name(&at);
    memcpy(k->name, n.text, sizeof(k->name));
    if (!take(&at, '(') || !parse_parameters(p, &at)) {
        return refuse(p, "not a kernel");
    }
    while (*at != '\0') {
        const name word = take_name(&at);
        uint64_t product = 1;
        do {
            product *= number_of(take_name(&at).text);
        } while (take(&at, ','));
        if (strcmp(word.text, ".maxntid") == 0) {
            k->threads_most = (uint32_t)product;
        } else if (strcmp(word.text, ".minnctapersm") != 0) {
            return refuse(p, "unknown '%s'", word.text);
        }
    }
    return true;
}

static bool parse_kernel(parser *p, const char *head)
{
    scope s = {.targets = NULL};
    p->scope = &s;
    if (p->module->count == KERNELS) {
        return refuse(p, "too many kernels");
    }
    p->kernel = &p->module->kernels[p->module->count++];
    bool fine = parse_head(p, head);
    count_lines(p, p->begin);
    fine = fine && parse_body(p) && resolve(p);
    free(s.targets);
    return fine;
}

static bool parse_module(parser *p)
{
    static const char *const words[] = {".version ", ".target ", ".address_size "};
    static const char entry[] = ".visible .entry ";
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)cut(p, "\n");
        if (strncmp(p->begin, words[i], strlen(words[i])) != 0) {
            return refuse(p, "%sis missing", words[i]);
        }
        p->line++;
    }
    while (cut(p, "{") == '{') {
        if (strncmp(p->begin, entry, sizeof(entry) - 1) != 0) {
            return refuse(p, "not a kernel");
        }
        if (!parse_kernel(p, p->begin + sizeof(entry) - 1)) {
            return false;
        }
    }
    return p->begin[0] == '\0' || refuse(p, "not a kernel");
}

ptx_module *ptx_parse(const char *text, ptx_failure *failure)
{
    ptx_module *module = calloc(1, sizeof(*module));
    assert(module != NULL);
    module->text = strdup(text);
    assert(module->text != NULL);
    blank_comments(module->text);
    parser p = {.module = module, .failure = failure, .begin = "", .at = module->text, .line = 1};
    if (!parse_module(&p)) {
        ptx_free(module);
        return NULL;
    }
    return module;
}

void ptx_free(ptx_module *module)
{
    for (uint32_t i = 0; module != NULL && i < module->count; i++) {
        free(module->kernels[i].code);
        free(module->kernels[i].widths);
    }
    if (module != NULL) {
        free(module->text);
    }
    free(module);
}

const ptx_kernel *ptx_find(const ptx_module *module, const char *wanted)
{
    for (uint32_t i = 0; i < module->count; i++) {
        if (strcmp(module->kernels[i].name, wanted) == 0) {
            return &module->kernels[i];
        }
    }
    return NULL;
}

size_t ptx_parameter_bytes(const ptx_kernel *kernel)
{
    return kernel->parameter_bytes;
}
